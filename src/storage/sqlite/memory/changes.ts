// What has changed in the database file, by any process: SQLite says that something was committed, and the history, to which
// every change adds a row in its own transaction, says what. Editing the file with other tools needs a restart.
import { type Connection, translateError } from '../connection.ts'

/** After more changes than this at once, everything counts as changed. */
const MOST_AT_ONCE = 2_000
/** Two megabytes. Ids that share a bucket with one that has changed are read again without need. */
const BUCKETS = 2 ** 18

const ADDED = `SELECT no, subject, token_id FROM history WHERE no > ? ORDER BY no LIMIT ${MOST_AT_ONCE + 1}`

export class Changes {
  readonly #db: Connection
  /** When something in each bucket last changed, by the clock below. */
  readonly #changedAt = new Float64Array(BUCKETS)
  /** Counts the looks that found something new. */
  #time = 0
  /** Anything may have changed up to this time. */
  #floor = 0
  #dataVersion = -1
  #lastRow: number | undefined

  constructor(db: Connection) {
    this.#db = db
  }

  /** Asks the store what has changed since the last look, and returns the time. The connection itself must write nothing. */
  look(): number {
    try {
      if (this.#db.dataVersion() !== this.#dataVersion) this.#db.snapshot(() => this.#catchUp())
      return this.#time
    } catch (error) {
      throw translateError(error)
    }
  }

  bucketOf(id: string): number {
    return hashOf(id) % BUCKETS
  }

  /** As of the last look: whether nothing in this bucket has changed after that time. */
  unchangedSince(time: number, bucket: number): boolean {
    return time >= this.#floor && (this.#changedAt[bucket] as number) <= time
  }

  get time(): number {
    return this.#time
  }

  /** Everything that was read so far must be read again. */
  invalidateAll(): void {
    this.#floor = ++this.#time
  }

  #catchUp(): void {
    const version = this.#db.dataVersion()
    this.#time++
    const added =
      this.#lastRow === undefined ? undefined : this.#db.tuples<[number, string, string | null]>(ADDED, this.#lastRow)
    if (added === undefined || added.length > MOST_AT_ONCE) {
      this.#floor = this.#time
      this.#lastRow = this.#db.tuple<[number]>('SELECT coalesce(max(no), 0) FROM history')?.[0]
    }
    for (const [no, subject, tokenId] of added ?? []) {
      this.#changedAt[this.bucketOf(subject)] = this.#time
      if (tokenId !== null && tokenId !== subject) this.#changedAt[this.bucketOf(tokenId)] = this.#time
      this.#lastRow = Math.max(no, this.#lastRow ?? 0)
    }
    // Last: after a look that fails half-way, the next one must look again.
    this.#dataVersion = version
  }
}

/** FNV-1a, 32 bits. Not collision-resistant; callers do not choose ids. */
function hashOf(id: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 16)) >>> 0
}
