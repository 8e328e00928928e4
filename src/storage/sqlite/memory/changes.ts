// What has changed in the database file, by whichever process: SQLite tells that something was committed, and the
// history, to which every change adds a row in its own transaction, tells what.

import { type Changes, changedBy, hashOf } from '../../../tokens/known.ts'
import type { Action, Facts, HistoryEvent } from '../../../tokens/record/history.ts'
import { type Connection, translateError } from '../connection.ts'

/** After more than this many changes at once, everything is taken for changed. */
const MOST_AT_ONCE = 2_000
/** Where changes are noted: two megabytes. An id that shares its place with one that has changed is read again in vain. */
const PLACES = 2 ** 18

type Added = readonly [
  ...[no: number, accountId: string, action: Action, subject: string, tokenId: string | null, toFacts: string],
]

const ADDED = `
  SELECT no, account_id, action, subject, token_id, to_facts FROM history WHERE no >= ?
  ORDER BY no LIMIT ${MOST_AT_ONCE + 2}`

/** An event of the history, or something that no row of it tells. */
export type Happened = Pick<HistoryEvent, 'accountId' | 'action' | 'subject'> | 'anything'

export class SqliteChanges implements Changes {
  readonly #db: Connection
  readonly #tell: (happened: Happened) => void
  /** The time of the last change at each place. */
  readonly #changedAt = new Float64Array(PLACES)
  /** Up to this time anything may have changed. */
  #floor = 0
  #time = 0
  #next: Promise<number> | undefined
  #dataVersion = -1
  #lastRow = 0
  #useFlushes = -1

  /** `tell` hears of everything in its order, within the look that finds it. */
  constructor(db: Connection, tell: (happened: Happened) => void = () => {}) {
    this.#db = db
    this.#tell = tell
  }

  look(): number {
    try {
      const version = this.#db.dataVersion()
      // Nothing at all was committed by others while it stands still; this connection commits nothing.
      if (version === this.#dataVersion) return this.#time
      const begunAnew = this.#db.isLogBegunAnew()
      this.#db.snapshot(() => this.#catchUp(begunAnew ? version : undefined))
      return this.#time
    } catch (error) {
      throw translateError(error)
    }
  }

  /** Whether the last look saw all that was committed up to now. */
  isUpToDate(): boolean {
    return this.#db.dataVersion() === this.#dataVersion
  }

  looked(): Promise<number> {
    this.#next ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        this.#next = undefined
        try {
          resolve(this.look())
        } catch (error) {
          reject(error)
        }
      })
    })
    return this.#next
  }

  get time(): number {
    return this.#time
  }

  placeOf(id: string): number {
    // Ids are not for callers to choose.
    return hashOf(id) % PLACES
  }

  unchangedSince(time: number, place: number): boolean {
    return time >= this.#floor && (this.#changedAt[place] ?? Number.POSITIVE_INFINITY) <= time
  }

  /** Whatever was read so far is to be read again. */
  forget(): void {
    this.#floor = ++this.#time
  }

  /** `empty` is a version that differs from the one before in nothing. */
  #catchUp(empty: number | undefined): void {
    const version = this.#db.dataVersion()
    this.#time++
    const flushes = this.#db.get<{ n: number }>('SELECT n FROM use_flushes WHERE id = 1')?.n ?? 0
    const [last, ...added] = this.#db.tuples<Added>(ADDED, this.#lastRow)
    // A commit that nothing explains was made by hand, or by something that writes no history.
    const explained = added.length > 0 || flushes !== this.#useFlushes || version === empty
    this.#useFlushes = flushes
    const followed = explained && last?.[0] === this.#lastRow && added.length <= MOST_AT_ONCE && this.#follow(added)
    if (!followed) this.#forgetAll()
    // Last: a look that fails half-way has seen nothing.
    this.#dataVersion = version
  }

  /** False for rows that make no sense: nobody but a hand writes such. */
  #follow(added: readonly Added[]): boolean {
    try {
      for (const [no, accountId, action, subject, tokenId, toFacts] of added) {
        const to = JSON.parse(toFacts) as Facts
        for (const id of changedBy({ accountId, action, subject, tokenId, to })) {
          this.#changedAt[this.placeOf(id)] = this.#time
        }
        this.#tell({ accountId, action, subject })
        this.#lastRow = no
      }
    } catch {
      return false
    }
    return true
  }

  #forgetAll(): void {
    this.#tell('anything')
    this.#floor = this.#time
    this.#lastRow = this.#db.get<{ no: number }>('SELECT coalesce(max(no), 0) AS no FROM history')?.no ?? 0
  }
}
