// Pages of tokens: which ones they hold, in what order, and how many there are in all.
import { type Sought, seek } from '../../../tokens/model/grams.ts'
import type { Slice, TokenQuery } from '../../../tokens/model/page.ts'
import { idFloor, type Status } from '../../../tokens/model/token.ts'
import type { TokenRow } from '../../../tokens/store.ts'
import { type Connection, inTime } from '../connection.ts'
import { matchExpression } from './grams.ts'
import { ranksOn } from './ranks.ts'
import { findToken, NEVER_USED, ownsSubAccount, SUSPENDED } from './reads.ts'

/** Which tokens a page holds, in its order. */
export interface Places {
  readonly ids: readonly string[]
  /** The numbers of their rows: the shortest way to them, for as long as the account has the same tokens. */
  readonly nos: readonly number[]
}

/** And the number of all matches. */
export interface Chosen extends Places {
  readonly total: number
}

/** Undefined when the query names a sub-account that is not the account's. */
export function chooseTokens(db: Connection, accountId: string, query: TokenQuery): Chosen | undefined {
  return db.snapshot(() => {
    const { subAccountId, status } = query
    if (subAccountId !== undefined && !ownsSubAccount(db, accountId, subAccountId)) return undefined
    if (query.search !== undefined || query.narrowing !== undefined) return sift(db, accountId, query)
    const total = countScope(db, subAccountId ?? accountId, status)
    return { ...walk(db, accountId, query, total), total }
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

/** Index entries, some milliseconds of passing. */
const FAR = 20_000

/**
 * Walks the index that holds just the wanted tokens in their order, from the nearer end. A limit that is a bare parameter
 * makes SQLite plan the statement anew for every page: it looks at the value.
 */
export function walk(db: Connection, accountId: string, query: TokenQuery, total: number): Places {
  const { subAccountId, status, page, limit } = query
  const skip = (page - 1) * limit
  const take = Math.min(limit, total - skip)
  if (take <= 0) return NOWHERE
  const backwards = skip > total / 2
  const mark = isFar(query, skip, total) ? ranksOn(db).find(accountId, total - skip) : undefined
  if (mark !== undefined) {
    const near = db.tuples<Place>(
      'SELECT id, no FROM tokens WHERE account_id = ? AND id < ? ORDER BY id DESC LIMIT ? + 0 OFFSET ? + 0',
      ...[accountId, mark.id, take, mark.rank - (total - skip)],
    )
    return placesOf(near)
  }
  const found = db.tuples<Place>(
    `SELECT id, no FROM tokens WHERE ${subAccountId === undefined ? 'account_id' : 'sub_account_id'} = ?
     ${status === undefined ? '' : 'AND status = ?'} ORDER BY id ${backwards ? 'ASC' : 'DESC'} LIMIT ? + 0 OFFSET ? + 0`,
    ...[subAccountId ?? accountId, ...(status === undefined ? [] : [status])],
    ...[take, backwards ? total - skip - take : skip],
  )
  return placesOf(backwards ? found.reverse() : found)
}

/** Only the order of a whole account is marked. */
function isFar({ subAccountId, status }: TokenQuery, skip: number, total: number): boolean {
  return subAccountId === undefined && status === undefined && Math.min(skip, total - skip) > FAR
}

type Place = readonly [id: string, no: number]
const NOWHERE: Places = { ids: [], nos: [] }

function placesOf(found: readonly Place[]): Places {
  return { ids: found.map(([id]) => id), nos: found.map(([, no]) => no) }
}

/** So many that a search finds are sooner put in order here than by SQLite. */
const FEW_MATCHES = 200

/** For what no index holds in its order: finds all matches by the index that narrows most, then puts them in order. */
function sift(db: Connection, accountId: string, query: TokenQuery): Chosen {
  const sought = query.search === undefined ? undefined : seek(query.search)
  if (query.search !== undefined && sought === undefined) return { ...NOWHERE, total: 0 }
  const { source, conditions, values } = siftBy(db, accountId, query, sought)
  const matches = `FROM ${source} WHERE ${conditions.join(' AND ')}`
  const { page, limit } = query
  const skip = (page - 1) * limit
  if (sought !== undefined) {
    const few = db.tuples<Place>(`SELECT t.id, t.no ${matches} LIMIT ${FEW_MATCHES + 1}`, ...values)
    if (few.length <= FEW_MATCHES) {
      few.sort(([left], [right]) => (left < right ? 1 : -1))
      return { ...placesOf(few.slice(skip, skip + limit)), total: few.length }
    }
  }
  const found = db.tuples<[...Place, total: number]>(
    `SELECT t.id, t.no, count(*) OVER () AS total ${matches} ORDER BY +t.id DESC LIMIT ? OFFSET ?`,
    ...[...values, limit, skip],
  )
  const [first] = found
  if (first !== undefined) return { ...placesOf(found.map(([id, no]) => [id, no])), total: first[2] }
  const counted = page === 1 ? undefined : db.get<{ n: number }>(`SELECT count(*) AS n ${matches}`, ...values)
  return { ...NOWHERE, total: counted?.n ?? 0 }
}

function siftBy(db: Connection, accountId: string, query: TokenQuery, sought: Sought | undefined) {
  const { subAccountId, status, narrowing = {} } = query
  const account = db.get<{ no: number }>('SELECT no FROM accounts WHERE id = ?', accountId)
  const { createdFrom, createdBefore, expiresFrom, expiresBefore, unexpiredAt, suspended } = narrowing
  const filters = {
    'token_grams MATCH ?': sought && matchExpression(account?.no ?? 0, sought),
    // The tokens of the few suspended sub-accounts are found by sub-account, not among all of the account's.
    [suspended ? '+t.account_id = ?' : 't.account_id = ?']: accountId,
    't.sub_account_id = ?': subAccountId,
    't.status = ?': status,
    'instr(t.folded_name, ?)': sought?.contains,
    't.id >= ?': createdFrom === undefined ? undefined : idFloor('tok', createdFrom),
    't.id < ?': createdBefore === undefined ? undefined : idFloor('tok', createdBefore),
    't.expires_at >= ?': expiresFrom,
    't.expires_at < ?': expiresBefore,
    '(t.expires_at IS NULL OR t.expires_at > ?)': unexpiredAt,
    [`t.sub_account_id IN ${SUSPENDED}`]: suspended === true ? accountId : undefined,
    [`t.sub_account_id NOT IN ${SUSPENDED}`]: suspended === false ? accountId : undefined,
  }
  const given = Object.entries(filters).filter(([, value]) => value !== undefined)
  return {
    source: sought === undefined ? 'tokens t' : 'token_grams g CROSS JOIN tokens t ON t.no = g.rowid',
    conditions: [
      ...given.map(([condition]) => condition),
      ...(narrowing.neverUsed ? [NEVER_USED] : []),
      inTime('t.no'),
    ],
    values: given.map(([, value]) => value as string | number),
  }
}
