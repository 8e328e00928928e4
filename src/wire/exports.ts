// Every list as CSV: its columns, which stay as they are (new ones are added at the end), and its parts. HTTP sends what the command
// line prints.

import { Failure } from '../tokens/errors.ts'
import type { ReadPart } from '../tokens/exports.ts'
import { type ListPart, type RawQuery, readOnce, readSearch, readTokenQuery } from '../tokens/model/page.ts'
import type { Caller } from '../tokens/model/permissions.ts'
import type { Timestamp } from '../tokens/model/token.ts'
import { readUsageRange } from '../tokens/model/usage.ts'
import { readHistoryQuery } from '../tokens/record/history.ts'
import type { Registry } from '../tokens/registry.ts'
import { REFUSED } from '../tokens/verify/recent-verifications.ts'
import { type Columns, csvHeader, csvLines } from './csv.ts'
import { historyToWire, idsIn } from './history.ts'
import { keyToWire } from './key.ts'
import { subAccountToWire } from './sub-account.ts'
import { tokenToWire } from './token.ts'
import { usageToWire } from './usage.ts'

const SUB_ACCOUNT: Columns = ['subAccount._id', 'subAccount.name', 'subAccount.email', 'subAccount.companyName']
const TOKENS: Columns = [
  ...['_id', 'name', 'status', 'effectiveStatus', 'createdAt', 'expiresAt', 'lastUsedAt', 'formerCredentialUntil'],
  ...['version', 'tags', 'metadata', 'policy', ...SUB_ACCOUNT],
]
const SUB_ACCOUNTS: Columns = [
  ...['_id', 'name', 'email', 'companyName', 'status', 'createdAt', 'suspendedAt'],
  ...['tokens.active', 'tokens.inactive', 'policy', 'metadata'],
]
const KEYS: Columns = [
  ...['_id', 'name', 'role', 'reveal', 'subAccounts', 'createdAt', 'expiresAt', 'revokedAt', 'lastUsedAt'],
]
const HISTORY: Columns = [
  ...['seq', 'at', 'by', 'byName', 'action', 'subject', 'subjectName', 'subAccount._id', 'subAccount.name'],
  ...['from', 'to', 'requestId', 'address'],
]

const USAGE: Columns = ['from', 'accepted', ...REFUSED.map((reason) => `refused.${reason}`)]

export interface CsvPart {
  readonly text: string
  /** Where the next part continues; undefined after the last one. */
  readonly next: string | undefined
}

export interface CsvExport {
  readonly header: string
  readonly read: (position: string | undefined) => Promise<CsvPart>
}

/** Begins an export: rejects for what the list itself would refuse. */
export type BeginExport = (registry: Registry, asked: AskedList) => CsvExport | Promise<CsvExport>

/** `params` are the parts of the path that name whose list it is. */
export interface AskedList {
  readonly caller: Caller
  readonly query: RawQuery
  readonly params: { readonly id?: string; readonly subAccountId?: string }
  readonly now: Timestamp
}

export const exportTokens: BeginExport = async (registry, { caller, query, params, now }) => {
  if (query.sort !== undefined) throw new Failure('invalid-request', NOT_SORTED)
  const filter = readTokenQuery(withoutPages({ ...query, ...params }), now)
  const read = await registry.exports.tokens(caller, filter)
  return exportOf(TOKENS, read, (tokens) =>
    tokens.map(tokenToWire).map((token) => ({ ...token, ...('details' in token && token.details) })),
  )
}

export const exportSubAccounts: BeginExport = (registry, { caller, query }) => {
  const read = registry.exports.subAccounts(caller, readSearch(withoutPages(query)))
  return exportOf(SUB_ACCOUNTS, read, (rows) => rows.map(subAccountToWire))
}

export const exportKeys: BeginExport = (registry, { caller, query }) => {
  withoutPages(query)
  return exportOf(KEYS, registry.exports.keys(caller), (keys) => keys.map(keyToWire))
}

/** Of the account, or of the token of the path. */
export const exportHistory: BeginExport = async (registry, { caller, query, params }) => {
  const { page: _page, limit: _limit, cursor: _cursor, ...filter } = readHistoryQuery(withoutPages(query))
  const read = await registry.exports.history(caller, { ...filter, tokenId: params.id })
  return exportOf(HISTORY, read, async (items) => {
    const names = await registry.findNames(caller, idsIn({ items }))
    return historyToWire({ items }, names, ({ seq }) => registry.feed.positionOf(caller, seq)).items
  })
}

/** Of the token of the path, of a sub-account or of the account: a few hundred buckets at most, which are one part. */
export const exportUsage: BeginExport = async ({ usage }, { caller, query, params, now }) => {
  const range = readUsageRange(withoutPages(query), now)
  const read = async () => ({
    rows: await (params.id === undefined
      ? usage.ofAccount(caller, readOnce(query, 'subAccountId'), range)
      : usage.ofToken(caller, params.id, range)),
    next: undefined,
  })
  return exportOf(USAGE, read, (buckets) => usageToWire(range, buckets).buckets)
}

function exportOf<Row>(
  columns: Columns,
  read: ReadPart<Row>,
  show: (rows: ListPart<Row>['rows']) => readonly object[] | Promise<readonly object[]>,
): CsvExport {
  return {
    header: csvHeader(columns),
    read: async (position) => {
      const { rows, next } = await read(position)
      return { text: csvLines(columns, await show(rows)), next }
    },
  }
}

/** It is read by ids, a part at a time. */
const NOT_SORTED = 'sort cannot be combined with CSV, which has the newest first'

/** Who asks for a page must not get everything. */
const OF_PAGES = ['page', 'limit', 'after', 'beforePosition'] as const

function withoutPages(query: RawQuery): RawQuery {
  const sent = OF_PAGES.find((name) => query[name] !== undefined)
  if (sent === undefined) return query
  throw new Failure(
    'invalid-request',
    `${sent} cannot be combined with CSV, which has everything that the filters match`,
  )
}
