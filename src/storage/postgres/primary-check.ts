// After a failover a former primary may run on, cut off from the others: it still answers reads, without what the new primary
// has confirmed since. So a verification is answered only while the last check of the server it asked is `VALID_MS` old at most:
//
// - A check is a commit, which a primary can make only while its synchronous standby follows it. A former primary cannot, so
//   nothing that it answers counts later than `VALID_MS` after the promotion.
// - A new primary has a timeline of its own. It confirms no change until an instance has waited for `HOLD_MS`, longer than any
//   check of a former one counts, and has entered the timeline in `confirmed_timeline`.
//
// Without a synchronous standby a former primary can commit, and nothing of this helps: see docs/operate/postgresql.md.
//
// Each check also looks whether the database was restored to an earlier state: see lineage/lineage.ts. No answer of a
// server that was restarted counts before that.
import { setTimeout as wait } from 'node:timers/promises'
import { type Failure, failure } from '../../tokens/model/errors.ts'
import { type Lineage, Restored } from './lineage/lineage.ts'
import { deleteOldMarks, noteRefusal } from './lineage/mark-rows.ts'
import { BEGIN, type Pool } from './pool.ts'
import { type Connection, ConnectionLost, SERVER, type Work } from './postgres-connection.ts'
import { Undone } from './protocol/batch.ts'

const INTERVAL_MS = 1_000
const VALID_MS = 5_000
const HOLD_MS = 6_000
/** A server that hangs is asked again after two seconds, on another connection. */
const CALL = { account: '', deadlineMs: 2_000, isGone: () => false }
/** How often old marks are deleted, from the first check on: about each hour. */
const CHECKS_PER_DELETION = 3_600

export const REFUSED =
  'The token store was restored to an earlier state; `latchkey doctor` tells the operator what to do'

type Outcome = 'confirmed' | 'unconfirmed' | 'refused' | 'failed'

interface Seen {
  readonly timeline: string
  /** By `performance.now`: steps of the clock do not matter. */
  readonly at: number
}

interface Checked {
  readonly server: string
  readonly timeline: string
  readonly confirmed: string
}

export class PrimaryCheck {
  readonly #pool: Pool
  readonly #lineage: Lineage | undefined
  readonly #warn: (warning: string) => void
  /** By both clocks: the monotonic one stops while the machine sleeps, and the wall clock may be set back. */
  #last = { server: '', until: 0, untilByCalendar: 0 }
  #refusal: Failure | undefined
  #unconfirmed: Seen | undefined
  /** Only the first of several failures in a row is reported. */
  #isFailing = false
  readonly #closing = new AbortController()
  #current: Promise<Outcome> | undefined
  #checking: Promise<void> | undefined

  /**
   * `pool` is its own: a check must not wait for changes that wait for locks. Without a lineage, restores are
   * not noticed.
   */
  constructor(pool: Pool, lineage: Lineage | undefined, warn: (warning: string) => void = () => {}) {
    this.#pool = pool
    this.#lineage = lineage
    this.#warn = warn
  }

  /** Resolves once the timeline is confirmed, or a check is refused or fails. Then checks go on in the background. */
  async start(): Promise<void> {
    while ((await this.#check()) === 'unconfirmed') await wait(INTERVAL_MS)
    this.#checking = this.#keepChecking()
  }

  /** Why everything is refused. */
  get refusal(): Failure | undefined {
    return this.#refusal
  }

  throwIfRefused(): void {
    if (this.#refusal !== undefined) throw this.#refusal
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#checking
    await this.#pool.close()
  }

  /** Refuses the answer of a server that may have been no primary when it gave it. */
  guard<Result>(work: Work<Result>): Work<Result> {
    return async (db) => {
      const answering = work(db)
      const asking = db.server
      asking.catch(() => {})
      // Awaited first: an error of this read fails only this read; other reads of the batch are rolled back with it and retried.
      const answer = await answering.catch(async (error: unknown) => {
        // Rolled back because another statement failed. If that was the query for the server, its error is thrown instead.
        if (error instanceof Undone) await asking
        throw error
      })
      const server = await asking
      if (server !== this.#last.server || Date.now() >= this.#last.untilByCalendar) await this.#check()
      this.throwIfRefused()
      if (performance.now() >= this.#last.until || Date.now() >= this.#last.untilByCalendar) {
        throw failure('unavailable', new Error('the server has not shown that it is still the primary'))
      }
      // Another server is the primary: this connection is given up, and the next one leads there.
      if (server !== this.#last.server) throw new ConnectionLost('the server is no longer the primary')
      return answer
    }
  }

  async #keepChecking(): Promise<void> {
    const { signal } = this.#closing
    for (let checks = 0; !signal.aborted; checks++) {
      await wait(INTERVAL_MS, undefined, { signal, ref: false }).catch(() => {})
      if (signal.aborted || (await this.#check()) !== 'confirmed' || this.#lineage?.serves !== true) continue
      if (checks % CHECKS_PER_DELETION === 0) await this.#try('old marks cannot be deleted', deleteOldMarks)
    }
  }

  /** Calls at the same time share one check. */
  #check(): Promise<Outcome> {
    this.#current ??= this.#checkOnce().finally(() => {
      this.#current = undefined
    })
    return this.#current
  }

  async #checkOnce(): Promise<Outcome> {
    const [begunAt, dated] = [performance.now(), Date.now()]
    try {
      const { server, timeline, confirmed } = await this.#pool.lendFor(CALL, (db) => this.#commit(db))
      this.#lineage
        ?.saveInTime()
        .catch((error) => this.#warn(`the witness files cannot be read or written: ${reasonOf(error)}`))
      this.#last = { server, until: begunAt + VALID_MS, untilByCalendar: dated + VALID_MS }
      this.#isFailing = false
      if (this.#refusal !== undefined) this.#warn('the database is no longer refused')
      this.#refusal = undefined
      if (timeline === confirmed) return 'confirmed'
      await this.#confirmAfterHold(timeline)
      return 'unconfirmed'
    } catch (error) {
      if (error instanceof Restored) return this.#refuse(error)
      if (!this.#isFailing) this.#warn(`PostgreSQL did not show that it is the primary: ${reasonOf(error)}`)
      this.#isFailing = true
      return 'failed'
    }
  }

  #commit(db: Connection): Promise<Checked> {
    const work = async (compare: (isNewServer: boolean) => Promise<void>) => {
      // Writes to the log and to no table. A read alone would not be committed.
      await db.run("SELECT pg_logical_emit_message(true, 'latchkey', '')")
      const found = await db.tuple(`SELECT ${SERVER}, current_timeline(), timeline FROM confirmed_timeline`)
      const [server, timeline, confirmed] = found as [string, string, string]
      await compare(server !== this.#last.server)
      return { server, timeline, confirmed }
    }
    return this.#lineage?.check(db, [BEGIN], work) ?? db.transaction([BEGIN], () => work(async () => {}))
  }

  async #refuse(restored: Restored): Promise<Outcome> {
    const { message, found } = restored
    this.#last = { server: '', until: 0, untilByCalendar: 0 }
    if (this.#refusal === undefined) this.#warn(`all requests are refused; run \`latchkey doctor\`: ${message}`)
    this.#refusal = failure('revocations-unknown', new Error(message), REFUSED)
    if (found.refusedBecause !== null) return 'refused'
    await this.#try('the reason cannot be noted in the database', (db) => noteRefusal(db, found, message))
    return 'refused'
  }

  /** Warns if it fails: nothing depends on it. */
  async #try(warning: string, work: Work<void>): Promise<void> {
    await this.#pool
      .lendFor(CALL, (db) => db.transaction([BEGIN], work))
      .catch((error) => this.#warn(`${warning}: ${reasonOf(error)}`))
  }

  async #confirmAfterHold(timeline: string): Promise<void> {
    const now = performance.now()
    if (this.#unconfirmed?.timeline !== timeline) this.#unconfirmed = { timeline, at: now }
    if (now < this.#unconfirmed.at + HOLD_MS) return
    await this.#pool.lend('', (db) =>
      db.transaction([BEGIN], () =>
        db.run('UPDATE confirmed_timeline SET timeline = $1 WHERE current_timeline() = $1', timeline),
      ),
    )
  }
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? cause.message : message
}
