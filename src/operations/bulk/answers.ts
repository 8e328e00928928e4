// Bulk operations: order, watch and undo them.
import { readBulkRequest } from '../../tokens/bulk/bulk.ts'
import { readPageRequest } from '../../tokens/model/page.ts'
import { readIdempotencyKey } from '../conditions.ts'
import { type Answered, type Input, listed, type Service } from '../operation.ts'
import { bulkToWire, previewToWire } from './document.ts'

type Ordered = ReturnType<typeof bulkToWire> | ReturnType<typeof previewToWire>

export async function changeTokens({ registry: { bulk } }: Service, input: Input): Promise<Answered<Ordered>> {
  const { caller, body, headers, origin } = input
  const request = readBulkRequest(body, origin.at)
  const key = readIdempotencyKey(headers)
  if (!request.dryRun) return { data: bulkToWire(await bulk.order(caller, request, origin, key)) }
  const preview = await bulk.preview(caller, request, origin)
  return { data: previewToWire(preview), message: 'Nothing was changed', isDryRun: true }
}

export async function listBulk({ registry: { bulk } }: Service, { caller, query }: Input) {
  return listed(await bulk.list(caller, readPageRequest(query)), 'bulk operation(s)', bulkToWire)
}

export async function getBulk({ registry: { bulk } }: Service, { caller, params }: Input) {
  return { data: bulkToWire(await bulk.get(caller, params.id)) }
}

export async function undoBulk({ registry: { bulk } }: Service, { caller, params, headers, origin }: Input) {
  return { data: bulkToWire(await bulk.undo(caller, params.id, origin, readIdempotencyKey(headers))) }
}
