// Sub-accounts: list, create, get, update, suspend and resume.
import { Type } from 'typebox'
import { policyImpactToWire } from '../../operations/limits/document.ts'
import { subAccountToWire } from '../../operations/sub-accounts/document.ts'
import { exportSubAccounts } from '../../operations/sub-accounts/export.ts'
import { reasonOf } from '../../tokens/errors.ts'
import { NOTHING_TO_UPDATE } from '../../tokens/model/fields.ts'
import { BAD_PAGE, readPageRequest, readSearch } from '../../tokens/model/page.ts'
import { MAX_NAME_CHARACTERS, type SubAccountRow } from '../../tokens/model/token.ts'
import {
  fingerprintOf,
  readNewSubAccount,
  readPolicyChange,
  readSubAccountPatch,
  STALE_SUB_ACCOUNT,
  SUB_ACCOUNT_STATUSES,
} from '../../tokens/model/update.ts'
import { etagOf, readIdempotencyKey, readIfMatch } from '../protocol/conditions.ts'
import { unknownName } from '../protocol/unknown-names.ts'
import { type AccountRoute, etag, IDEMPOTENCY_KEY, ifMatch, NOT_YOURS, type RouteResult } from './route.ts'
import * as schemas from './schemas.ts'

const BASE = '/api/v1/apiClient/sub-account'

const SubAccountId = Type.Object({ id: Type.String({ description: 'The sub-account id' }) })
const IfMatch = ifMatch('An ETag: go ahead only if the sub-account is still as it was')
const ETAG = etag('For `If-Match`: changes with each field of the sub-account')
const name = (description: string) => Type.String({ minLength: 1, maxLength: MAX_NAME_CHARACTERS, description })
const Name = name('What people call it')
const CompanyName = name('The company behind the sub-account')
const Email = Type.String({ format: 'email', description: 'How its contact person is reached' })

const listSubAccounts: AccountRoute = {
  method: 'GET',
  url: BASE,
  operationId: 'listSubAccounts',
  summary: 'List sub-accounts',
  tag: 'Sub-accounts',
  querystring: Type.Object({
    search: Type.Optional(
      Type.String({ maxLength: MAX_NAME_CHARACTERS, description: 'Part of the name, e-mail address or company' }),
    ),
    ...schemas.PageParameters,
  }),
  data: schemas.SubAccountPage,
  success: { message: 'Found 1 sub-account(s)' },
  failures: { 400: [BAD_PAGE] },
  csv: { name: 'sub-accounts', begin: exportSubAccounts },
  async answer(registry, { caller, query }) {
    const page = await registry.listSubAccounts(caller, { ...readPageRequest(query), search: readSearch(query) })
    const items: schemas.WireSubAccount[] = page.items.map(subAccountToWire)
    return { message: `Found ${page.total} sub-account(s)`, data: { ...page, items } }
  },
}

const createSubAccount: AccountRoute = {
  method: 'POST',
  url: BASE,
  operationId: 'createSubAccount',
  summary: 'Create a sub-account',
  tag: 'Sub-accounts',
  right: ['change', 'createSubAccounts'],
  headers: Type.Object(IDEMPOTENCY_KEY),
  body: Type.Object(
    { name: Name, email: Email, companyName: CompanyName, ...schemas.beyondDocument(schemas.SubAccountPolicy) },
    { title: 'NewSubAccount' },
  ),
  data: schemas.SubAccount,
  success: { status: 201, message: 'Sub-account created successfully', headers: ETAG },
  failures: {
    400: ['name is required', 'email must be an e-mail address'],
    409: [reasonOf('idempotency-conflict')],
  },
  async answer(registry, { caller, body, headers, origin }) {
    const [fields, key] = [readNewSubAccount(body), readIdempotencyKey(headers)]
    return subAccountResult(await registry.createSubAccount(caller, fields, origin, key))
  },
}

const getSubAccount: AccountRoute = {
  method: 'GET',
  url: `${BASE}/:id`,
  operationId: 'getSubAccount',
  summary: 'Get one sub-account',
  tag: 'Sub-accounts',
  params: SubAccountId,
  data: schemas.SubAccount,
  success: { message: 'Sub-account retrieved successfully', headers: ETAG },
  failures: { 400: [unknownName('parameter', 'verbose', [])], 403: NOT_YOURS },
  async answer(registry, { caller, params }) {
    return subAccountResult(await registry.getSubAccount(caller, params.id))
  },
}

const patchSubAccount: AccountRoute = {
  method: 'PATCH',
  url: `${BASE}/:id`,
  operationId: 'patchSubAccount',
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
      ...schemas.beyondDocument(schemas.SubAccountPolicyPatch),
    },
    { title: 'SubAccountPatch' },
  ),
  data: schemas.SubAccount,
  success: { message: 'Sub-account updated successfully', headers: ETAG },
  failures: {
    400: [NOTHING_TO_UPDATE, 'status must be active or suspended'],
    403: NOT_YOURS,
    412: [STALE_SUB_ACCOUNT],
  },
  async answer(registry, { caller, params, headers, body, origin }) {
    const update = readSubAccountPatch(body)
    return subAccountResult(await registry.updateSubAccount(caller, params.id, update, origin, readIfMatch(headers)))
  },
}

const Loss = Type.Object({
  reason: schemas.oneOf(['lifetime', 'address', 'scope'], 'As verification would say it'),
  extent: schemas.oneOf(['all', 'some'], '`all`: nothing that needs it would be accepted'),
})
const AffectedToken = Type.Object(
  {
    _id: schemas.Token.properties._id,
    name: schemas.Token.properties.name,
    lastUsedAt: schemas.timeOrNull('When it was last used; null for never'),
    losses: Type.Array(Loss),
  },
  { title: 'AffectedToken' },
)
const PolicyImpact = Type.Object(
  {
    active: schemas.count('Active tokens of the sub-account'),
    examined: schemas.count('How many of them were examined: the newest 10,000 at most'),
    affected: schemas.count('How many of those would lose something'),
    inUse: schemas.count('How many of the affected ones were used within a week'),
    sample: Type.Array(AffectedToken, { description: 'At most 20 of them, those used last first' }),
  },
  { title: 'PolicyImpact' },
)

const policyImpact: AccountRoute = {
  method: 'POST',
  url: `${BASE}/:id/policy-impact`,
  operationId: 'previewPolicy',
  isQuestion: true,
  summary: 'Which tokens another policy of their sub-account would cut off',
  description:
    'Changes nothing. By the policies, the lifetimes and the last uses of its active tokens. Rates and quotas are not considered: all tokens share them.',
  tag: 'Sub-accounts',
  right: 'change',
  params: SubAccountId,
  body: Type.Object(
    { policy: schemas.beyondDocument(schemas.SubAccountPolicyPatch).policy },
    { title: 'PolicyPreview' },
  ),
  data: PolicyImpact,
  success: { message: 'Found 1 token(s) that would lose something' },
  failures: { 400: ['policy is required'], 403: NOT_YOURS },
  async answer(registry, { caller, params, body }) {
    const impact = await registry.policyImpact(caller, params.id, readPolicyChange(body))
    return {
      data: policyImpactToWire(impact),
      message: `Found ${impact.affected} token(s) that would lose something`,
    }
  },
}

export const subAccountRoutes = { listSubAccounts, createSubAccount, getSubAccount, patchSubAccount, policyImpact }

function subAccountResult(row: SubAccountRow): RouteResult {
  const data: schemas.WireSubAccount = subAccountToWire(row)
  return { data, headers: { etag: etagOf(fingerprintOf(row.subAccount)) } }
}
