// A database that was restored to an earlier state would accept credentials that were revoked since. How that is noticed:
//
// - Every process that serves writes a mark each second, and knows the last one that was confirmed. A change that takes access
//   away is known by its row of the history, from before its caller is answered.
// - What is known is kept in a file, for the next process, and in a folder that instances share, for all of them.
// - The database names the place where it is, which a restored dump has left, and the server its recovery target.
//
// A process that notices one of these refuses everything, and notes the reason in the database, for those that know nothing.
import { randomUUID } from 'node:crypto'
import type { Connection } from '../connection.ts'
import type { Value } from '../sql/batch.ts'
import { Confirmed, findLoss, type Home, rowKey, type Trace, type Traces } from './confirmed.ts'
import { unusable, type Witness } from './witness.ts'

/** How often the file is written for the marks alone. */
const SAVE_MS = 10_000

/** The row of the history that a change has written. */
interface RecordedChange {
  readonly accountId: string
  readonly seq: number
  readonly stamp: Uint8Array
}

/** The database was restored to an earlier state: for the operator. */
export class Restored extends Error {
  override readonly name = 'Restored'
  readonly home: Home

  constructor(message: string, home: Home) {
    super(message)
    this.home = home
  }
}

export class Lineage {
  readonly #witness: Witness
  readonly #serves: boolean
  readonly #id = randomUUID()
  readonly #confirmed = new Confirmed()
  #epoch = ''
  #marks = 0
  #savedAt = 0
  /** Of the last change that took access away, with all before it. */
  #keeping: Promise<void> = Promise.resolve()

  /** `serves`: writes marks. A process that only runs a command need not. */
  constructor(witness: Witness, serves: boolean) {
    this.#witness = witness
    this.#serves = serves
  }

  /** A server must not find out at the first revocation that it cannot write its file. */
  async open(): Promise<void> {
    this.#readFiles()
    if (this.#serves) await this.#save().catch((error) => Promise.reject(unusable(this.#witness.folder, error)))
  }

  /**
   * To be called in a transaction. Throws `Restored`, or returns the mark that is confirmed with the transaction.
   * `isNewServer`: other processes may have confirmed changes that this one does not know of.
   */
  async check(db: Connection, isNewServer: boolean): Promise<Trace | undefined> {
    if (isNewServer) this.#readFiles()
    const known = this.#confirmed.traces
    const { home, loss } = await compare(db, known)
    if (loss !== undefined) throw new Restored(loss, home)
    for (const epoch of Object.keys(known)) if (epoch !== home.epoch) this.#confirmed.forget(epoch)
    this.#epoch = home.epoch
    if (!this.#serves) return undefined
    const number = ++this.#marks
    await db.run(
      `INSERT INTO instance_marks (id, number) VALUES ($1, $2)
       ON CONFLICT (id) DO UPDATE SET number = excluded.number, at = now()`,
      ...[this.#id, number],
    )
    return { of: this.#id, number, stamp: null, at: Date.now() }
  }

  /** Call when the transaction of `check` is committed. Resolves when the file is written, if it is its time. */
  async confirm(mark: Trace | undefined, begunAt: number): Promise<void> {
    if (mark === undefined) return
    const now = performance.now()
    this.#confirmed.add(this.#epoch, mark, begunAt, now)
    if (this.#savedAt !== 0 && now < this.#savedAt + SAVE_MS) return
    this.#savedAt = now
    this.#readFiles()
    await this.#save()
  }

  /** A change that takes access away, which is committed. Its caller may be answered when `settle` resolves. */
  remember({ accountId, seq, stamp }: RecordedChange, begunAt: number): void {
    // Nothing was checked yet, so that nothing is known of what the change was made on.
    if (this.#epoch === '') return
    const trace = { of: accountId, number: seq, stamp: base64(stamp), at: Date.now() }
    this.#confirmed.add(this.#epoch, trace, begunAt, performance.now())
    this.#keep().catch(() => {})
  }

  /** Resolves when all that was remembered is on disk, too. What could not be written is tried again by each call. */
  settle(): Promise<void> {
    return this.#keeping.catch(() => this.#keep())
  }

  /** For instances that know nothing. Without effect if the operator has accepted the loss meanwhile. */
  async note(db: Connection, { message, home: { epoch } }: Restored): Promise<void> {
    await db.run('UPDATE homes SET refused_because = $1 WHERE epoch = $2 AND refused_because IS NULL', message, epoch)
  }

  close(): Promise<void> {
    return this.#witness.close()
  }

  #readFiles(): void {
    for (const traces of this.#witness.readNew()) this.#confirmed.adopt(traces, performance.now())
  }

  #keep(): Promise<void> {
    this.#keeping = this.#save()
    return this.#keeping
  }

  #save(): Promise<void> {
    return this.#witness.save(() => this.#confirmed.traces)
  }
}

/** Compares the database with what is known. */
export async function compare(db: Connection, known: Traces) {
  const all = Object.values(known).flat()
  const [home, marks, stamps] = await Promise.all([readHome(db), readMarks(db, all), readStamps(db, all)])
  return { home, loss: findLoss({ home, marks, stamps }, known) }
}

/** In words, for a database from which nothing is missing. */
export async function summarize(db: Connection, isChecked: boolean): Promise<string> {
  if (!isChecked) return 'not checked, since LATCHKEY_PG_WITNESS is off'
  const accepted = await db.tuples(
    `SELECT to_char(begun_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), accepted
     FROM homes WHERE accepted IS NOT NULL ORDER BY number`,
  )
  return ['none is missing', ...accepted.map(([at, what]) => `a loss was accepted at ${at} (${what})`)].join('; ')
}

/**
 * In one statement, since the operator may accept a loss at any moment. A server that was promoted in a failover has no recovery
 * target.
 */
async function readHome(db: Connection): Promise<Home> {
  const [epoch, place, currentPlace, refusedBecause, epochs, targets] = ((await db.tuple(
    `SELECT epoch, place, current_place(), refused_because, ARRAY(SELECT epoch FROM homes),
       ARRAY(
         SELECT name || ' = ' || setting FROM pg_settings
         WHERE name IN ('recovery_target', 'recovery_target_lsn', 'recovery_target_name', 'recovery_target_time',
             'recovery_target_xid')
           AND setting <> '' AND NOT EXISTS (SELECT FROM confirmed_timeline WHERE timeline = current_timeline())
       )
     FROM homes ORDER BY number DESC LIMIT 1`,
  )) ?? []) as [string, string, string, string | null, string[], string[]]
  return { epoch, place, currentPlace, refusedBecause, epochs, targets }
}

async function readMarks(db: Connection, traces: readonly Trace[]): Promise<ReadonlyMap<string, number>> {
  const ids = traces.filter(({ stamp }) => stamp === null).map(({ of }) => of)
  if (ids.length === 0) return new Map()
  const found = await db.tuples('SELECT id, number FROM instance_marks WHERE id = ANY($1::text[])', ids)
  return new Map(found as [string, number][])
}

async function readStamps(db: Connection, traces: readonly Trace[]): Promise<ReadonlyMap<string, string>> {
  const rows = traces.filter(({ stamp }) => stamp !== null)
  if (rows.length === 0) return new Map()
  const keys: Value[] = [rows.map(({ of }) => of), rows.map(({ number }) => number)]
  const found = (await db.tuples(
    `SELECT account_id, seq, stamp FROM history
     JOIN unnest($1::text[], $2::bigint[]) AS known (account_id, seq) USING (account_id, seq)`,
    ...keys,
  )) as [string, number, Uint8Array][]
  return new Map(found.map(([of, number, stamp]) => [rowKey({ of, number }), base64(stamp)]))
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}
