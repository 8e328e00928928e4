// Pages of tokens: which ones they hold, in what order, and how many there are in all.
import { type Sought, seek } from '../../tokens/grams.ts'
import type { Slice, TokenQuery } from '../../tokens/page.ts'
import type { TokenRow } from '../../tokens/store.ts'
import { idFloor, type Status } from '../../tokens/token.ts'
import type { Connection } from './connection.ts'
import { matchExpression } from './grams.ts'
import { findToken, NEVER_USED, ownsSubAccount } from './reads.ts'

/** Which tokens a page holds, in its order, and the number of all matches. */
export interface Chosen {
  readonly ids: readonly string[]
  readonly total: number
}

/** Undefined when the query names a sub-account that is not the account's. */
export function chooseTokens(db: Connection, accountId: string, query: TokenQuery): Chosen | undefined {
  return db.snapshot(() => {
    const { subAccountId, status } = query
    if (subAccountId !== undefined && !ownsSubAccount(db, accountId, subAccountId)) return undefined
    if (query.search !== undefined || query.narrowing !== undefined) return sift(db, accountId, query)
    const total = countScope(db, subAccountId ?? accountId, status)
    return { ids: walk(db, accountId, query, total), total }
  })
}

export function listTokens(db: Connection, accountId: string, query: TokenQuery): Slice<TokenRow> | undefined {
  return db.snapshot(() => {
    const chosen = chooseTokens(db, accountId, query)
    const items = chosen?.ids.map((id) => findToken(db, accountId, id)).filter((row) => row !== undefined)
    return chosen && { items: items ?? [], total: chosen.total }
  })
}

/** The total on record of an account or a sub-account. */
export function countScope(db: Connection, scope: string, status: Status | undefined): number {
  const counted = db.get<{ n: number | null }>(
    `SELECT sum(count) AS n FROM token_counts WHERE scope = ?${status === undefined ? '' : ' AND status = ?'}`,
    ...[scope, ...(status === undefined ? [] : [status])],
  )
  return counted?.n ?? 0
}

/** Walks the index that holds just the wanted tokens in their order, from the nearer end. */
export function walk(db: Connection, accountId: string, query: TokenQuery, total: number): string[] {
  const { subAccountId, status, page, limit } = query
  const skip = (page - 1) * limit
  const take = Math.min(limit, total - skip)
  if (take <= 0) return []
  const backwards = skip > total / 2
  const found = db.tuples<[string]>(
    `SELECT id FROM tokens WHERE ${subAccountId === undefined ? 'account_id' : 'sub_account_id'} = ?
     ${status === undefined ? '' : 'AND status = ?'} ORDER BY id ${backwards ? 'ASC' : 'DESC'} LIMIT ? OFFSET ?`,
    ...[subAccountId ?? accountId, ...(status === undefined ? [] : [status])],
    ...[take, backwards ? total - skip - take : skip],
  )
  const ids = found.map(([id]) => id)
  return backwards ? ids.reverse() : ids
}

/** So many that a search finds are sooner put in order here than by SQLite. */
const FEW_MATCHES = 200

/** For what no index holds in its order: finds all matches by the index that narrows most, then puts them in order. */
function sift(db: Connection, accountId: string, query: TokenQuery): Chosen {
  const sought = query.search === undefined ? undefined : seek(query.search)
  if (query.search !== undefined && sought === undefined) return { ids: [], total: 0 }
  const { source, conditions, values } = siftBy(db, accountId, query, sought)
  const matches = `FROM ${source} WHERE ${conditions.join(' AND ')}`
  const { page, limit } = query
  const skip = (page - 1) * limit
  if (sought !== undefined) {
    const few = db.tuples<[string]>(`SELECT t.id ${matches} LIMIT ${FEW_MATCHES + 1}`, ...values)
    const ids = few.map(([id]) => id).sort()
    if (ids.length <= FEW_MATCHES) return { ids: ids.reverse().slice(skip, skip + limit), total: ids.length }
  }
  const found = db.all<{ id: string; total: number }>(
    `SELECT t.id, count(*) OVER () AS total ${matches} ORDER BY +t.id DESC LIMIT ? OFFSET ?`,
    ...[...values, limit, skip],
  )
  const first = found[0]
  if (first !== undefined) return { ids: found.map(({ id }) => id), total: first.total }
  const counted = page === 1 ? undefined : db.get<{ n: number }>(`SELECT count(*) AS n ${matches}`, ...values)
  return { ids: [], total: counted?.n ?? 0 }
}

function siftBy(db: Connection, accountId: string, query: TokenQuery, sought: Sought | undefined) {
  const { subAccountId, status, narrowing = {} } = query
  const account = db.get<{ no: number }>('SELECT no FROM accounts WHERE id = ?', accountId)
  const { createdFrom, createdBefore, expiresFrom, expiresBefore } = narrowing
  const filters = {
    'token_grams MATCH ?': sought && matchExpression(account?.no ?? 0, sought),
    't.account_id = ?': accountId,
    't.sub_account_id = ?': subAccountId,
    't.status = ?': status,
    'instr(t.folded_name, ?)': sought?.contains,
    't.id >= ?': createdFrom === undefined ? undefined : idFloor('tok', createdFrom),
    't.id < ?': createdBefore === undefined ? undefined : idFloor('tok', createdBefore),
    't.expires_at >= ?': expiresFrom,
    't.expires_at < ?': expiresBefore,
  }
  const given = Object.entries(filters).filter(([, value]) => value !== undefined)
  return {
    source: sought === undefined ? 'tokens t' : 'token_grams g CROSS JOIN tokens t ON t.no = g.rowid',
    conditions: [...given.map(([condition]) => condition), ...(narrowing.neverUsed ? [NEVER_USED] : [])],
    values: given.map(([, value]) => value as string | number),
  }
}
