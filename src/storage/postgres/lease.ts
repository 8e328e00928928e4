// After a failover a former primary may run on, cut off from the others: it still answers reads, without what the new primary
// has confirmed since. So a verification is answered only while this process holds a lease on the server it asked:
//
// - A lease is renewed by a commit, which a primary can make only while its synchronous standby follows it. A former primary
//   cannot, so leases on it end `LEASE_MS` after the promotion at the latest.
// - A new primary has a timeline of its own. It confirms no change until an instance has waited for `HOLD_MS`, longer than any
//   lease on a former one can last, and has entered the timeline in `confirmed_timeline`.
//
// Without a synchronous standby a former primary can commit, and nothing of this helps: see docs/postgres.md.
import { setTimeout as wait } from 'node:timers/promises'
import { failure } from '../../tokens/errors.ts'
import { ConnectionLost, type Work } from './connection.ts'
import type { Pool } from './pool.ts'

const RENEWAL_MS = 1_000
const LEASE_MS = 5_000
const HOLD_MS = 6_000
/** A server that hangs is asked again, on another connection. */
const DEADLINE_MS = 2_000

interface Seen {
  readonly timeline: string
  /** By `performance.now`, as all times here: steps of the clock do not matter. */
  readonly at: number
}

export class Lease {
  readonly #changes: Pool
  readonly #warn: (warning: string) => void
  #held = { timeline: '', until: 0 }
  #unconfirmed: Seen | undefined
  /** Only the first of several failures in a row is reported. */
  #isFailing = false
  readonly #closing = new AbortController()
  #renewing: Promise<void> | undefined

  /** `changes` makes the commits. */
  constructor(changes: Pool, warn: (warning: string) => void = () => {}) {
    this.#changes = changes
    this.#warn = warn
  }

  /** Resolves once the server confirms changes, or cannot be asked; from then on the lease is renewed in the background. */
  async start(): Promise<void> {
    while ((await this.#renew()) === 'unconfirmed') await wait(RENEWAL_MS)
    this.#renewing = this.#keepRenewing()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#renewing
  }

  /** Refuses the answer of a server that may have been no primary when it gave it. */
  guard<Result>(work: Work<Result>): Work<Result> {
    return async (db) => {
      const answering = work(db)
      const asking = db.timeline
      asking.catch(() => {})
      // First: what fails here fails this read only, and what it takes along is asked again.
      const answer = await answering
      const timeline = await asking
      if (performance.now() >= this.#held.until) {
        throw failure('unavailable', new Error('the server has not shown that it is still the primary'))
      }
      // The lease is on another server: this connection is given up, and the next one leads there.
      if (timeline !== this.#held.timeline) throw new ConnectionLost('the server is no longer the primary')
      return answer
    }
  }

  async #keepRenewing(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      await wait(RENEWAL_MS, undefined, { signal, ref: false }).catch(() => {})
      if (!signal.aborted) await this.#renew()
    }
  }

  async #renew(): Promise<'confirmed' | 'unconfirmed' | 'failed'> {
    const begunAt = performance.now()
    const call = { account: '', deadlineMs: DEADLINE_MS, isGone: () => false }
    try {
      const [timeline, confirmed] = await this.#changes.lendFor(call, (db) =>
        db.transaction(this.#changes.begin, async () => {
          // Writes to the log and to no table. A read alone would not be committed.
          await db.run("SELECT pg_logical_emit_message(true, 'latchkey', '')")
          const found = await db.tuple('SELECT current_timeline(), timeline FROM confirmed_timeline')
          return found as [string, string]
        }),
      )
      this.#held = { timeline, until: begunAt + LEASE_MS }
      this.#isFailing = false
      if (timeline === confirmed) return 'confirmed'
      await this.#confirmAfterHold(timeline)
      return 'unconfirmed'
    } catch (error) {
      if (!this.#isFailing) this.#warn(`PostgreSQL did not show that it is the primary: ${reasonOf(error)}`)
      this.#isFailing = true
      return 'failed'
    }
  }

  async #confirmAfterHold(timeline: string): Promise<void> {
    const now = performance.now()
    if (this.#unconfirmed?.timeline !== timeline) this.#unconfirmed = { timeline, at: now }
    if (now < this.#unconfirmed.at + HOLD_MS) return
    await this.#changes.lend('', (db) =>
      db.transaction(this.#changes.begin, () =>
        db.run('UPDATE confirmed_timeline SET timeline = $1 WHERE current_timeline() = $1', timeline),
      ),
    )
  }
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? cause.message : message
}
