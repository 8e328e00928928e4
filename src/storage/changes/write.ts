// A change without history is one row of a table: its statement, unless each engine makes it in its own way, and in whose turn it is made.
import type { Own } from '../questions/question.ts'
import type { Dialect } from '../questions/statements.ts'

interface Turn<Args extends readonly unknown[], Answer> {
  /** An account, or something else that takes turns; empty for nobody. */
  readonly turn: (...args: Args) => string
  /** Of many requests together: it ends with none of them. */
  readonly isShared: boolean
  readonly asks?: (...args: Args) => Answer
}

/** One statement, in the words of each dialect. */
export interface Statement<Args extends readonly unknown[], Answer> extends Turn<Args, Answer> {
  readonly sql: (dialect: Dialect) => string
  readonly values: (...args: Args) => readonly (string | number)[]
  readonly read: (changed: number) => Answer
}

/** Its first argument takes turns. */
export function statement<Args extends readonly [name: string, ...rest: unknown[]], Answer>(
  sql: (dialect: Dialect) => string,
  values: (...args: Args) => readonly (string | number)[],
  read: (changed: number) => Answer,
): Statement<Args, Answer> {
  return { sql, values, read, turn: (...[name]) => name, isShared: false }
}

/** As an interface of the domain has it. */
export function own<Asks extends (...args: never[]) => unknown>(
  turn: (...args: Parameters<Asks>) => string = () => '',
  isShared = false,
): Turn<Parameters<Asks>, Awaited<ReturnType<Asks>>> & Own {
  return { isOwn: true, turn, isShared }
}
