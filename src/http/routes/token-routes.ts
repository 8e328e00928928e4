// The documented endpoints, and all else that can be done with a token.
import { Type } from 'typebox'
import { explanationToWire } from '../../operations/limits/document.ts'
import { tokenToWire } from '../../operations/tokens/document.ts'
import { exportTokens } from '../../operations/tokens/export.ts'
import { Failure, reasonOf } from '../../tokens/errors.ts'
import { NOT_AN_ADDRESS, readAccess } from '../../tokens/model/access.ts'
import { NOTHING_TO_UPDATE } from '../../tokens/model/fields.ts'
import {
  BAD_LIMIT,
  BAD_PAGE,
  NOT_A_CREDENTIAL_END,
  NOT_A_SORT,
  readOnce,
  readTokenQuery,
  type TokenQuery,
} from '../../tokens/model/page.ts'
import type { Caller } from '../../tokens/model/permissions.ts'
import { NOT_A_TIME } from '../../tokens/model/times.ts'
import { MAX_NAME_CHARACTERS, STATUSES, type Token } from '../../tokens/model/token.ts'
import {
  MAX_OVERLAP_SECONDS,
  readNewToken,
  readOverlap,
  readTokenPatch,
  readTokenUpdate,
} from '../../tokens/model/update.ts'
import type { Registry } from '../../tokens/registry.ts'
import type { TokenView } from '../../tokens/token-views.ts'
import { etagOf, readIdempotencyKey, readVersions } from '../protocol/conditions.ts'
import { unknownName } from '../protocol/unknown-names.ts'
import { type AccountRoute, IDEMPOTENCY_KEY, NOT_YOURS, type RouteInput, type RouteResult } from './route.ts'
import * as schemas from './schemas.ts'
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
} from './token-parameters.ts'

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
  data: schemas.TokenPage,
  portal: 'read',
  success: { message: 'Found 1 API token(s)' },
  failures: { 400: BAD_QUERY, 403: NOT_YOURS },
  ignoresUnknown: true,
  csv: { name: 'tokens', begin: exportTokens },
} as const

const oneToken = { tag: 'Tokens', data: schemas.Token } as const

const listTokens: AccountRoute = {
  ...tokenList,
  url: BASE,
  operationId: 'listTokens',
  summary: 'List tokens',
  querystring: Type.Object({
    subAccountId: Type.Optional(Type.String({ description: 'Only tokens of this sub-account' })),
    ...Filters,
    ...schemas.PageParameters,
    ...Order,
    ...ExtraFilters,
    ...Include,
  }),
  async answer(registry, { caller, query, origin }) {
    return listResult(registry, caller, query, readTokenQuery(query, origin.at))
  },
}

const listTokensOfSubAccount: AccountRoute = {
  ...tokenList,
  url: `${BASE}/sub-account/:subAccountId`,
  operationId: 'listTokensOfSubAccount',
  summary: 'List tokens of one sub-account',
  params: Type.Object({ subAccountId: Type.String({ description: 'The sub-account id' }) }),
  querystring: Type.Object({ ...Filters, ...schemas.PageParameters, ...Order, ...ExtraFilters, ...Include }),
  async answer(registry, { caller, params, query, origin }) {
    const filters = readTokenQuery({ ...query, subAccountId: undefined }, origin.at)
    return listResult(registry, caller, query, { ...filters, subAccountId: params.subAccountId })
  },
}

const getToken: AccountRoute = {
  ...oneToken,
  method: 'GET',
  url: `${BASE}/:id`,
  operationId: 'getToken',
  portal: 'read',
  summary: 'Get one token',
  params: schemas.TokenId,
  querystring: Type.Object({ ...Include }),
  success: { message: 'API token retrieved successfully', headers: ETAG },
  failures: { 400: ['include must be details'], 404: NOT_FOUND },
  ignoresUnknown: true,
  async answer(registry, { caller, params, query }) {
    return tokenResult(await registry.getToken(caller, params.id, readView(query)))
  },
}

const updateToken: AccountRoute = {
  ...oneToken,
  method: 'PUT',
  url: `${BASE}/:id`,
  operationId: 'updateToken',
  portal: 'disable',
  summary: 'Rename, disable or re-enable a token',
  params: schemas.TokenId,
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
  async answer(registry, { caller, params, query, body, headers, origin }) {
    const [change, view] = [readTokenUpdate(body), readMasked(query)]
    return tokenResult(await registry.updateToken(caller, params.id, change, origin, readVersions(headers), view))
  },
}

const patchToken: AccountRoute = {
  ...oneToken,
  method: 'PATCH',
  url: `${BASE}/:id`,
  operationId: 'patchToken',
  summary: 'Change any field of a token',
  description: 'A JSON merge patch (RFC 7396): null clears a field, members of `metadata` and `policy` included.',
  params: schemas.TokenId,
  querystring: Type.Object({ ...Credentials }),
  headers: IfMatch,
  body: Type.Object(
    {
      name: Type.Optional(Name),
      status: Type.Optional(Status),
      ...BeyondDocument,
      ...schemas.beyondDocument(schemas.TokenPolicyPatch),
    },
    { title: 'TokenPatch' },
  ),
  success: { message: 'API token updated successfully', headers: ETAG },
  failures: {
    400: [NOTHING_TO_UPDATE, reasonOf('duplicate-name'), `expiresAt ${NOT_A_TIME}`],
    404: NOT_FOUND,
    412: STALE,
  },
  async answer(registry, { caller, params, query, body, headers, origin }) {
    const [update, view] = [readTokenPatch(body), { ...readMasked(query), details: true }]
    return tokenResult(await registry.updateToken(caller, params.id, update, origin, readVersions(headers), view))
  },
}

const createToken: AccountRoute = {
  ...oneToken,
  method: 'POST',
  url: BASE,
  operationId: 'createToken',
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
  async answer(registry, { caller, body, headers, origin }) {
    return tokenResult(await registry.createToken(caller, readNewToken(body), origin, readIdempotencyKey(headers)))
  },
}

const deleteToken: AccountRoute = {
  method: 'DELETE',
  url: `${BASE}/:id`,
  operationId: 'deleteToken',
  summary: 'Delete a token',
  tag: 'Tokens',
  params: schemas.TokenId,
  headers: IfMatch,
  data: schemas.DeletedToken,
  success: { message: 'API token deleted successfully' },
  failures: { 404: NOT_FOUND, 412: STALE },
  async answer(registry, { caller, params, headers, origin }) {
    const { id } = await registry.deleteToken(caller, params.id, origin, readVersions(headers))
    return { data: { _id: id }, tokenId: id }
  },
}

const rotateToken: AccountRoute = {
  ...oneToken,
  method: 'POST',
  url: `${BASE}/:id/rotate`,
  operationId: 'rotateToken',
  portal: 'rotate',
  summary: 'Give a token a new credential',
  description:
    'The former credential works for `overlapSeconds` more. With 0, or without it, all former credentials stop at once.',
  params: schemas.TokenId,
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
  async answer(registry, { caller, params, body, headers, origin }) {
    const [overlap, expected, key] = [readOverlap(body), readVersions(headers), readIdempotencyKey(headers)]
    return tokenResult(await registry.rotateToken(caller, params.id, overlap, origin, expected, key))
  },
}

const revealToken: AccountRoute = {
  ...oneToken,
  method: 'POST',
  url: `${BASE}/:id/reveal`,
  operationId: 'revealToken',
  summary: 'Show the credential of a token',
  description: 'The history says who has seen it.',
  right: ['read', 'reveal'],
  params: schemas.TokenId,
  success: { message: 'API token revealed successfully', headers: ETAG },
  headers: Type.Object({ ...IfMatch.properties, ...IDEMPOTENCY_KEY }),
  failures: { 404: NOT_FOUND, 409: NOT_AGAIN, 412: STALE },
  async answer(registry, { caller, params, headers, origin }) {
    const [expected, key] = [readVersions(headers), readIdempotencyKey(headers)]
    return tokenResult(await registry.revealToken(caller, params.id, origin, expected, key))
  },
}

const explainToken: AccountRoute = {
  method: 'GET',
  url: `${BASE}/:id/explain`,
  operationId: 'explainToken',
  summary: 'What verification would say of a token, and why',
  description: 'Uses nothing up. Without `address`, a token that is bound to addresses is refused.',
  tag: 'Tokens',
  params: schemas.TokenId,
  querystring: Type.Object({ scope: Type.Optional(schemas.Scope), address: Type.Optional(Type.String()) }),
  data: schemas.Explanation,
  success: { message: 'API token explained successfully' },
  failures: { 400: ['scope must name at most 64 scopes', NOT_AN_ADDRESS], 404: NOT_FOUND },
  async answer(registry, { caller, params, query }) {
    const { id } = params
    const explanation = await registry.explainToken(caller, id, readAccess(query))
    const data: schemas.WireExplanation = explanationToWire(explanation)
    return { data, tokenId: id }
  },
}

export const tokenRoutes = {
  listTokens,
  createToken,
  listTokensOfSubAccount,
  getToken,
  updateToken,
  patchToken,
  deleteToken,
  rotateToken,
  revealToken,
  explainToken,
}

function readView(query: RouteInput['query']): TokenView {
  const include = readOnce(query, 'include')
  if (include !== undefined && include !== 'details') throw new Failure('invalid-request', 'include must be details')
  return { details: include !== undefined, ...readMasked(query) }
}

/** PUT and PATCH take it too: their answers then show no credential. */
function readMasked(query: RouteInput['query']): TokenView {
  const credentials = readOnce(query, 'credentials')
  if (credentials !== undefined && credentials !== 'masked') {
    throw new Failure('invalid-request', 'credentials must be masked')
  }
  return { masked: credentials !== undefined }
}

async function listResult(registry: Registry, caller: Caller, raw: RouteInput['query'], query: TokenQuery) {
  const page = await registry.listTokens(caller, query, readView(raw))
  const items: schemas.WireToken[] = page.items.map(tokenToWire)
  return { message: `Found ${page.total} API token(s)`, data: { ...page, items } }
}

function tokenResult(token: Token): RouteResult {
  const data: schemas.WireToken = tokenToWire(token)
  return { data, headers: { etag: etagOf(token.version) }, tokenId: token.id }
}
