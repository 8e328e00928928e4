// Sub-accounts: list, create, get, update, suspend and resume.
import { Type } from 'typebox'
import { reasonOf } from '../../tokens/model/errors.ts'
import { NOTHING_TO_UPDATE } from '../../tokens/model/fields.ts'
import { BAD_PAGE } from '../../tokens/model/page.ts'
import { MAX_NAME_CHARACTERS } from '../../tokens/model/token.ts'
import { STALE_SUB_ACCOUNT, SUB_ACCOUNT_STATUSES } from '../../tokens/model/update.ts'
import { beyondDocument, SubAccountPolicy, SubAccountPolicyPatch } from '../limits/schemas.ts'
import { operationsOf } from '../operation.ts'
import { etag, IDEMPOTENCY_KEY, ifMatch, NOT_YOURS, PageParameters } from '../schemas.ts'
import { unknownName } from '../unknown-names.ts'
import * as answers from './answers.ts'
import { exportSubAccounts } from './export.ts'
import { SubAccount, SubAccountId, SubAccountPage } from './schemas.ts'

const BASE = '/api/v1/apiClient/sub-account'

const IfMatch = ifMatch('An ETag: go ahead only if the sub-account is still as it was')
const ETAG = etag('For `If-Match`: changes with each field of the sub-account')
const name = (description: string) => Type.String({ minLength: 1, maxLength: MAX_NAME_CHARACTERS, description })
const Name = name('What people call it')
const CompanyName = name('The company behind the sub-account')
const Email = Type.String({ format: 'email', description: 'How its contact person is reached' })

export const subAccounts = operationsOf(answers, {
  listSubAccounts: {
    method: 'GET',
    url: BASE,
    summary: 'List sub-accounts',
    tag: 'Sub-accounts',
    querystring: Type.Object({
      search: Type.Optional(
        Type.String({ maxLength: MAX_NAME_CHARACTERS, description: 'Part of the name, e-mail address or company' }),
      ),
      ...PageParameters,
    }),
    data: SubAccountPage,
    success: { message: 'Found 1 sub-account(s)' },
    failures: { 400: [BAD_PAGE] },
    csv: { name: 'sub-accounts', begin: exportSubAccounts },
  },
  createSubAccount: {
    method: 'POST',
    url: BASE,
    summary: 'Create a sub-account',
    tag: 'Sub-accounts',
    right: ['change', 'createSubAccounts'],
    headers: Type.Object(IDEMPOTENCY_KEY),
    body: Type.Object(
      { name: Name, email: Email, companyName: CompanyName, ...beyondDocument(SubAccountPolicy) },
      { title: 'NewSubAccount' },
    ),
    data: SubAccount,
    success: { status: 201, message: 'Sub-account created successfully', headers: ETAG },
    failures: {
      400: ['name is required', 'email must be an e-mail address'],
      409: [reasonOf('idempotency-conflict')],
    },
  },
  getSubAccount: {
    method: 'GET',
    url: `${BASE}/:id`,
    summary: 'Get one sub-account',
    tag: 'Sub-accounts',
    params: SubAccountId,
    data: SubAccount,
    success: { message: 'Sub-account retrieved successfully', headers: ETAG },
    failures: { 400: [unknownName('parameter', 'verbose', [])], 403: NOT_YOURS },
  },
  patchSubAccount: {
    method: 'PATCH',
    url: `${BASE}/:id`,
    summary: 'Change, suspend or resume a sub-account',
    description:
      'A JSON merge patch (RFC 7396): null clears a field, members of `metadata` and `policy` included. While suspended, none of its ' +
      'tokens authenticates; their own status stays as it is.',
    tag: 'Sub-accounts',
    params: SubAccountId,
    headers: IfMatch,
    body: Type.Object(
      {
        name: Type.Optional(Name),
        email: Type.Optional(Email),
        companyName: Type.Optional(CompanyName),
        status: Type.Optional(
          Type.String({
            enum: [...SUB_ACCOUNT_STATUSES],
            description: '`suspended` keeps all its tokens from authenticating, at once',
          }),
        ),
        ...beyondDocument(SubAccountPolicyPatch),
      },
      { title: 'SubAccountPatch' },
    ),
    data: SubAccount,
    success: { message: 'Sub-account updated successfully', headers: ETAG },
    failures: {
      400: [NOTHING_TO_UPDATE, 'status must be active or suspended'],
      403: NOT_YOURS,
      412: [STALE_SUB_ACCOUNT],
    },
  },
})
