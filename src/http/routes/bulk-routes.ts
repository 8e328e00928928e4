// Bulk operations: order, watch and undo them.
import { Type } from 'typebox'
import { bulkToWire, previewToWire } from '../../operations/bulk/document.ts'
import { reasonOf } from '../../tokens/errors.ts'
import { readBulkRequest } from '../../tokens/model/bulk.ts'
import { BAD_PAGE, readPageRequest } from '../../tokens/model/page.ts'
import { readIdempotencyKey } from '../protocol/conditions.ts'
import * as schemas from './bulk-schemas.ts'
import { type AccountRoute, IDEMPOTENCY_KEY, NOT_YOURS } from './route.ts'
import { PageParameters } from './schemas.ts'

const BASE = '/api/v1/apiClient/token/bulk'
const NOT_FOUND = [reasonOf('bulk-not-found')]
const USED_KEY = reasonOf('idempotency-conflict')

const shared = { tag: 'Bulk operations' } as const
const params = Type.Object({ id: Type.String({ description: 'The operation id' }) })

const changeTokens: AccountRoute = {
  ...shared,
  method: 'POST',
  url: BASE,
  operationId: 'changeTokens',
  summary: 'Disable, enable, expire or delete all tokens that a filter matches',
  description:
    'The tokens are those that match at one moment of the request; each is changed if it still matches in its turn. What somebody has ' +
    'changed meanwhile is not enabled. It goes on after the answer, also after a restart, and takes turns with other changes. It fails ' +
    'if the key by which it was ordered is revoked, or the store is restored to an earlier state.',
  headers: Type.Object(IDEMPOTENCY_KEY),
  body: schemas.BulkRequest,
  data: schemas.Bulk,
  success: { status: 202, message: 'Bulk operation accepted' },
  dryRun: { data: schemas.BulkPreview, message: 'Nothing was changed' },
  failures: {
    400: ['action is required', 'filter is required', 'The filter matches more than 250000 tokens; narrow it'],
    403: NOT_YOURS,
    409: ['The filter matches 3 tokens now, not 2', reasonOf('too-many-bulk'), USED_KEY],
  },
  async answer({ bulk }, { caller, body, headers, origin }) {
    const request = readBulkRequest(body, origin.at)
    const key = readIdempotencyKey(headers)
    if (request.dryRun)
      return {
        data: previewToWire(await bulk.preview(caller, request, origin)),
        message: 'Nothing was changed',
        isDryRun: true,
      }
    return { data: bulkToWire(await bulk.order(caller, request, origin, key)) }
  },
}

const listBulk: AccountRoute = {
  ...shared,
  method: 'GET',
  url: BASE,
  operationId: 'listBulk',
  summary: 'List bulk operations, newest first',
  description: 'A key for some sub-accounts gets those of keys for the same ones.',
  querystring: Type.Object({ ...PageParameters }),
  data: schemas.BulkPage,
  success: { message: 'Found 1 bulk operation(s)' },
  failures: { 400: [BAD_PAGE] },
  async answer({ bulk }, { caller, query }) {
    const page = await bulk.list(caller, readPageRequest(query))
    const items: schemas.WireBulk[] = page.items.map(bulkToWire)
    return { message: `Found ${page.total} bulk operation(s)`, data: { ...page, items } }
  },
}

const getBulk: AccountRoute = {
  ...shared,
  method: 'GET',
  url: `${BASE}/:id`,
  operationId: 'getBulk',
  summary: 'Get one bulk operation, and how far it is',
  params,
  data: schemas.Bulk,
  success: { message: 'Bulk operation retrieved successfully' },
  failures: { 404: NOT_FOUND },
  async answer({ bulk }, { caller, params }) {
    return { data: bulkToWire(await bulk.get(caller, params.id)) }
  },
}

const undoBulk: AccountRoute = {
  ...shared,
  method: 'POST',
  url: `${BASE}/:id/undo`,
  operationId: 'undoBulk',
  summary: 'Restore what a bulk operation has changed',
  description:
    'Each token that it has changed gets what it had before, unless anything of it was changed since. One that runs stops where it is. ' +
    'What was deleted cannot be restored. It can be undone for 30 days.',
  params,
  headers: Type.Object(IDEMPOTENCY_KEY),
  data: schemas.Bulk,
  success: { status: 202, message: 'Undoing accepted' },
  failures: {
    404: NOT_FOUND,
    409: ['What was deleted cannot be restored', 'This operation is undone already', USED_KEY],
  },
  async answer({ bulk }, { caller, params, headers, origin }) {
    return { data: bulkToWire(await bulk.undo(caller, params.id, origin, readIdempotencyKey(headers))) }
  },
}

export const bulkRoutes = { changeTokens, listBulk, getBulk, undoBulk }
