// Statements for both engines: their values, what the engines write differently, and pages.

import { IMPORTED } from '../../tokens/history/history.ts'
import type { ListPart, PageRequest, PartRequest, Slice } from '../../tokens/model/page.ts'

export type Rows = readonly (readonly unknown[])[]

/** A statement that both engines run in the same words. `?1` is the first parameter, which PostgreSQL writes `$1`. */
export interface SharedSql {
  readonly sql: string
  /** The same as PostgreSQL writes it. */
  readonly postgresSql: string
}

export const sharedSql = (sql: string): SharedSql => ({ sql, postgresSql: sql.replaceAll('?', '$') })

export type Value = string | number | Uint8Array | readonly string[] | readonly number[]

/** A statement with its values, and how its answer is read. */
export interface Question<Answer> {
  readonly sql: string
  readonly values: readonly Value[]
  readonly read: (rows: Rows) => Answer
}

/** What the engines write differently. Arguments are parts of a statement: columns, parameters, statements. */
export interface Dialect {
  /** `?1` or `$1` is the first parameter. */
  readonly sign: '?' | '$'
  /** `strings` is the parameter for an array. */
  among(column: string, strings: string): string
  /** The same of integers. */
  amongNumbers(column: string, numbers: string): string
  oneOf(column: string, statement: string): string
  /** A column by which SQLite must not choose an index: it does not know that another one finds fewer rows. */
  withoutIndex(column: string): string
  contains(column: string, text: string): string
  /** Tokens `t` with their sub-accounts `s`. */
  readonly tokensWithOwners: string
  /** Of a token, by its alias in the statement. */
  foldedName(alias: string): string
  /** `four` is the parameter for as many characters. There is an index on this expression. */
  endsWith(column: string, four: string): string
  /** Joins the rows of a table that match, looked up for each row before it, and ends with a condition. */
  joinEach(table: string, conditions: string): string
  /** Ends a long statement at its deadline, where the server does not. `number` is an integer that differs between rows. */
  inTime(number: string): string
  /** An account key that is limited to sub-accounts, all of them among those given. */
  seesOnly(ids: string): string
  /** The sub-account of a token, from the row of its creation. There is an index on this expression. */
  subAccountOf(facts: string): string
  /** The facts of a row of history as text, without those that could contain any text as a key. */
  withoutMetadata(facts: string): string
  /** The clock of the database, which all processes share, in milliseconds. */
  readonly now: string
  /** The least id of a token made at a time, as `idFloor` has it. */
  tokenIdFloor(time: string): string
  /** In seconds, of a sub-account; null without one, also for a policy that was altered: its tokens are refused anyway. */
  readonly maxLifetime: string
}

/** A statement's values, collected while its text is written. */
export class Values {
  readonly list: Value[] = []
  readonly #sign: Dialect['sign']

  constructor(sign: Dialect['sign']) {
    this.#sign = sign
  }

  /** Returns the parameter that stands for the value in the text. */
  add(value: Value): string {
    this.list.push(value)
    return `${this.#sign}${this.list.length}`
  }

  /** The conditions whose values are given. */
  conditions(filters: readonly [Value | null | undefined, (parameter: string) => string][]): string[] {
    return filters.flatMap(([value, write]) => (value === undefined || value === null ? [] : [write(this.add(value))]))
  }
}

type ReadRow<Row> = (values: readonly unknown[], from: number) => Row

/** Each row has the total, then the columns of an item, which are null for an empty page. */
export function toSlice<Row>(found: Rows, read: ReadRow<Row>): Slice<Row> {
  const items = found.filter(([, first]) => first !== null).map((values) => read(values, 1))
  return { items, total: Number(found[0]?.[0] ?? 0) }
}

interface Listing<Row> {
  readonly table: string
  readonly conditions: readonly string[]
  /** The rows with the largest values of this column are first. */
  readonly order: string
  /** Unless the smallest are. */
  readonly isAscending?: boolean
  /** The rows of the page have the alias `item`. */
  readonly columns: string
  readonly read: ReadRow<Row>
}

export function pageOf<Row>(values: Values, { page, limit }: PageRequest, listing: Listing<Row>): Question<Slice<Row>> {
  const { table, conditions, order, isAscending, columns, read } = listing
  const direction = isAscending ? 'ASC' : 'DESC'
  const matches = `FROM ${table} WHERE ${conditions.join(' AND ')}`
  const [take, skip] = [values.add(limit), values.add((page - 1) * limit)]
  return {
    sql: `SELECT counted.total, ${columns} FROM (SELECT count(*) AS total ${matches}) AS counted LEFT JOIN (
        SELECT * ${matches} ORDER BY account_id ${direction}, ${order} ${direction} LIMIT ${take} OFFSET ${skip}
      ) AS item ON true ORDER BY item.${order} ${direction}`,
    values: values.list,
    read: (rows) => toSlice(rows, read),
  }
}

/** A range, in the order of the account: PostgreSQL would read the rows of all accounts in the order of their ids. */
export const ofAccount = (account: string) => `account_id BETWEEN ${account} AND ${account}`

/**
 * Whether a row of the history is an event. What was imported is recognised by the end of its facts: metadata that look like it end
 * before that.
 */
export const isEvent = (row: string): string =>
  `(${row}.action <> 'token.create' OR ${row}.to_facts NOT LIKE '%,"reason":"${IMPORTED}"}')`

interface Looking<Row> {
  readonly table: string
  /** Which rows are looked at: an index has just these, in the order of their ids. */
  readonly scope: readonly string[]
  readonly order: string
  /** The row has the alias `t`. */
  readonly conditions: readonly string[]
  readonly joins?: string
  /** The first one is null for a row that does not match. */
  readonly columns: string
  readonly read: ReadRow<Row>
}

/** The order of most lists. */
export const ID_ORDER = 'account_id DESC, id DESC'

/**
 * A part of a list that is read to its end. It looks at a fixed number of rows in the order of the list and returns those that match, so that
 * it costs the same whatever the filters are.
 */
export function partOf<Row>(
  values: Values,
  { before, size }: PartRequest,
  looking: Looking<Row>,
): Question<ListPart<Row>> {
  const { table, scope, order, conditions, joins = '', columns, read } = looking
  const wanted = [...scope, ...values.conditions([[before, (parameter) => `id < ${parameter}`]])]
  return {
    sql: `WITH looked AS MATERIALIZED (
        SELECT id AS looked_at FROM ${table} WHERE ${wanted.join(' AND ')} ORDER BY ${order} LIMIT ${values.add(size)}
      )
      SELECT looked_at, ${columns} FROM looked
      LEFT JOIN ${table} t ON ${['t.id = looked_at', ...conditions].join(' AND ')} ${joins} ORDER BY looked_at DESC`,
    values: values.list,
    read: (rows) => ({
      rows: rows.filter(([, first]) => first !== null).map((row) => read(row, 1)),
      next: rows.length < size ? undefined : (rows.at(-1)?.[0] as string),
    }),
  }
}
