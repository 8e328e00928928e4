// A question to the store is one row of a table: its query, its lane, and whose it is. Both engines build their methods from the rows.
import type { Dialect, Question, Rows, SharedSql } from './statements.ts'
import { sharedSql } from './statements.ts'

/**
 * How a question is asked:
 *
 * - `identity`: who calls, and what verification decides by. Neither a former primary answers it, nor a store that may lack revocations.
 * - `current`: not answered by a former primary either. One call may serve several requests, so none of them ends it.
 * - `short`: finds a few rows by an index.
 * - `long`: may take longer. Accounts take turns.
 * - `upkeep`: may take longer too, and belongs to no request, whose deadline would end it.
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
  readonly both: readonly [Asked<Args, unknown>, Asked<Args, unknown>]
  readonly join: (one: unknown, other: unknown) => Answer
}

export type Asked<Args extends readonly unknown[], Answer> =
  | Query<Args, Answer>
  | Built<Args, Answer>
  | Both<Args, Answer>

/** What the method of a store takes and answers: a type only. */
interface Named<Args extends readonly unknown[], Answer> {
  readonly asks?: (...args: Args) => Answer
}

interface Way<Args extends readonly unknown[], Answer> extends Named<Args, Answer> {
  readonly lane: Lane | ((...args: Args) => 'short' | 'long')
  /** In whose turn it is asked, where accounts take turns: empty for no account's. */
  readonly account: (...args: Args) => string
}

export interface Row<Args extends readonly unknown[], Answer> extends Way<Args, Answer> {
  readonly query: Asked<Args, Answer>
}

/** Each engine has its own way. */
export interface Own {
  readonly isOwn: true
}

export function query<Args extends readonly unknown[], Answer>(
  values: Query<Args, Answer>['values'],
  sql: string,
  read: (rows: Rows) => Answer,
): Query<Args, Answer> {
  return { ...sharedSql(sql), values, read }
}

export function both<Args extends readonly unknown[], One, Other, Answer>(
  one: Asked<Args, One>,
  other: Asked<Args, Other>,
  join: (one: One, other: Other) => Answer,
): Both<Args, Answer> {
  return { both: [one, other], join: join as Both<Args, Answer>['join'] }
}

const NOBODY = () => ''

/** A query, or what one is made of. */
interface InLane {
  <Args extends readonly unknown[], Answer>(query: Asked<Args, Answer>): Row<Args, Answer>
  <Args extends readonly unknown[], Answer>(...of: Parameters<typeof query<Args, Answer>>): Row<Args, Answer>
}

function inLane(lane: Lane): InLane {
  return <Args extends readonly unknown[], Answer>(
    ...asked: [Asked<Args, Answer>] | Parameters<typeof query<Args, Answer>>
  ): Row<Args, Answer> => ({ query: asked.length === 1 ? asked[0] : query(...asked), lane, account: NOBODY })
}

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
): Way<Parameters<Asks>, Awaited<ReturnType<Asks>>> & Own {
  return { isOwn: true, lane, account }
}

// biome-ignore lint/suspicious/noExplicitAny: a table has rows of all kinds
type Table = Readonly<Record<string, Named<any, any> & Partial<Own>>>

/** The methods of a store, by the rows of a table. */
export type Methods<Rows extends Table> = {
  readonly [Name in keyof Rows]: Rows[Name] extends Named<infer Args, infer Answer>
    ? (...args: Args) => Promise<Answer>
    : never
}

/** What an engine does for them, on one of its connections or in one of its transactions. */
export type On<Target, Answers extends 'at once' | 'later', Rows extends Table> = {
  readonly [Name in keyof Rows]: Rows[Name] extends Named<infer Args, infer Answer>
    ? (target: Target, ...args: Args) => Answers extends 'later' ? Promise<Answer> : Answer
    : never
}

type OwnNames<Rows extends Table> = {
  readonly [Name in keyof Rows]: Rows[Name] extends Own ? Name : never
}[keyof Rows]

/** `shared` does what both engines do in the same words, unless this one is faster in its own. */
export function on<Target, Answers extends 'at once' | 'later', Rows extends Table>(
  rows: Rows,
  shared: (row: never) => (target: Target, ...args: never[]) => unknown,
  own: Pick<On<Target, Answers, Rows>, OwnNames<Rows>> & Partial<On<Target, Answers, Rows>>,
): On<Target, Answers, Rows> {
  const found = Object.entries(rows).flatMap(([name, row]) => (row.isOwn ? [] : [[name, shared(row as never)]]))
  return { ...Object.fromEntries(found), ...own }
}

// biome-ignore lint/suspicious/noExplicitAny: of any question
export type AnyWay = Way<any, any>

/** Built once, when a store is opened. */
export function methodsOf<Rows extends Readonly<Record<string, AnyWay>>>(
  rows: Rows,
  lanes: Readonly<Record<Lane, (name: string, way: AnyWay) => Method>>,
): Methods<Rows> {
  const method = (name: string, way: AnyWay): Method => {
    const { lane } = way
    if (typeof lane !== 'function') return lanes[lane](name, way)
    const ways = { short: lanes.short(name, way), long: lanes.long(name, way) }
    return (...args: never[]) => ways[lane(...args)](...args)
  }
  return Object.fromEntries(Object.entries(rows).map(([name, way]) => [name, method(name, way)])) as Methods<Rows>
}
