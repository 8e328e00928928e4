// Sub-accounts as CSV.
import { readSearch } from '../../tokens/model/page.ts'
import type { Columns } from '../csv.ts'
import { type BeginExport, exportOf, withoutPages } from '../export.ts'
import { subAccountToWire } from './document.ts'

const COLUMNS: Columns = [
  ...['_id', 'name', 'email', 'companyName', 'status', 'createdAt', 'suspendedAt'],
  ...['tokens.active', 'tokens.inactive', 'policy', 'metadata'],
]

export const exportSubAccounts: BeginExport = (registry, { caller, query }) => {
  const read = registry.exports.subAccounts(caller, readSearch(withoutPages(query)))
  return exportOf(COLUMNS, read, (rows) => rows.map(subAccountToWire))
}
