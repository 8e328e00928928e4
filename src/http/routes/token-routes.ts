// The documented endpoints, and those that create, rotate and delete a token. Each handler is one call to the registry.
import { Type } from 'typebox'
import { Failure, reasonOf } from '../../tokens/errors.ts'
import { NOTHING_TO_UPDATE } from '../../tokens/model/fields.ts'
import { MAX_LIMIT, MAX_PAGE, type Page, readOnce, readTokenQuery, type TokenQuery } from '../../tokens/model/page.ts'
import { NOT_A_TIME, toTime, toTimeOrNull } from '../../tokens/model/times.ts'
import {
  EFFECTIVE_STATUSES,
  MAX_NAME_CHARACTERS,
  STATUSES,
  type Token,
  type TokenDetails,
} from '../../tokens/model/token.ts'
import { MAX_OVERLAP_SECONDS, readNewToken, readOverlap, readTokenUpdate } from '../../tokens/model/update.ts'
import type { Caller, Registry } from '../../tokens/registry.ts'
import { etagOf, readIdempotencyKey, readIfMatch } from '../protocol/conditions.ts'
import { unknownName } from '../protocol/unknown-names.ts'
import { type AccountRoute, describe, type Question, type SerializerOf } from './route.ts'
import * as schemas from './schemas.ts'

const BASE = '/api/v1/apiClient/token'

const NOT_FOUND = [reasonOf('token-not-found')]
const NOT_YOURS = [reasonOf('sub-account-forbidden')]
const STALE = [reasonOf('version-mismatch')]

const Include = {
  include: Type.Optional(Type.String({ enum: ['details'], description: 'Adds `details` to each token' })),
}

const Filters = {
  status: Type.Optional(Type.String({ enum: [...STATUSES], description: 'Only tokens with this status' })),
  search: Type.Optional(
    Type.String({ maxLength: MAX_NAME_CHARACTERS, description: 'Part of the name; letter case does not matter' }),
  ),
}

const from = (what: string) =>
  Type.Optional(Type.String({ format: 'date-time', description: `${what} at this time or later` }))
const before = (what: string) =>
  Type.Optional(Type.String({ format: 'date-time', description: `${what} before this time` }))

const Narrowing = {
  used: Type.Optional(Type.String({ enum: ['never'], description: 'Only tokens never used' })),
  createdFrom: from('Only tokens made'),
  createdBefore: before('Only tokens made'),
  expiresFrom: from('Only tokens that expire'),
  expiresBefore: before('Only tokens that expire'),
  effectiveStatus: Type.Optional(
    Type.String({
      enum: [...EFFECTIVE_STATUSES],
      description: 'Only tokens of which verification would say this now; not together with `status`',
    }),
  ),
}

const Name = Type.String({
  minLength: 1,
  maxLength: MAX_NAME_CHARACTERS,
  description: `Unique within its sub-account, at most ${MAX_NAME_CHARACTERS} characters`,
  examples: ['CI pipeline'],
})
const Status = Type.String({
  enum: [...STATUSES],
  description: '`inactive` disables the token at once without deleting it; `active` enables it again',
  examples: ['inactive'],
})

const IfMatch = Type.Object({
  'if-match': Type.Optional(Type.String({ description: 'An ETag: go ahead only if the token is still at it' })),
})

const ETAG = { ETag: { type: 'string', description: "The token's version, for `If-Match`" } }

const exampleToken = {
  _id: 'tok_019b2f0c5a3c8e1d2c3b4a5f6e7d',
  name: 'CI pipeline',
  token: 'lk_tok_EXAMPLE',
  status: 'active' as const,
  createdAt: '2026-01-31T09:30:00.000Z',
  subAccount: {
    _id: 'sub_019b2f0c5a3c8e1d2c3b4a5f6e7d',
    name: 'Berlin agency',
    email: 'ops@berlin.example',
    companyName: 'Berlin Agency GmbH',
  },
}

const BAD_QUERY = [
  `page must be a whole number from 1 to ${MAX_PAGE}`,
  `limit must be a whole number from 1 to ${MAX_LIMIT}`,
  'status must be active or inactive',
  `search must be at most ${MAX_NAME_CHARACTERS} characters`,
  'page must be sent only once',
  'used must be never',
  `expiresBefore ${NOT_A_TIME}`,
]

const listTokens: AccountRoute = {
  method: 'GET',
  url: BASE,
  schema: describe({
    operationId: 'listTokens',
    summary: 'List tokens',
    tag: 'Tokens',
    querystring: Type.Object({
      subAccountId: Type.Optional(Type.String({ description: 'Only tokens of this sub-account' })),
      ...Filters,
      ...schemas.PageParameters,
      ...Narrowing,
      ...Include,
    }),
    data: schemas.TokenPage,
    success: { message: 'Found 1 API token(s)', example: schemas.examplePage([exampleToken]) },
    failures: { 400: BAD_QUERY, 403: NOT_YOURS },
    writes: false,
  }),
  ignoresUnknown: true,
  toJson: pageToJson,
  async answer(registry, { caller, query, origin }) {
    return listed(registry, caller, query, readTokenQuery(query, origin.at))
  },
}

const listTokensOfSubAccount: AccountRoute = {
  method: 'GET',
  url: `${BASE}/sub-account/:subAccountId`,
  schema: describe({
    operationId: 'listTokensOfSubAccount',
    summary: 'List tokens of one sub-account',
    tag: 'Tokens',
    params: Type.Object({ subAccountId: Type.String({ description: 'The sub-account id' }) }),
    querystring: Type.Object({ ...Filters, ...schemas.PageParameters, ...Narrowing, ...Include }),
    data: schemas.TokenPage,
    success: { message: 'Found 1 API token(s)', example: schemas.examplePage([exampleToken]) },
    failures: { 400: BAD_QUERY, 403: NOT_YOURS },
    writes: false,
  }),
  ignoresUnknown: true,
  toJson: pageToJson,
  async answer(registry, { caller, params, query, origin }) {
    const filters = readTokenQuery({ ...query, subAccountId: undefined }, origin.at)
    const asked = { ...filters, subAccountId: params.subAccountId ?? '' }
    return listed(registry, caller, query, asked)
  },
}

const getToken: AccountRoute = {
  method: 'GET',
  url: `${BASE}/:id`,
  schema: describe({
    operationId: 'getToken',
    summary: 'Get one token',
    tag: 'Tokens',
    params: schemas.TokenId,
    querystring: Type.Object({ ...Include }),
    data: schemas.Token,
    success: { message: 'API token retrieved successfully', example: exampleToken, headers: ETAG },
    failures: { 400: ['include must be details'], 404: NOT_FOUND },
    writes: false,
  }),
  ignoresUnknown: true,
  toJson: tokenToJson,
  async answer(registry, { caller, params, query }) {
    const token = await registry.getToken(caller, params.id ?? '', wantsDetails(query))
    return whole('API token retrieved successfully', token)
  },
}

const updateToken: AccountRoute = {
  method: 'PUT',
  url: `${BASE}/:id`,
  schema: describe({
    operationId: 'updateToken',
    summary: 'Rename, disable or re-enable a token',
    tag: 'Tokens',
    params: schemas.TokenId,
    headers: IfMatch,
    body: Type.Object({ name: Type.Optional(Name), status: Type.Optional(Status) }, { title: 'TokenUpdate' }),
    data: schemas.Token,
    success: {
      message: 'API token updated successfully',
      example: { ...exampleToken, status: 'inactive' },
      headers: ETAG,
    },
    failures: {
      400: [NOTHING_TO_UPDATE, reasonOf('duplicate-name'), 'status must be active or inactive'],
      404: NOT_FOUND,
      412: STALE,
    },
    writes: true,
  }),
  ignoresUnknown: true,
  toJson: tokenToJson,
  async answer(registry, { caller, params, body, headers, origin }) {
    const change = readTokenUpdate(body)
    const token = await registry.updateToken(caller, params.id ?? '', change, origin, readIfMatch(headers))
    return whole('API token updated successfully', token)
  },
}

const createToken: AccountRoute = {
  method: 'POST',
  url: BASE,
  schema: describe({
    operationId: 'createToken',
    summary: 'Create a token',
    tag: 'Tokens',
    headers: Type.Object({
      'idempotency-key': Type.Optional(
        Type.String({ maxLength: 255, description: 'A retry with the same key returns the same token, for 24 hours' }),
      ),
    }),
    body: Type.Object(
      {
        subAccountId: Type.String({ description: 'Who the token is for', examples: [exampleToken.subAccount._id] }),
        name: Name,
        status: Type.Optional(
          Type.String({ enum: [...STATUSES], default: 'active', description: '`active` unless set' }),
        ),
        expiresAt: Type.Optional(
          Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
            description: 'When it stops authenticating, with a time zone; never if null or not sent',
          }),
        ),
      },
      { title: 'NewToken' },
    ),
    data: schemas.Token,
    success: { status: 201, message: 'API token created successfully', example: exampleToken, headers: ETAG },
    failures: {
      400: [
        'name is required',
        reasonOf('duplicate-name'),
        unknownName('field', 'expires_at', ['subAccountId', 'name', 'status', 'expiresAt']),
      ],
      403: NOT_YOURS,
      // For a retry with the same Idempotency-Key, when the token was deleted meanwhile.
      404: NOT_FOUND,
      409: [reasonOf('idempotency-conflict')],
    },
    writes: true,
  }),
  toJson: tokenToJson,
  async answer(registry, { caller, body, headers, origin }) {
    const token = await registry.createToken(caller, readNewToken(body), origin, readIdempotencyKey(headers))
    return { ...whole('API token created successfully', token), status: 201 }
  },
}

const deleteToken: AccountRoute = {
  method: 'DELETE',
  url: `${BASE}/:id`,
  schema: describe({
    operationId: 'deleteToken',
    summary: 'Delete a token',
    tag: 'Tokens',
    params: schemas.TokenId,
    headers: IfMatch,
    data: schemas.DeletedToken,
    success: { message: 'API token deleted successfully', example: { _id: exampleToken._id } },
    failures: { 404: NOT_FOUND, 412: STALE },
    writes: true,
  }),
  async answer(registry, { caller, params, headers, origin }) {
    const token = await registry.deleteToken(caller, params.id ?? '', origin, readIfMatch(headers))
    return { message: 'API token deleted successfully', data: { _id: token.id }, tokenId: token.id }
  },
}

const rotateToken: AccountRoute = {
  method: 'POST',
  url: `${BASE}/:id/rotate`,
  schema: describe({
    operationId: 'rotateToken',
    summary: 'Give a token a new credential',
    tag: 'Tokens',
    description:
      'The former credential works for `overlapSeconds` more. With 0, or without it, all former credentials stop at once.',
    params: schemas.TokenId,
    headers: IfMatch,
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
    data: schemas.Token,
    success: { message: 'API token rotated successfully', example: exampleToken, headers: ETAG },
    failures: {
      400: [`overlapSeconds must be a whole number from 0 to ${MAX_OVERLAP_SECONDS}`],
      404: NOT_FOUND,
      412: STALE,
    },
    writes: true,
  }),
  toJson: tokenToJson,
  async answer(registry, { caller, params, body, headers, origin }) {
    const overlap = readOverlap(body)
    const token = await registry.rotateToken(caller, params.id ?? '', overlap, origin, readIfMatch(headers))
    return whole('API token rotated successfully', token)
  },
}

export const tokenRoutes = {
  listTokens,
  listTokensOfSubAccount,
  getToken,
  updateToken,
  createToken,
  deleteToken,
  rotateToken,
}

function wantsDetails(query: Question['query']): boolean {
  const include = readOnce(query, 'include')
  if (include === undefined || include === 'details') return include === 'details'
  throw new Failure('invalid-request', 'include must be details')
}

async function listed(registry: Registry, caller: Caller, raw: Question['query'], query: TokenQuery) {
  const page = await registry.listTokens(caller, query, wantsDetails(raw))
  return { message: `Found ${page.total} API token(s)`, data: page }
}

function whole(message: string, token: Token) {
  return { message, data: token, headers: { etag: etagOf(token.version) }, tokenId: token.id }
}

/** The items are added to the JSON of the page without them, since each token keeps its own JSON. */
function pageToJson(data: object, serializerOf: SerializerOf): string {
  const page = data as Page<Token>
  const frame = serializerOf(schemas.TokenPage)({ ...page, items: [] })
  const items = page.items.map((token) => tokenToJson(token, serializerOf))
  return frame.replace('"items":[]', () => `"items":[${items.join(',')}]`)
}

/** The same token comes again for as long as nothing about it has changed. */
const cachedJson = new WeakMap<Token, string>()

function tokenToJson(data: object, serializerOf: SerializerOf): string {
  const token = data as Token
  const known = cachedJson.get(token)
  if (known !== undefined) return known
  const json = serializerOf(schemas.Token)(toWire(token))
  cachedJson.set(token, json)
  return json
}

function toWire(token: Token): schemas.WireToken {
  const { id, name, credential, status, createdAt, subAccount } = token
  // Without a spread: the compiler refuses unknown fields only in a literal that has none.
  const wire: schemas.WireToken = {
    _id: id,
    name,
    token: credential,
    status,
    createdAt: toTime(createdAt),
    subAccount: {
      _id: subAccount.id,
      name: subAccount.name,
      email: subAccount.email,
      companyName: subAccount.companyName,
    },
  }
  if (token.details !== undefined) wire.details = detailsToWire(token.details, token.version)
  return wire
}

function detailsToWire(details: TokenDetails, version: number): schemas.WireTokenDetails {
  const { expiresAt, lastUsedAt, formerCredentialUntil, effectiveStatus, blockedBy, credentialUnreadable } = details
  return {
    expiresAt: toTimeOrNull(expiresAt),
    lastUsedAt: toTimeOrNull(lastUsedAt),
    version,
    formerCredentialUntil: toTimeOrNull(formerCredentialUntil),
    effectiveStatus,
    blockedBy,
    credentialUnreadable,
  }
}
