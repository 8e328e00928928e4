// A question to the store is one row of a table: its query, its lane, and whose it is. Both engines build their methods from the rows.
import type { Dialect, Question, Rows, SharedSql } from './statements.ts'
import { sharedSql } from './statements.ts'

/**
 * How a question is asked:
 *
 * - `identity`: who calls, and what verification decides by. Neither a former primary answers it, nor a store that may lack revocations.
 * - `current`: not answered by a former primary either. Of many requests together: it ends with none of them.
 * - `short`: finds a few rows by an index.
 * - `long`: may take longer. Accounts take turns.
 * - `upkeep`: the same for no request: it has no part in its deadline.
 */
export type Lane = 'identity' | 'current' | 'short' | 'long' | 'upkeep'

/** Asked in the same words of both engines. */
export interface Query<Args extends readonly unknown[], Answer> extends SharedSql {
  readonly values: (...args: Args) => (string | number | Uint8Array)[]
  readonly read: (rows: Rows) => Answer
}

/** Put together for what is asked. */
export type Built<Args extends readonly unknown[], Answer> = (dialect: Dialect, ...args: Args) => Question<Answer>

/** Two queries with the same arguments make one answer. */
export interface Both<Args extends readonly unknown[], Answer> {
  readonly both: readonly [Query<Args, unknown>, Query<Args, unknown>]
  readonly join: (one: unknown, other: unknown) => Answer
}

export type Asked<Args extends readonly unknown[], Answer> =
  | Query<Args, Answer>
  | Built<Args, Answer>
  | Both<Args, Answer>

interface Way<Args extends readonly unknown[]> {
  readonly lane: Lane | ((...args: Args) => 'short' | 'long')
  /** In whose turn it is asked, where accounts take turns: empty for no account's. */
  readonly account: (...args: Args) => string
}

export interface Row<Args extends readonly unknown[], Answer> extends Way<Args> {
  readonly query: Asked<Args, Answer>
}

/** Each engine asks it in its own way. */
export interface OwnRow<Args extends readonly unknown[], Answer> extends Way<Args> {
  readonly query: undefined
  readonly asks?: (...args: Args) => Answer
}

export function query<Args extends readonly unknown[], Answer>(
  values: Query<Args, Answer>['values'],
  sql: string,
  read: (rows: Rows) => Answer,
): Query<Args, Answer> {
  return { ...sharedSql(sql), values, read }
}

export function both<Args extends readonly unknown[], One, Other, Answer>(
  one: Query<Args, One>,
  other: Query<Args, Other>,
  join: (one: One, other: Other) => Answer,
): Both<Args, Answer> {
  return { both: [one, other], join: join as Both<Args, Answer>['join'] }
}

const NOBODY = () => ''

const inLane =
  (lane: Lane) =>
  <Args extends readonly unknown[], Answer>(query: Asked<Args, Answer>): Row<Args, Answer> => ({
    query,
    lane,
    account: NOBODY,
  })
export const identity = inLane('identity')
export const current = inLane('current')
export const short = inLane('short')
export const upkeep = inLane('upkeep')

/** Its first argument is the account. */
export function long<Args extends readonly [accountId: string, ...rest: unknown[]], Answer>(
  query: Asked<Args, Answer>,
  lane: Row<Args, Answer>['lane'] = 'long',
): Row<Args, Answer> {
  return { query, lane, account: (...[accountId]) => accountId }
}

type Method = (...args: never[]) => unknown

/** A question as an interface of the domain has it. */
export function own<Asks extends Method>(
  lane: Lane,
  account: (...args: Parameters<Asks>) => string = NOBODY,
): OwnRow<Parameters<Asks>, Awaited<ReturnType<Asks>>> {
  return { query: undefined, lane, account }
}

// biome-ignore lint/suspicious/noExplicitAny: a table has rows of all kinds
export type AnyRow = Row<any, any> | OwnRow<any, any>
type Table = Readonly<Record<string, AnyRow>>

/** The methods of a store that ask these questions. */
export type Methods<Rows extends Table> = {
  readonly [Name in keyof Rows]: Rows[Name] extends Row<infer Args, infer Answer> | OwnRow<infer Args, infer Answer>
    ? (...args: Args) => Promise<Answer>
    : never
}

/** Built once, when a store is opened. */
export function methodsOf<Rows extends Table>(
  rows: Rows,
  lanes: Readonly<Record<Lane, (name: string, row: AnyRow) => Method>>,
): Methods<Rows> {
  const method = (name: string, row: AnyRow): Method => {
    const { lane } = row
    if (typeof lane !== 'function') return lanes[lane](name, row)
    const ways = { short: lanes.short(name, row), long: lanes.long(name, row) }
    return (...args: never[]) => ways[lane(...args)](...args)
  }
  return Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, method(name, row)])) as Methods<Rows>
}
