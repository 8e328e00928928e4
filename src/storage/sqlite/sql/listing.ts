// Pages of tokens: which tokens, in which order, and the total.
import { type Sought, seek } from '../../../tokens/model/grams.ts'
import type { Slice, TokenQuery } from '../../../tokens/model/page.ts'
import { idFloor, type Status } from '../../../tokens/model/token.ts'
import type { TokenRow } from '../../../tokens/ports.ts'
import { NEVER_USED, ofSuspended, outlived } from '../../pages.ts'
import { type Connection, inTime } from '../connection.ts'
import { SQLITE } from './dialect.ts'
import { matchExpression } from './grams.ts'
import { findSubAccountName, findToken } from './reads.ts'

/** The ids of the tokens of a page, in its order, and the number of all matches. */
export interface Chosen {
  readonly ids: readonly string[]
  readonly total: number
}

/** Undefined when the query names a sub-account that is not the account's. */
export function chooseTokens(db: Connection, accountId: string, query: TokenQuery): Chosen | undefined {
  return db.snapshot(() => {
    const { subAccountId, status } = query
    if (subAccountId !== undefined && findSubAccountName(db, accountId, subAccountId) === undefined) return undefined
    if (query.search !== undefined || query.narrowing !== undefined) return filterAndSort(db, accountId, query)
    const total = countScope(db, subAccountId ?? accountId, status)
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
 * Reads the index that holds just the wanted tokens in their order, from the nearer end. Without a status, rows that are skipped
 * are not compared with the scope: the total says that the page lies within it, and the rows of the page are compared. A page from
 * the middle of a large account then takes little more than half the time; with a status it would take twice the time. `+ 0`:
 * SQLite would plan the statement again for every value of a limit that is a bare parameter.
 */
export function pageByIndex(db: Connection, query: TokenQuery, scope: string, total: number): string[] {
  const { subAccountId, status, page, limit } = query
  const skip = (page - 1) * limit
  const take = Math.min(limit, total - skip)
  if (take <= 0) return []
  const backwards = skip > total / 2
  const column = subAccountId === undefined ? 'account_id' : 'sub_account_id'
  const [order, from] = backwards ? ['ASC', '>='] : ['DESC', '<=']
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

/** Up to this many matches of a search are sorted faster here than by SQLite. */
const FEW_MATCHES = 200

/** For what no index holds in its order: finds all matches by the most selective index, then sorts them. */
function filterAndSort(db: Connection, accountId: string, query: TokenQuery): Chosen {
  const sought = query.search === undefined ? undefined : seek(query.search)
  if (query.search !== undefined && sought === undefined) return { ids: [], total: 0 }
  const { source, conditions, values } = filtersOf(db, accountId, query, sought)
  const matches = `FROM ${source} WHERE ${conditions.join(' AND ')}`
  const { page, limit } = query
  const skip = (page - 1) * limit
  if (sought !== undefined) {
    const few = db.tuples<[id: string]>(`SELECT t.id ${matches} LIMIT ${FEW_MATCHES + 1}`, ...values)
    if (few.length <= FEW_MATCHES) {
      const ids = few.map(([id]) => id).sort((left, right) => (left < right ? 1 : -1))
      return { ids: ids.slice(skip, skip + limit), total: few.length }
    }
  }
  const found = db.tuples<[id: string, total: number]>(
    `SELECT t.id, count(*) OVER () AS total ${matches} ORDER BY +t.id DESC LIMIT ? OFFSET ?`,
    ...[...values, limit, skip],
  )
  const [first] = found
  if (first !== undefined) return { ids: found.map(([id]) => id), total: first[1] }
  const counted = page === 1 ? undefined : db.get<{ n: number }>(`SELECT count(*) AS n ${matches}`, ...values)
  return { ids: [], total: counted?.n ?? 0 }
}

/** By parts of the name; a search of four characters also by the end of the credential. */
function searched(accountNo: number, accountId: string, sought: Sought) {
  const { contains, lastFour } = sought
  const named = {
    source: 'token_grams g CROSS JOIN tokens t ON t.no = g.rowid',
    conditions: ['token_grams MATCH ?', ...(contains === undefined ? [] : ['instr(t.folded_name, ?)'])],
    values: [matchExpression(accountNo, sought), ...(contains === undefined ? [] : [contains])],
  }
  if (lastFour === undefined) return named
  return {
    source: `(
      SELECT t.no FROM ${named.source} WHERE ${named.conditions.join(' AND ')}
      UNION SELECT no FROM tokens WHERE account_id = ? AND masked IS NOT NULL AND substr(masked, -4) = ?
    ) f CROSS JOIN tokens t ON t.no = f.no`,
    conditions: [],
    values: [...named.values, accountId, lastFour],
  }
}

const OUTLIVED = outlived(SQLITE, '?', '?')
const OF_SUSPENDED = ofSuspended(SQLITE, '?')
const TAGGED = 't.id IN (SELECT token_id FROM token_tags WHERE account_id = ? AND tag = ?)'

function filtersOf(db: Connection, accountId: string, query: TokenQuery, sought: Sought | undefined) {
  const { subAccountId, status, narrowing = {} } = query
  const account = db.get<{ no: number }>('SELECT no FROM accounts WHERE id = ?', accountId)
  const { createdFrom, createdBefore, expiresFrom, expiresBefore, suspended, tags = [], subAccounts } = narrowing
  const filters = {
    // The tokens of some sub-accounts, or with a tag, are found by these, not among all of the account's.
    [suspended || subAccounts || tags.length > 0 ? '+t.account_id = ?' : 't.account_id = ?']: accountId,
    't.sub_account_id = ?': subAccountId,
    [SQLITE.among('t.sub_account_id', '?')]: subAccounts && JSON.stringify(subAccounts),
    't.status = ?': status,
    't.id >= ?': createdFrom === undefined ? undefined : idFloor('tok', createdFrom),
    't.id < ?': createdBefore === undefined ? undefined : idFloor('tok', createdBefore),
    't.expires_at >= ?': expiresFrom,
    't.expires_at < ?': expiresBefore,
    [OF_SUSPENDED]: suspended === true ? accountId : undefined,
    [`NOT ${OF_SUSPENDED}`]: suspended === false ? accountId : undefined,
  }
  const given = Object.entries(filters).filter(([, value]) => value !== undefined)
  const ages = [
    { condition: `(t.expires_at <= ? OR ${OUTLIVED})`, at: narrowing.expiredAt },
    { condition: `((t.expires_at IS NULL OR t.expires_at > ?) AND NOT ${OUTLIVED})`, at: narrowing.unexpiredAt },
  ].flatMap(({ condition, at }) => (at === undefined ? [] : [{ condition, at }]))
  const found = sought && searched(account?.no ?? 0, accountId, sought)
  return {
    source: found?.source ?? 'tokens t',
    conditions: [
      ...(found?.conditions ?? []),
      ...given.map(([condition]) => condition),
      ...ages.map(({ condition }) => condition),
      ...tags.map(() => TAGGED),
      ...(narrowing.neverUsed ? [NEVER_USED] : []),
      inTime('t.no'),
    ],
    values: [
      ...(found?.values ?? []),
      ...given.map(([, value]) => value as string | number),
      ...ages.flatMap(({ at }) => [at, accountId, at]),
      ...tags.flatMap((tag) => [accountId, tag]),
    ],
  }
}
