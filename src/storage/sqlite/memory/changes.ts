// What has changed in the database file, by any process: SQLite says that something was committed, and the history says what.
// Every change of a cached row adds a history row in its transaction, except for new seals, last uses and
// versions that a replay raises. A cached row that was edited with another tool is used until it is evicted.
import { type Connection, translateError } from '../sqlite-connection.ts'

/** After more changes than this at once, everything counts as changed. */
const MOST_AT_ONCE = 2_000
/** Two megabytes. Ids that share a bucket with one that has changed are read again without need. */
const BUCKETS = 2 ** 18

type Row = readonly [no: number, stamp: Uint8Array, subject: string, tokenId: string | null]

/** The last row seen, and those after it. */
const FROM = `SELECT no, stamp, subject, token_id FROM history WHERE no >= ? ORDER BY no LIMIT ${MOST_AT_ONCE + 2}`
const LAST = 'SELECT no, stamp, subject, token_id FROM history ORDER BY no DESC LIMIT 1'

export class Changes {
  readonly #db: Connection
  /** When something in each bucket last changed, by the clock below. */
  readonly #changedAt = new Float64Array(BUCKETS)
  /** Counts the looks that found something new. */
  #time = 0
  /** Anything may have changed up to this time. */
  #floor = 0
  #dataVersion = -1
  #last: Row | undefined

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
    const added = this.#findAdded()
    if (added === undefined) this.#floor = this.#time
    for (const [, , subject, tokenId] of added ?? []) {
      this.#changedAt[this.bucketOf(subject)] = this.#time
      if (tokenId !== null && tokenId !== subject) this.#changedAt[this.bucketOf(tokenId)] = this.#time
    }
    this.#last = added === undefined ? this.#db.tuple<Row>(LAST) : (added.at(-1) ?? this.#last)
    // Last: after a look that fails half-way, the next one must look again.
    this.#dataVersion = version
  }

  /**
   * The rows after the last one seen; undefined if there are too many, or if that one is not there any more. SQLite gives the number
   * of a removed last row out again, and once the largest number is taken, any: a row with that one is never found here, because
   * as a JavaScript number it is rounded up.
   */
  #findAdded(): readonly Row[] | undefined {
    if (this.#last === undefined) return undefined
    const [no, stamp] = this.#last
    const [last, ...added] = this.#db.tuples<Row>(FROM, no)
    const isThere = last !== undefined && Buffer.compare(last[1], stamp) === 0
    return isThere && added.length <= MOST_AT_ONCE ? added : undefined
  }
}

/** FNV-1a, 32 bits. Not collision-resistant; callers do not choose ids. */
function hashOf(id: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 16)) >>> 0
}
