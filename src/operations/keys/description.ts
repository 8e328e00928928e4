// Account keys: list, create with rights, revoke.
import { Type } from 'typebox'
import { reasonOf } from '../../tokens/model/errors.ts'
import { BAD_PAGE } from '../../tokens/model/page.ts'
import { ROLES } from '../../tokens/model/permissions.ts'
import { MAX_NAME_CHARACTERS } from '../../tokens/model/token.ts'
import { operationsOf } from '../operation.ts'
import { IDEMPOTENCY_KEY, PageParameters } from '../schemas.ts'
import * as answers from './answers.ts'
import { exportKeys } from './export.ts'
import { CreatedKey, Key, KeyPage } from './schemas.ts'

const BASE = '/api/v1/apiClient/key'
const NOT_FOUND = [reasonOf('key-not-found')]

const shared = { tag: 'Keys', right: 'manageKeys' } as const

export const keys = operationsOf(answers, {
  listKeys: {
    ...shared,
    method: 'GET',
    url: BASE,
    summary: 'List account keys, newest first',
    querystring: Type.Object({ ...PageParameters }),
    data: KeyPage,
    success: { message: 'Found 1 account key(s)' },
    failures: { 400: [BAD_PAGE] },
    csv: { name: 'keys', begin: exportKeys },
  },
  createKey: {
    ...shared,
    method: 'POST',
    url: BASE,
    summary: 'Create an account key',
    description:
      'The key is shown only in this answer. No key can make one that may do more than itself, or that outlives it.',
    headers: Type.Object(IDEMPOTENCY_KEY),
    body: Type.Object(
      {
        name: Type.String({ minLength: 1, maxLength: MAX_NAME_CHARACTERS, description: 'What it is for' }),
        role: Type.String({ enum: [...ROLES], description: 'What it may do' }),
        reveal: Type.Optional(
          Type.Boolean({ description: 'Whether credentials are shown; only to owners unless set' }),
        ),
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
    data: CreatedKey,
    success: { status: 201, message: 'Account key created successfully' },
    failures: {
      400: ['role is required', 'expiresAt must be no later than 2026-01-01T00:00:00.000Z, when its maker expires'],
      403: [reasonOf('sub-account-forbidden')],
      409: [
        reasonOf('idempotency-conflict'),
        'key_019b2f0c5a3c8e1d2c3b4a5f6e7d was made already; the key itself is shown once',
      ],
    },
  },
  revokeKey: {
    ...shared,
    method: 'DELETE',
    url: `${BASE}/:id`,
    summary: 'Revoke an account key',
    params: Type.Object({ id: Type.String({ description: 'The key id' }) }),
    data: Key,
    success: { message: 'Account key revoked successfully' },
    failures: { 404: NOT_FOUND },
  },
})
