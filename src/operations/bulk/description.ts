// Bulk operations: order, watch and undo them.
import { Type } from 'typebox'
import { reasonOf } from '../../tokens/model/errors.ts'
import { BAD_PAGE } from '../../tokens/model/page.ts'
import { operationsOf } from '../operation.ts'
import { IDEMPOTENCY_KEY, NOT_YOURS, PageParameters } from '../schemas.ts'
import * as answers from './answers.ts'
import { Bulk, BulkPage, BulkPreview, BulkRequest } from './schemas.ts'

const BASE = '/api/v1/apiClient/token/bulk'
const NOT_FOUND = [reasonOf('bulk-not-found')]
const USED_KEY = reasonOf('idempotency-conflict')

const shared = { tag: 'Bulk operations' } as const
const params = Type.Object({ id: Type.String({ description: 'The operation id' }) })

export const bulk = operationsOf(answers, {
  changeTokens: {
    ...shared,
    method: 'POST',
    url: BASE,
    summary: 'Disable, enable, expire or delete all tokens that a filter matches',
    description:
      'The tokens are those that match at one moment of the request; each is changed if it still matches in its turn. What somebody has ' +
      'changed meanwhile is not enabled. It goes on after the answer, also after a restart, and takes turns with other changes. It fails ' +
      'if the key by which it was ordered is revoked, or the store is restored to an earlier state.',
    headers: Type.Object(IDEMPOTENCY_KEY),
    body: BulkRequest,
    data: Bulk,
    success: { status: 202, message: 'Bulk operation accepted' },
    dryRun: { data: BulkPreview, message: 'Nothing was changed' },
    failures: {
      400: ['action is required', 'filter is required', 'The filter matches more than 250000 tokens; narrow it'],
      403: NOT_YOURS,
      409: ['The filter matches 3 tokens now, not 2', reasonOf('too-many-bulk'), USED_KEY],
    },
  },
  listBulk: {
    ...shared,
    method: 'GET',
    url: BASE,
    summary: 'List bulk operations, newest first',
    description: 'A key for some sub-accounts gets those of keys for the same ones.',
    querystring: Type.Object({ ...PageParameters }),
    data: BulkPage,
    success: { message: 'Found 1 bulk operation(s)' },
    failures: { 400: [BAD_PAGE] },
  },
  getBulk: {
    ...shared,
    method: 'GET',
    url: `${BASE}/:id`,
    summary: 'Get one bulk operation, and how far it is',
    params,
    data: Bulk,
    success: { message: 'Bulk operation retrieved successfully' },
    failures: { 404: NOT_FOUND },
  },
  undoBulk: {
    ...shared,
    method: 'POST',
    url: `${BASE}/:id/undo`,
    summary: 'Restore what a bulk operation has changed',
    description:
      'Each token that it has changed gets what it had before, unless anything of it was changed since. One that runs stops where it is. ' +
      'What was deleted cannot be restored. It can be undone for 30 days.',
    params,
    headers: Type.Object(IDEMPOTENCY_KEY),
    data: Bulk,
    success: { status: 202, message: 'Undoing accepted' },
    failures: {
      404: NOT_FOUND,
      409: ['What was deleted cannot be restored', 'This operation is undone already', USED_KEY],
    },
  },
})
