// Account keys: list, create with rights, revoke.
import { Type } from 'typebox'
import { keyToWire } from '../../operations/keys/document.ts'
import { exportKeys } from '../../operations/keys/export.ts'
import { reasonOf } from '../../tokens/errors.ts'
import { nameField, oneOf, readNew, timeField } from '../../tokens/model/fields.ts'
import { BAD_PAGE, readPageRequest } from '../../tokens/model/page.ts'
import { flagField, permissionsOf, ROLES, type Role, subAccountsField } from '../../tokens/model/permissions.ts'
import { MAX_NAME_CHARACTERS } from '../../tokens/model/token.ts'
import { readIdempotencyKey } from '../protocol/conditions.ts'
import * as schemas from './access-schemas.ts'
import { type AccountRoute, IDEMPOTENCY_KEY } from './route.ts'
import { PageParameters } from './schemas.ts'

const BASE = '/api/v1/apiClient/key'
const NOT_FOUND = [reasonOf('key-not-found')]

const shared = { tag: 'Keys', right: 'manageKeys' } as const

const listKeys: AccountRoute = {
  ...shared,
  method: 'GET',
  url: BASE,
  operationId: 'listKeys',
  summary: 'List account keys, newest first',
  querystring: Type.Object({ ...PageParameters }),
  data: schemas.KeyPage,
  success: { message: 'Found 1 account key(s)' },
  failures: { 400: [BAD_PAGE] },
  csv: { name: 'keys', begin: exportKeys },
  async answer(registry, { caller, query }) {
    const page = await registry.keys.list(caller, readPageRequest(query))
    const items: schemas.WireKey[] = page.items.map(keyToWire)
    return { message: `Found ${page.total} account key(s)`, data: { ...page, items } }
  },
}

interface NewKeyBody {
  readonly name: string
  readonly role: Role
  readonly reveal?: boolean
  readonly subAccounts?: readonly string[] | null
  readonly expiresAt?: number | null
}

const createKey: AccountRoute = {
  ...shared,
  method: 'POST',
  url: BASE,
  operationId: 'createKey',
  summary: 'Create an account key',
  description:
    'The key is shown only in this answer. No key can make one that may do more than itself, or that outlives it.',
  headers: Type.Object(IDEMPOTENCY_KEY),
  body: Type.Object(
    {
      name: Type.String({ minLength: 1, maxLength: MAX_NAME_CHARACTERS, description: 'What it is for' }),
      role: Type.String({ enum: [...ROLES], description: 'What it may do' }),
      reveal: Type.Optional(Type.Boolean({ description: 'Whether credentials are shown; only to owners unless set' })),
      subAccounts: Type.Optional(
        Type.Union([Type.Array(Type.String()), Type.Null()], {
          description: 'The only sub-accounts that it sees, 1 to 100; all if null or not sent',
        }),
      ),
      expiresAt: Type.Optional(
        Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
          description: 'Never if null; if not sent, when the caller expires. At most that',
        }),
      ),
    },
    { title: 'NewKey' },
  ),
  data: schemas.CreatedKey,
  success: { status: 201, message: 'Account key created successfully' },
  failures: {
    400: ['role is required', 'expiresAt must be no later than 2026-01-01T00:00:00.000Z, when its maker expires'],
    403: [reasonOf('sub-account-forbidden')],
    409: [
      reasonOf('idempotency-conflict'),
      'key_019b2f0c5a3c8e1d2c3b4a5f6e7d was made already; the key itself is shown once',
    ],
  },
  async answer(registry, { caller, body, headers, origin }) {
    const { name, expiresAt, ...fields } = readNew<NewKeyBody>(
      body,
      {
        name: nameField,
        role: oneOf(ROLES),
        reveal: flagField,
        subAccounts: subAccountsField,
        expiresAt: timeField,
      },
      ['name', 'role'],
    )
    const wanted = { name, expiresAt, permissions: permissionsOf(fields) }
    const created = await registry.keys.create(caller, wanted, origin, readIdempotencyKey(headers))
    return { data: { ...keyToWire(created), key: created.key } }
  },
}

const revokeKey: AccountRoute = {
  ...shared,
  method: 'DELETE',
  url: `${BASE}/:id`,
  operationId: 'revokeKey',
  summary: 'Revoke an account key',
  params: Type.Object({ id: Type.String({ description: 'The key id' }) }),
  data: schemas.Key,
  success: { message: 'Account key revoked successfully' },
  failures: { 404: NOT_FOUND },
  async answer(registry, { caller, params, origin }) {
    return { data: keyToWire(await registry.keys.revoke(caller, params.id, origin)) }
  },
}

export const keyRoutes = { listKeys, createKey, revokeKey }
