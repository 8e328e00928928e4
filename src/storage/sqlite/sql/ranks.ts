// Where every few thousandth token of an account stands in its order, so that a page from the middle of a million is
// not reached by passing half of them. Kept in memory, and moved along by what the history says was made or deleted.
import { Recent } from '../../../tokens/recent.ts'
import type { Connection } from '../connection.ts'
import { type Happened, SqliteChanges } from '../memory/changes.ts'

const STEP = 5_000
/** Accounts; one of a million tokens has 200 marks. */
const ACCOUNTS = 50

interface Mark {
  readonly id: string
  /** How many tokens of the account have a smaller id, whether or not one still has this. */
  rank: number
}

const known = new WeakMap<Connection, Ranks>()

/** Those of one connection, as of its present snapshot. */
export function ranksOn(db: Connection): Ranks {
  const ranks = known.get(db) ?? new Ranks(db)
  known.set(db, ranks)
  return ranks
}

export class Ranks {
  readonly #db: Connection
  readonly #changes: SqliteChanges
  readonly #step: number
  #accounts = new Recent<string, Mark[]>(ACCOUNTS)

  constructor(db: Connection, step = STEP) {
    this.#db = db
    this.#step = step
    this.#changes = new SqliteChanges(db, (happened) => this.#follow(happened))
  }

  /** The nearest mark that has at least so many tokens before it; undefined near the newest end, where none stands. */
  find(accountId: string, rank: number): Readonly<Mark> | undefined {
    this.#changes.look()
    const marks = this.#accounts.get(accountId) ?? []
    this.#accounts.set(accountId, marks)
    this.#extend(accountId, marks)
    return marks.find((mark) => mark.rank >= rank)
  }

  /** Up to the newest token, for the first time or after many were made. */
  #extend(accountId: string, marks: Mark[]): void {
    for (;;) {
      const last = marks.at(-1) ?? { id: '', rank: 0 }
      const next = this.#db.tuple<[string]>(
        'SELECT id FROM tokens WHERE account_id = ? AND id >= ? ORDER BY id LIMIT 1 OFFSET ?',
        ...[accountId, last.id, this.#step],
      )
      if (next === undefined) return
      marks.push({ id: next[0], rank: last.rank + this.#step })
    }
  }

  #follow(happened: Happened): void {
    if (happened === 'anything') {
      this.#accounts = new Recent(ACCOUNTS)
      return
    }
    const { accountId, action, subject } = happened
    const by = { 'token.create': 1, 'token.delete': -1 }[action as string]
    if (by === undefined) return
    for (const mark of this.#accounts.get(accountId) ?? []) if (mark.id > subject) mark.rank += by
  }
}
