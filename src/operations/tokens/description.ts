// The documented operations, and all else that can be done with a token.
import { Type } from 'typebox'
import { reasonOf } from '../../tokens/model/errors.ts'
import { NOTHING_TO_UPDATE } from '../../tokens/model/fields.ts'
import { BAD_LIMIT, BAD_PAGE, NOT_A_CREDENTIAL_END, NOT_A_SORT } from '../../tokens/model/page.ts'
import { NOT_A_TIME } from '../../tokens/model/times.ts'
import { MAX_NAME_CHARACTERS, STATUSES } from '../../tokens/model/token.ts'
import { MAX_OVERLAP_SECONDS } from '../../tokens/model/update.ts'
import { beyondDocument, TokenPolicyPatch } from '../limits/schemas.ts'
import { operationsOf } from '../operation.ts'
import { IDEMPOTENCY_KEY, NOT_YOURS, PageParameters } from '../schemas.ts'
import { unknownName } from '../unknown-names.ts'
import * as answers from './answers.ts'
import { exportTokens } from './export.ts'
import {
  BeyondDocument,
  Credentials,
  ETAG,
  ExtraFilters,
  Filters,
  IfMatch,
  Include,
  Name,
  Order,
  Status,
} from './parameters.ts'
import { DeletedToken, Token, TokenId, TokenPage } from './schemas.ts'

const BASE = '/api/v1/apiClient/token'

const NOT_FOUND = [reasonOf('token-not-found')]
/** Where credentials are not stored, and for an Idempotency-Key that was used before. */
const NOT_AGAIN = [reasonOf('idempotency-conflict'), reasonOf('credential-not-stored')]
const STALE = [reasonOf('version-mismatch')]

const BAD_QUERY = [
  BAD_PAGE,
  BAD_LIMIT,
  'status must be active or inactive',
  `search must be at most ${MAX_NAME_CHARACTERS} characters`,
  'page must be sent only once',
  'used must be never',
  NOT_A_CREDENTIAL_END,
  NOT_A_SORT,
  `expiresBefore ${NOT_A_TIME}`,
]

const tokenList = {
  method: 'GET',
  tag: 'Tokens',
  data: TokenPage,
  portal: 'read',
  success: { message: 'Found 1 API token(s)' },
  failures: { 400: BAD_QUERY, 403: NOT_YOURS },
  ignoresUnknown: true,
  csv: { name: 'tokens', begin: exportTokens },
} as const

const oneToken = { tag: 'Tokens', data: Token } as const

export const tokens = operationsOf(answers, {
  listTokens: {
    ...tokenList,
    url: BASE,
    summary: 'List tokens',
    querystring: Type.Object({
      subAccountId: Type.Optional(Type.String({ description: 'Only tokens of this sub-account' })),
      ...Filters,
      ...PageParameters,
      ...Order,
      ...ExtraFilters,
      ...Include,
    }),
  },
  createToken: {
    ...oneToken,
    method: 'POST',
    url: BASE,
    portal: 'create',
    summary: 'Create a token',
    headers: Type.Object(IDEMPOTENCY_KEY),
    body: Type.Object(
      {
        subAccountId: Type.String({
          description: 'Who the token is for',
          examples: ['sub_019b2f0c5a3c8e1d2c3b4a5f6e7d'],
        }),
        name: Name,
        status: Type.Optional(
          Type.String({ enum: [...STATUSES], default: 'active', description: '`active` unless set' }),
        ),
        ...BeyondDocument,
      },
      { title: 'NewToken' },
    ),
    success: { status: 201, message: 'API token created successfully', headers: ETAG },
    failures: {
      400: [
        'name is required',
        reasonOf('duplicate-name'),
        unknownName('field', 'expires_at', ['subAccountId', 'name', 'status', ...Object.keys(BeyondDocument)]),
      ],
      403: NOT_YOURS,
      // For a retry with the same Idempotency-Key after the token was deleted.
      404: NOT_FOUND,
      409: NOT_AGAIN,
    },
  },
  listTokensOfSubAccount: {
    ...tokenList,
    url: `${BASE}/sub-account/:subAccountId`,
    summary: 'List tokens of one sub-account',
    params: Type.Object({ subAccountId: Type.String({ description: 'The sub-account id' }) }),
    querystring: Type.Object({ ...Filters, ...PageParameters, ...Order, ...ExtraFilters, ...Include }),
  },
  getToken: {
    ...oneToken,
    method: 'GET',
    url: `${BASE}/:id`,
    portal: 'read',
    summary: 'Get one token',
    params: TokenId,
    querystring: Type.Object({ ...Include }),
    success: { message: 'API token retrieved successfully', headers: ETAG },
    failures: { 400: ['include must be details'], 404: NOT_FOUND },
    ignoresUnknown: true,
  },
  updateToken: {
    ...oneToken,
    method: 'PUT',
    url: `${BASE}/:id`,
    portal: 'disable',
    summary: 'Rename, disable or re-enable a token',
    params: TokenId,
    querystring: Type.Object({ ...Credentials }),
    headers: IfMatch,
    body: Type.Object({ name: Type.Optional(Name), status: Type.Optional(Status) }, { title: 'TokenUpdate' }),
    success: { message: 'API token updated successfully', headers: ETAG },
    failures: {
      400: [NOTHING_TO_UPDATE, reasonOf('duplicate-name'), 'status must be active or inactive'],
      404: NOT_FOUND,
      412: STALE,
    },
    ignoresUnknown: true,
  },
  patchToken: {
    ...oneToken,
    method: 'PATCH',
    url: `${BASE}/:id`,
    summary: 'Change any field of a token',
    description: 'A JSON merge patch (RFC 7396): null clears a field, members of `metadata` and `policy` included.',
    params: TokenId,
    querystring: Type.Object({ ...Credentials }),
    headers: IfMatch,
    body: Type.Object(
      {
        name: Type.Optional(Name),
        status: Type.Optional(Status),
        ...BeyondDocument,
        ...beyondDocument(TokenPolicyPatch),
      },
      { title: 'TokenPatch' },
    ),
    success: { message: 'API token updated successfully', headers: ETAG },
    failures: {
      400: [NOTHING_TO_UPDATE, reasonOf('duplicate-name'), `expiresAt ${NOT_A_TIME}`],
      404: NOT_FOUND,
      412: STALE,
    },
  },
  deleteToken: {
    method: 'DELETE',
    url: `${BASE}/:id`,
    summary: 'Delete a token',
    tag: 'Tokens',
    params: TokenId,
    headers: IfMatch,
    data: DeletedToken,
    success: { message: 'API token deleted successfully' },
    failures: { 404: NOT_FOUND, 412: STALE },
  },
  rotateToken: {
    ...oneToken,
    method: 'POST',
    url: `${BASE}/:id/rotate`,
    portal: 'rotate',
    summary: 'Give a token a new credential',
    description:
      'The former credential works for `overlapSeconds` more. With 0, or without it, all former credentials stop at once.',
    params: TokenId,
    headers: Type.Object({ ...IfMatch.properties, ...IDEMPOTENCY_KEY }),
    body: Type.Object(
      {
        overlapSeconds: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: MAX_OVERLAP_SECONDS,
            default: 0,
            description: 'How long the former credential still works; 0 unless set',
          }),
        ),
      },
      { title: 'TokenRotation', default: {} },
    ),
    success: { message: 'API token rotated successfully', headers: ETAG },
    failures: {
      400: [`overlapSeconds must be a whole number from 0 to ${MAX_OVERLAP_SECONDS}`],
      404: NOT_FOUND,
      409: NOT_AGAIN,
      412: STALE,
    },
  },
  revealToken: {
    ...oneToken,
    method: 'POST',
    url: `${BASE}/:id/reveal`,
    summary: 'Show the credential of a token',
    description: 'The history says who has seen it.',
    right: ['read', 'reveal'],
    params: TokenId,
    success: { message: 'API token revealed successfully', headers: ETAG },
    headers: Type.Object({ ...IfMatch.properties, ...IDEMPOTENCY_KEY }),
    failures: { 404: NOT_FOUND, 409: NOT_AGAIN, 412: STALE },
  },
})
