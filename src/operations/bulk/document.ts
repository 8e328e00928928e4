// Bulk operations as they are sent and printed.

import { filterOf, type StoredBulk } from '../../tokens/bulk/bulk.ts'
import type { BulkPreview } from '../../tokens/bulk/orders.ts'
import { toTime, toTimeOrNull } from '../../tokens/model/times.ts'
import { subAccountOfToken } from '../tokens/document.ts'

export function bulkToWire(operation: StoredBulk) {
  const { id, action, status, direction, total, done, skipped, restored, kept, createdAt, endedAt, by, byName } =
    operation
  return {
    _id: id,
    action,
    status,
    total,
    done,
    skipped,
    filter: filterOf(operation),
    reason: operation.reason,
    createdAt: toTime(createdAt),
    endedAt: toTimeOrNull(endedAt),
    by,
    byName,
    undo: direction === 'undo' ? { restored, kept } : null,
    failedBecause: operation.error,
  }
}

/** Without credentials, which nobody needs here. */
export function previewToWire({ total, sample }: BulkPreview) {
  const tokens = sample.map(({ token: { id, name, status }, subAccount }) => {
    return { _id: id, name, subAccount: subAccountOfToken(subAccount), status }
  })
  return { total, sample: tokens }
}
