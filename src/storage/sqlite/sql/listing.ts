// Pages of tokens: which tokens, in which order, and the total.
import { type Chosen, type ChosenTokens, inParts, MAX_BULK_TOKENS } from '../../../tokens/bulk/bulk.ts'
import { type Sought, seek } from '../../../tokens/model/name-grams.ts'
import {
  inOrder,
  type OrderedQuery,
  requireFewByUse,
  type Slice,
  type Sort,
  type TokenQuery,
} from '../../../tokens/model/page.ts'
import { foldCase, type Status } from '../../../tokens/model/token.ts'
import type { TokenRow } from '../../../tokens/service/ports.ts'
import { Values } from '../../questions/statements.ts'
import { ENTRIES_PER_ROW, orderOf, tokenFilters } from '../../questions/token-filters.ts'
import type { Connection } from '../sqlite-connection.ts'
import { SQLITE, toInput } from './dialect.ts'
import { matchExpression } from './grams.ts'
import { findSubAccountName, findToken } from './lookups.ts'

/** The ids of the tokens of a page, in its order, and the number of all matches. */
export interface ChosenPage {
  readonly ids: readonly string[]
  readonly total: number
}

/** Undefined when the query names a sub-account that is not the account's. */
export function chooseTokens(db: Connection, accountId: string, asked: TokenQuery): ChosenPage | undefined {
  return db.snapshot(() => {
    const query = inOrder(asked)
    const { subAccountId, status, sort } = query
    if (subAccountId !== undefined && findSubAccountName(db, accountId, subAccountId) === undefined) return undefined
    if (query.search !== undefined || query.narrowing !== undefined) {
      const found = filterAndSort(db, accountId, query)
      requireFewByUse(query, found.total)
      return found
    }
    const total = countScope(db, subAccountId ?? accountId, status)
    requireFewByUse(query, total)
    if (sort.by !== 'createdAt') return { ids: pageInOrder(db, accountId, query), total }
    return { ids: pageByIndex(db, query, subAccountId ?? accountId, total), total }
  })
}

export function listTokens(db: Connection, accountId: string, query: TokenQuery): Slice<TokenRow> | undefined {
  return db.snapshot(() => {
    const chosen = chooseTokens(db, accountId, query)
    const items = chosen?.ids.map((id) => findToken(db, accountId, id)).filter((row) => row !== undefined)
    return chosen && { items: items ?? [], total: chosen.total }
  })
}

// Written once: each new string would have to be hashed and compared again.
const COUNT = 'SELECT sum(count) FROM token_counts WHERE scope = ?'
const COUNT_BY_STATUS = `${COUNT} AND status = ?`

/** The stored total of an account or a sub-account. */
export function countScope(db: Connection, scope: string, status: Status | undefined): number {
  const counted: readonly (number | null)[] | undefined =
    status === undefined ? db.tuple(COUNT, scope) : db.tuple(COUNT_BY_STATUS, scope, status)
  return counted?.[0] ?? 0
}

/**
 * By creation: reads the index that holds just the wanted tokens in their order, from the nearer end. Without a status, rows that are
 * skipped are not compared with the scope: the total says that the page lies within it, and the rows of the page are compared. A page from
 * the middle of a large account then takes little more than half the time; with a status it would take twice the time. `+ 0`:
 * SQLite would plan the statement again for every value of a limit that is a bare parameter.
 */
export function pageByIndex(db: Connection, query: OrderedQuery, scope: string, total: number): string[] {
  const { subAccountId, status, page, limit, sort } = query
  const skip = (page - 1) * limit
  const take = Math.min(limit, total - skip)
  if (take <= 0) return []
  const backwards = skip > total / 2
  const column = subAccountId === undefined ? 'account_id' : 'sub_account_id'
  const [order, from] = sort.isDescending === backwards ? ['ASC', '>='] : ['DESC', '<=']
  const found = db.tuples<[id: string]>(
    status === undefined
      ? `SELECT id FROM (SELECT ${column} AS scope, id FROM tokens WHERE ${column} ${from} ?1
           ORDER BY ${column} ${order}, id ${order} LIMIT ?2 + 0 OFFSET ?3 + 0) WHERE scope = ?1`
      : `SELECT id FROM tokens WHERE ${column} = ?1 AND status = ?4 ORDER BY id ${order} LIMIT ?2 + 0 OFFSET ?3 + 0`,
    ...[scope, take, backwards ? total - skip - take : skip],
    ...(status === undefined ? [] : [status]),
  )
  const ids = found.map(([id]) => id)
  return backwards ? ids.reverse() : ids
}

/** By what all matches of a query are put in order. */
const KEYS = {
  name: 't.folded_name',
  createdAt: 't.id',
  lastUsedAt: '(SELECT at FROM last_used WHERE token_id = t.id)',
  expiresAt: 't.expires_at',
}

/** The indexes of the lists of an account, with all that is compared without further filters. */
const LISTS = {
  name: `INDEXED BY tokens_by_name WHERE t.folded_name > '' AND`,
  createdAt: 'INDEXED BY tokens_by_account WHERE',
  lastUsedAt: 'INDEXED BY tokens_by_account WHERE',
  expiresAt: 'INDEXED BY tokens_by_expiry WHERE',
}

/**
 * Reads the account's list in this order as far as the page, and passes over tokens of another status or sub-account. Last uses are in
 * no index of the account: they are sorted.
 */
function pageInOrder(db: Connection, accountId: string, query: OrderedQuery): string[] {
  const { subAccountId, status, page, limit, sort } = query
  const values = new Values(SQLITE.sign)
  const conditions = values.conditions([
    [accountId, (parameter) => `t.account_id = ${parameter}`],
    [status, (parameter) => `+t.status = ${parameter}`],
    [subAccountId, (parameter) => `+t.sub_account_id = ${parameter}`],
  ])
  const found = db.tuples<[id: string]>(
    `SELECT t.id FROM tokens t ${LISTS[sort.by]} ${conditions.join(' AND ')} AND ${SQLITE.inTime('t.no')}
     ORDER BY ${orderOf(sort, KEYS[sort.by], 't.id')} LIMIT ${values.add(limit)} + 0 OFFSET ${values.add((page - 1) * limit)} + 0`,
    ...values.list.map(toInput),
  )
  return found.map(([id]) => id)
}

/** Up to this many matches of a search are sorted faster here than by SQLite. */
const FEW_MATCHES = 200

/** All that a query matches; undefined if no name can contain what is searched. */
function matchesOf(db: Connection, accountId: string, query: TokenQuery) {
  const sought = query.search === undefined ? undefined : seek(query.search)
  if (query.search !== undefined && sought === undefined) return undefined
  const values = new Values(SQLITE.sign)
  const isIndexed = sought !== undefined && query.narrowing?.ids === undefined
  const named =
    sought === undefined ? [] : isIndexed ? searched(db, values, accountId, sought) : compared(values, query)
  const conditions = [...named, ...tokenFilters(SQLITE, values, accountId, query)]
  const source = isIndexed ? 'token_grams g CROSS JOIN tokens t ON t.no = g.rowid' : 'tokens t'
  return { values, isIndexed, matches: `FROM ${source} WHERE ${conditions.join(' AND ')}` }
}

/** What a bulk operation is about. */
export function chooseBulk(db: Connection, accountId: string, query: TokenQuery): ChosenTokens | undefined {
  const found = db.snapshot(() => matchTokens(db, accountId, query))
  return found && inParts(found)
}

/** Without pages, by their ids. Undefined when the query names a sub-account that is not the account's. */
export function matchTokens(db: Connection, accountId: string, query: TokenQuery): Chosen[] | undefined {
  const { subAccountId } = query
  if (subAccountId !== undefined && findSubAccountName(db, accountId, subAccountId) === undefined) return undefined
  const found = matchesOf(db, accountId, query)
  if (found === undefined) return []
  return db.tuples<Chosen>(
    `SELECT t.id, t.version ${found.matches} ORDER BY +t.id LIMIT ${MAX_BULK_TOKENS + 1}`,
    ...found.values.list.map(toInput),
  )
}

/** For what no index holds in its order: finds all matches by the most selective index and sorts them, unless they are very many. */
function filterAndSort(db: Connection, accountId: string, query: OrderedQuery): ChosenPage {
  if (matchesMuch(db, accountId, query)) return scanNames(db, accountId, query)
  const found = matchesOf(db, accountId, query)
  if (found === undefined) return { ids: [], total: 0 }
  const { values, isIndexed, matches } = found
  const wanted = values.list.map(toInput)
  const { page, limit, sort } = query
  const skip = (page - 1) * limit
  if (isIndexed && sort.by === 'createdAt') {
    const few = db.tuples<[id: string]>(`SELECT t.id ${matches} LIMIT ${FEW_MATCHES + 1}`, ...wanted)
    if (few.length <= FEW_MATCHES) {
      const ids = few.map(([id]) => id).sort((left, right) => (left < right === sort.isDescending ? 1 : -1))
      return { ids: ids.slice(skip, skip + limit), total: few.length }
    }
  }
  const paged = db.tuples<[id: string, total: number]>(
    `SELECT t.id, count(*) OVER () AS total ${matches}
     ORDER BY ${sorted(sort)} LIMIT ${values.add(limit)} OFFSET ${values.add(skip)}`,
    ...[...wanted, limit, skip],
  )
  const [first] = paged
  if (first !== undefined) return { ids: paged.map(([id]) => id), total: first[1] }
  const counted = page === 1 ? undefined : db.get<{ n: number }>(`SELECT count(*) AS n ${matches}`, ...wanted)
  return { ids: [], total: counted?.n ?? 0 }
}

/** Not by an index in this order, which would lead through the whole account. */
const sorted = (sort: Sort): string => orderOf(sort, `+${KEYS[sort.by]}`, '+t.id')

/** Of a few that are given: the index would be read for all that have the name. */
function compared(values: Values, { search = '' }: TokenQuery): string[] {
  return [SQLITE.contains('t.folded_name', values.add(foldCase(search)))]
}

/** Whether a pass over the names of the account costs less than the matches of the search index, whatever the other filters are. */
function matchesMuch(db: Connection, accountId: string, { narrowing, search = '' }: TokenQuery): boolean {
  const sought = seek(search)
  if (sought === undefined || narrowing !== undefined) return false
  const values = new Values(SQLITE.sign)
  const [byGrams] = searched(db, values, accountId, { ...sought, contains: undefined })
  const enough = Math.max(FEW_MATCHES, Math.ceil(countScope(db, accountId, undefined) / ENTRIES_PER_ROW))
  const found = db.tuple<[number]>(
    `SELECT count(*) FROM (SELECT 1 FROM token_grams WHERE ${byGrams} LIMIT ${values.add(enough)})`,
    ...[...values.list.slice(0, -1).map(toInput), enough],
  )
  return found?.[0] === enough
}

/**
 * Reads the index that has the names of the account in the order of creation, or the rows of a sub-account that has few of them: first
 * for the total, then as far as the page, or for all matches in another order.
 */
function scanNames(db: Connection, accountId: string, query: OrderedQuery) {
  const { search = '', status, subAccountId, page, limit, sort } = query
  const values = new Values(SQLITE.sign)
  const ofAccount = countScope(db, accountId, undefined)
  const isFew = subAccountId !== undefined && countScope(db, subAccountId, undefined) < ofAccount / ENTRIES_PER_ROW
  const [account, owner] = isFew ? ['+t.account_id', 't.sub_account_id'] : ['t.account_id', '+t.sub_account_id']
  const conditions = values.conditions([
    [accountId, (parameter) => `${account} = ${parameter}`],
    [foldCase(search), (parameter) => `instr(t.folded_name, ${parameter})`],
    [status, (parameter) => `+t.status = ${parameter}`],
    [subAccountId, (parameter) => `${owner} = ${parameter}`],
  ])
  const matches = `FROM tokens t INDEXED BY ${isFew ? 'tokens_by_sub_account' : 'tokens_by_account'}
    WHERE ${[...conditions, SQLITE.inTime('t.no')].join(' AND ')}`
  const wanted = values.list.map(toInput)
  const total = db.tuple<[number]>(`SELECT count(*) ${matches}`, ...wanted)?.[0] ?? 0
  const skip = (page - 1) * limit
  if (skip >= total) return { ids: [], total }
  const found = db.tuples<[id: string]>(
    `SELECT t.id ${matches} ORDER BY ${orderOf(sort, KEYS[sort.by], 't.id')} LIMIT ${values.add(limit)} OFFSET ${values.add(skip)}`,
    ...[...wanted, limit, skip],
  )
  return { ids: found.map(([id]) => id), total }
}

/** By parts of the name. */
function searched(db: Connection, values: Values, accountId: string, sought: Sought): string[] {
  // As an array, as the writer reads it, too: a statement gives all its rows in one form.
  const [no = 0] = db.tuple<[no: number]>('SELECT no FROM accounts WHERE id = ?', accountId) ?? []
  return values.conditions([
    [matchExpression(no, sought), (parameter) => `token_grams MATCH ${parameter}`],
    [sought.contains, (parameter) => `instr(t.folded_name, ${parameter})`],
  ])
}
