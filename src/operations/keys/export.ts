// Account keys as CSV.
import type { Columns } from '../csv.ts'
import { type BeginExport, exportOf, withoutPages } from '../export.ts'
import { keyToWire } from './document.ts'

const COLUMNS: Columns = [
  ...['_id', 'name', 'role', 'reveal', 'subAccounts', 'createdAt', 'expiresAt', 'revokedAt', 'lastUsedAt'],
]

export const exportKeys: BeginExport = (registry, { caller, query }) => {
  withoutPages(query)
  return exportOf(COLUMNS, registry.exports.keys(caller), (keys) => keys.map(keyToWire))
}
