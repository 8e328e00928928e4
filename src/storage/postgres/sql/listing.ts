// Pages of tokens: one statement, so that a page and its total are of one snapshot and one round trip.
import { type Chosen, type ChosenTokens, inParts, MAX_BULK_TOKENS } from '../../../tokens/bulk/bulk.ts'
import { type Sought, seek } from '../../../tokens/model/name-grams.ts'
import {
  inOrder,
  MAX_BY_USE,
  MAX_LIMIT,
  type OrderedQuery,
  requireFewByUse,
  type Slice,
  type Sort,
  type TokenQuery,
} from '../../../tokens/model/page.ts'
import { foldCase } from '../../../tokens/model/token.ts'
import type { TokenRow } from '../../../tokens/service/ports.ts'
import { LISTED } from '../../columns.ts'
import { Values } from '../../questions/statements.ts'
import { areMany, directionOf, orderOf, tokenFilters } from '../../questions/token-filters.ts'
import type { Connection } from '../postgres-connection.ts'
import type { Answer } from '../protocol/batch.ts'
import { POSTGRES } from './dialect.ts'
import { matchExpression } from './grams.ts'

/** Rows that a short read may skip. */
const SHORT_WAY = 1_000

/** Whether no index has the list in its order: all matches are found, and then put in order. */
function mustSort({ search, narrowing, subAccountId, status, sort }: OrderedQuery): boolean {
  if (search !== undefined || narrowing !== undefined) return true
  if (sort.by === 'createdAt') return false
  return sort.by === 'lastUsedAt' || subAccountId !== undefined || status !== undefined
}

/** Whether the page is found quickly: in the order of creation, no search, no filter without an index, no deep page. */
export function isShort(asked: TokenQuery): boolean {
  const query = inOrder(asked)
  const { page, limit, sort } = query
  return !mustSort(query) && sort.by === 'createdAt' && page * limit <= SHORT_WAY
}

export async function listTokens(
  db: Connection,
  accountId: string,
  asked: TokenQuery,
  isPartitioned: boolean,
): Promise<Slice<TokenRow> | undefined> {
  const query = inOrder(asked)
  const values = new Values(POSTGRES.sign)
  const { sort } = query
  const byIndex = sort.by === 'createdAt' ? pageByIndex : pageInOrder
  const write = mayMatchMuch(query) ? passOrSort : mustSort(query) ? filterAndSort : byIndex
  const page = write(values, accountId, query, isPartitioned)
  const account = values.add(accountId)
  const owned =
    query.subAccountId === undefined
      ? 'true'
      : `EXISTS (SELECT FROM sub_accounts WHERE id = ${values.add(query.subAccountId)} AND account_id = ${account})`
  const found = await db.read(
    `WITH ${page}
     SELECT counted.total, ${owned} AS owned, ${LISTED.columns} FROM counted LEFT JOIN (
       chosen JOIN tokens t ON t.id = chosen.id AND t.account_id = ${account}
       JOIN sub_accounts s ON s.id = t.sub_account_id
     ) ON true ORDER BY ${orderOf(sort, 'chosen.key', 't.id')}`,
    values.list,
  )
  const slice = toListedSlice(db, found)
  requireFewByUse(query, slice?.total ?? 0)
  return slice
}

const OF_TOKEN = 2

/** Each row has the total and `owned`, then the columns of a token, which are null for an empty page. */
function toListedSlice(db: Connection, { rows: found, columns }: Answer): Slice<TokenRow> | undefined {
  const [total, owned] = found[0] ?? []
  if (owned !== 't') return undefined
  const full = found.filter((fields) => fields[OF_TOKEN] !== null)
  return { items: full.map((fields) => db.remembered.listed.get(fields, columns, OF_TOKEN)), total: Number(total) }
}

/**
 * The outer limit tells the planner that `chosen` has few rows: it does not know the value of an inner one, and would read whole tables
 * to join them.
 */
const choose = (page: string) => `chosen AS MATERIALIZED (SELECT * FROM (${page}) AS few LIMIT ${MAX_LIMIT})`

/** What of a list is wanted, unless it is all of it, with the stored total. */
interface Part {
  /** Statements in front of the others. */
  readonly before: string
  readonly total: string
  /** Of tokens. */
  readonly condition: string
  /** Another statement with tokens of the page. */
  readonly others: string
}

/** By creation: reads the index that holds just the wanted tokens in their order, from the nearer end. */
function pageByIndex(
  values: Values,
  accountId: string,
  { subAccountId, status, page, limit, sort }: OrderedQuery,
  isPartitioned: boolean,
  part?: Part,
): string {
  const scope = values.add(subAccountId ?? accountId)
  const ofScope = subAccountId === undefined ? `account_id = ${scope}` : `sub_account_id = ${scope}`
  // To find the partition. Elsewhere it is left out: the index lacks the account, and the rows would have to be read.
  const inPartition = isPartitioned && subAccountId !== undefined ? `AND account_id = ${values.add(accountId)}` : ''
  const withStatus = status === undefined ? '' : `AND status = ${values.add(status)}`
  const take = `${values.add(limit)}::bigint`
  const skip = `${values.add((page - 1) * limit)}::bigint`
  const wanted = `SELECT id FROM tokens
    WHERE ${ofScope} ${inPartition} ${withStatus} ${part?.condition ?? ''}`
  const stored = `SELECT coalesce(sum(count), 0)::bigint AS total FROM token_counts WHERE scope = ${scope} ${withStatus}`
  const [order, reverse] = sort.isDescending ? ['DESC', 'ASC'] : ['ASC', 'DESC']
  return `
    ${part?.before ?? ''}
    counted AS (${part?.total ?? stored}),
    page AS (
      SELECT total, ${skip} > total / 2 AS backwards, least(${take}, greatest(total - ${skip}, 0)) AS take FROM counted
    ),
    ${choose(`
      (${wanted} ORDER BY id ${order} LIMIT (SELECT CASE WHEN backwards THEN 0 ELSE take END FROM page) OFFSET ${skip})
      UNION ALL
      (${wanted} ORDER BY id ${reverse} LIMIT (SELECT CASE WHEN backwards THEN take ELSE 0 END FROM page)
        OFFSET (SELECT greatest(total - ${skip} - take, 0) FROM page))
      ${part?.others ?? ''}`)}`
}

/** Reads the index that has all tokens of the account in the order of the list. */
function pageInOrder(values: Values, accountId: string, { page, limit, sort }: OrderedQuery): string {
  const [account, direction] = [values.add(accountId), directionOf(sort)]
  const [take, skip] = [`${values.add(limit)}::bigint`, `${values.add((page - 1) * limit)}::bigint`]
  const counted = `counted AS (
      SELECT coalesce(sum(count), 0)::bigint AS total FROM token_counts WHERE scope = ${account}
    )`
  if (sort.by === 'name') {
    return `${counted}, ${choose(
      `SELECT token_id AS id, folded_name AS key FROM token_search WHERE account_id = ${account}
       ORDER BY folded_name ${direction}, token_id ${direction} LIMIT ${take} OFFSET ${skip}`,
    )}`
  }
  // Backwards, the index begins with the tokens that never expire. Both parts are read as far as the page.
  const part = (condition: string) => `
    (SELECT id, expires_at AS key FROM tokens WHERE account_id = ${account} AND expires_at ${condition}
     ORDER BY expires_at ${direction}, id ${direction} LIMIT ${skip} + ${take})`
  return `${counted}, ${choose(
    `SELECT * FROM (${part('IS NOT NULL')} UNION ALL ${part('IS NULL')}) AS parts
     ORDER BY ${orderOf(sort, 'key', 'id')} LIMIT ${take} OFFSET ${skip}`,
  )}`
}

/** All that a query matches. */
function matchesOf(values: Values, accountId: string, query: TokenQuery) {
  const { search, narrowing } = query
  const sought = search === undefined ? undefined : seek(search)
  // The search table has these columns itself; only the other filters need the tokens table.
  const from = search === undefined ? 't' : 'f'
  const conditions = tokenFilters(POSTGRES, values, accountId, query, from)
  if (sought !== undefined) {
    // Of a few that are given: the index would be read for all that have the name.
    const isIndexed = narrowing?.ids === undefined
    conditions.push(isIndexed ? searched(values, accountId, sought) : compared(values, query))
  } else if (search !== undefined) conditions.push('false')
  const sources = {
    t: 'tokens t',
    f:
      narrowing === undefined
        ? 'token_search f'
        : 'token_search f JOIN tokens t ON t.account_id = f.account_id AND t.id = f.token_id',
  }
  const id = search === undefined ? 't.id' : 'f.token_id'
  return { id, matches: `FROM ${sources[from]} WHERE ${conditions.join(' AND ')}` }
}

/** What a bulk operation is about. */
export async function chooseBulk(
  db: Connection,
  accountId: string,
  query: TokenQuery,
): Promise<ChosenTokens | undefined> {
  const found = await matchTokens(db, accountId, query)
  return found && inParts(found)
}

/** Without pages, by their ids. Undefined when the query names a sub-account that is not the account's. */
export async function matchTokens(
  db: Connection,
  accountId: string,
  query: TokenQuery,
): Promise<readonly Chosen[] | undefined> {
  const values = new Values(POSTGRES.sign)
  // With a narrowing, the tokens themselves are joined, which have the version.
  const { matches } = matchesOf(values, accountId, { ...query, narrowing: query.narrowing ?? {} })
  const [found, owned] = await Promise.all([
    db.tuples(`SELECT t.id, t.version ${matches} LIMIT ${MAX_BULK_TOKENS + 1}`, ...values.list),
    query.subAccountId === undefined
      ? [true]
      : db.tuples('SELECT 1 FROM sub_accounts WHERE id = $1 AND account_id = $2', query.subAccountId, accountId),
  ])
  if (owned.length === 0) return undefined
  // Sorted here: the sort of a plan for any values would be made of the whole account.
  return (found as unknown as Chosen[]).sort(([one], [other]) => (one < other ? -1 : 1))
}

function compared(values: Values, { search = '' }: TokenQuery): string {
  return POSTGRES.contains('f.folded_name', values.add(foldCase(search)))
}

/** An array is compared within the index; a look-up for each match would take up to twice as long. */
const ANY_MATCH = 'ANY(ARRAY(SELECT id FROM matches))'

/** Matches with the keys by which they are put in order. */
function keyed(values: Values, accountId: string, { by }: Sort): string {
  switch (by) {
    case 'createdAt':
      return 'SELECT id FROM matches'
    case 'name':
      return `SELECT token_id AS id, folded_name AS key FROM token_search
        WHERE account_id = ${values.add(accountId)} AND token_id = ${ANY_MATCH}`
    case 'expiresAt':
      return `SELECT id, expires_at AS key FROM tokens WHERE account_id = ${values.add(accountId)} AND id = ${ANY_MATCH}`
    case 'lastUsedAt':
      // Not joined: PostgreSQL does not know how many of them were used.
      return `SELECT id, max(key) AS key FROM (
        SELECT token_id AS id, at AS key FROM last_used WHERE token_id = ${ANY_MATCH}
        UNION ALL SELECT id, NULL FROM matches
      ) AS used GROUP BY id`
  }
}

/** For what no index holds in its order: finds all matches by the most selective index, then sorts them. */
function filterAndSort(values: Values, accountId: string, query: OrderedQuery): string {
  const { page, limit, sort } = query
  const { id, matches } = matchesOf(values, accountId, query)
  return `
    matches AS MATERIALIZED (
      SELECT ${id} AS id ${matches} ${sort.by === 'lastUsedAt' ? `LIMIT ${MAX_BY_USE + 1}` : ''}
    ),
    counted AS (SELECT count(*) AS total FROM matches),
    ${choose(
      `SELECT * FROM (${keyed(values, accountId, sort)}) AS keyed
       ORDER BY ${orderOf(sort, 'key', 'id')} LIMIT ${values.add(limit)} OFFSET ${values.add((page - 1) * limit)}`,
    )}`
}

/** Whether its matches can be very many, and be found in the order of an index. */
function mayMatchMuch({ search, narrowing, sort }: OrderedQuery): boolean {
  return search !== undefined && seek(search) !== undefined && narrowing === undefined && sort.by === 'createdAt'
}

/**
 * A search that matches much by a pass over the names of the account for the total, and another one over its list as far as the page. The
 * matches of any other are found by the index of grams, and sorted. One name in 256 says what the search is; the statement has both ways,
 * and carries out one of them.
 */
function passOrSort(values: Values, accountId: string, query: OrderedQuery, isPartitioned: boolean): string {
  const { search = '', subAccountId, status, page, limit, sort } = query
  const { id, matches } = matchesOf(values, accountId, query)
  const account = values.add(accountId)
  const scope = subAccountId === undefined ? account : values.add(subAccountId)
  const contains = POSTGRES.contains('folded_name', values.add(foldCase(search)))
  const ofStatus = values.conditions([[status, (parameter) => `AND status = ${parameter}`]]).join('')
  const owned = subAccountId === undefined ? '' : `AND sub_account_id = ${scope}`
  const isMuch = '(SELECT is_much FROM sampled)'
  const hasName = `(SELECT ${contains} FROM token_search WHERE account_id = ${account} AND token_id = tokens.id)`
  const countIn = (table: string, conditions: string) =>
    `(SELECT count(*) FROM ${table} WHERE account_id = ${account} ${owned} ${ofStatus} AND ${conditions})`
  const stored = (of: string, ofThose: string) =>
    `(SELECT coalesce(sum(count), 0) FROM token_counts WHERE scope = ${of} ${ofThose})`
  return pageByIndex(values, accountId, query, isPartitioned, {
    before: `
      sampled AS MATERIALIZED (
        SELECT count(*) > 0 AND ${areMany(`count(*) FILTER (WHERE ${contains})`, 'count(*)')} AS is_much
        FROM token_search WHERE account_id = ${account} AND substr(token_id, 31) = '00'
      ),
      matches AS MATERIALIZED (SELECT ${id} AS id ${matches} AND NOT ${isMuch}),`,
    // A name that is compared for each row of few, such as those of a sub-account, or within an index of all names.
    total: `SELECT CASE WHEN NOT ${isMuch} THEN (SELECT count(*) FROM matches)
      WHEN ${areMany(stored(scope, ofStatus), stored(account, ''))} THEN ${countIn('token_search', contains)}
      ELSE ${countIn('tokens', hasName)} END AS total`,
    condition: `AND ${isMuch} AND ${hasName}`,
    others: `UNION ALL (SELECT id FROM matches ORDER BY ${orderOf(sort, 'key', 'id')}
      LIMIT ${values.add(limit)} OFFSET ${values.add((page - 1) * limit)})`,
  })
}

/** By parts of the name. */
function searched(values: Values, accountId: string, sought: Sought): string {
  const { contains } = sought
  const grams = `f.grams @@ ${values.add(matchExpression(accountId, sought))}::tsquery`
  return contains === undefined ? grams : `${grams} AND strpos(f.folded_name, ${values.add(contains)}) > 0`
}
