// What has changed in the database file, by whichever process: SQLite tells that something was committed, and the
// history, to which every change adds a row in its own transaction, tells what.
import type { Changes } from '../../tokens/known.ts'
import { type Connection, translateError } from './connection.ts'

/** After more than this many changes at once, everything is taken for changed. */
const MOST_AT_ONCE = 2_000
/** Ids whose last change is on record; some 100 bytes each. */
const MOST_IDS = 50_000

interface HistoryColumns {
  readonly no: number
  readonly account_id: string
  readonly subject: string
  readonly token_id: string | null
}

export class SqliteChanges implements Changes {
  readonly #db: Connection
  readonly #changedAt = new Map<string, number>()
  /** Whatever was read before it may have changed. */
  #floor = 0
  #time = 0
  #dataVersion = -1
  #lastRow = 0
  #useFlushes = -1

  constructor(db: Connection) {
    this.#db = db
  }

  look(): number {
    // Nothing at all was committed by others while it stands still; this connection commits nothing.
    try {
      if (this.#db.dataVersion() !== this.#dataVersion) this.#db.snapshot(() => this.#catchUp())
      return this.#time
    } catch (error) {
      throw translateError(error)
    }
  }

  unchangedSince(time: number, id: string): boolean {
    return time >= this.#floor && (this.#changedAt.get(id) ?? 0) <= time
  }

  #catchUp(): void {
    this.#dataVersion = this.#db.dataVersion()
    this.#time++
    const flushes = this.#db.get<{ n: number }>('SELECT n FROM use_flushes WHERE id = 1')?.n ?? 0
    const [last, ...added] = this.#db.all<HistoryColumns>(
      'SELECT no, account_id, subject, token_id FROM history WHERE no >= ? ORDER BY no LIMIT ?',
      ...[this.#lastRow, MOST_AT_ONCE + 2],
    )
    // A commit that nothing explains was made by hand, or by something that writes no history.
    const explained = added.length > 0 || flushes !== this.#useFlushes
    this.#useFlushes = flushes
    if (!explained || last?.no !== this.#lastRow || added.length > MOST_AT_ONCE) {
      this.#forgetAll()
      return
    }
    for (const { no, account_id, subject, token_id } of added) {
      this.#changedAt.set(account_id, this.#time).set(subject, this.#time)
      if (token_id !== null) this.#changedAt.set(token_id, this.#time)
      this.#lastRow = no
    }
    if (this.#changedAt.size > MOST_IDS) this.#forgetAll()
  }

  #forgetAll(): void {
    this.#floor = this.#time
    this.#changedAt.clear()
    this.#lastRow = this.#db.get<{ no: number }>('SELECT coalesce(max(no), 0) AS no FROM history')?.no ?? 0
  }
}
