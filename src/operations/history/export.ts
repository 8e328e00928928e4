// The history as CSV.
import { readHistoryQuery } from '../../tokens/history/history.ts'
import type { Columns } from '../csv.ts'
import { type BeginExport, exportOf, withoutPages } from '../export.ts'
import { historyToWire, idsIn } from './document.ts'

const COLUMNS: Columns = [
  ...['seq', 'at', 'by', 'byName', 'action', 'subject', 'subjectName', 'subAccount._id', 'subAccount.name'],
  ...['from', 'to', 'requestId', 'address'],
]

/** Of the account, or of the token of the path. */
export const exportHistory: BeginExport = async (registry, { caller, query, params }) => {
  const { page: _page, limit: _limit, cursor: _cursor, ...filter } = readHistoryQuery(withoutPages(query))
  const read = await registry.exports.history(caller, { ...filter, tokenId: params.id })
  return exportOf(COLUMNS, read, async (items) => {
    const names = await registry.findNames(caller, idsIn({ items }))
    return historyToWire({ items }, names, ({ seq }) => registry.feed.positionOf(caller, seq)).items
  })
}
