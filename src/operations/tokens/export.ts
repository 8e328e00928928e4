// Tokens as CSV.
import { Failure } from '../../tokens/model/errors.ts'
import { readTokenQuery } from '../../tokens/model/page.ts'
import type { Columns } from '../csv.ts'
import { type BeginExport, exportOf, withoutPages } from '../export.ts'
import { tokenToWire } from './document.ts'

const COLUMNS: Columns = [
  ...['_id', 'name', 'status', 'effectiveStatus', 'createdAt', 'expiresAt', 'lastUsedAt', 'formerCredentialUntil'],
  ...['version', 'tags', 'metadata', 'policy'],
  ...['subAccount._id', 'subAccount.name', 'subAccount.email', 'subAccount.companyName'],
]

/** It is read by ids, a part at a time. */
const NOT_SORTED = 'sort cannot be combined with CSV, which has the newest first'

export const exportTokens: BeginExport = async (registry, { caller, query, params, now }) => {
  if (query.sort !== undefined) throw new Failure('invalid-request', NOT_SORTED)
  const filter = readTokenQuery(withoutPages({ ...query, ...params }), now)
  const read = await registry.exports.tokens(caller, filter)
  return exportOf(COLUMNS, read, (tokens) =>
    tokens.map(tokenToWire).map((token) => ({ ...token, ...('details' in token && token.details) })),
  )
}
