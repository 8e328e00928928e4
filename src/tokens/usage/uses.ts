// When each token and account key was last used: collected in memory and written in batches, so that no request waits for it.

import { Recent } from '../model/clock-cache.ts'
import type { Timestamp } from '../model/token.ts'
import { PRECISION_MS } from '../verify/recent-verifications.ts'
import type { UseStore } from './ports.ts'

/** With more unwritten uses than this, further tokens are skipped until the next flush, to limit memory. */
const MAX_UNWRITTEN = 100_000

/** Tokens whose last use is remembered. */
const MAX_LATEST = 150_000

/** A larger batch delays other changes, and PostgreSQL cancels it. */
const WRITTEN_AT_ONCE = 5_000

/** A use so soon after a recorded one is not written. */
function isSoonAfter(usedAt: Timestamp, at: Timestamp): boolean {
  return at >= usedAt && at - usedAt < PRECISION_MS
}

export class LastUses {
  readonly #store: Pick<UseStore, 'saveUses'>
  readonly #latest = new Recent<string, Timestamp>(MAX_LATEST)
  readonly #unwritten = new Map<string, Timestamp>()
  #flushed: Promise<void> = Promise.resolve()

  constructor(store: Pick<UseStore, 'saveUses'>) {
    this.#store = store
  }

  note(tokenId: string, at: Timestamp): void {
    const latest = this.#latest.get(tokenId)
    if (latest !== undefined && isSoonAfter(latest, at)) return
    if (this.#unwritten.size >= MAX_UNWRITTEN && !this.#unwritten.has(tokenId)) return
    this.#unwritten.set(tokenId, at)
    this.#latest.set(tokenId, at)
  }

  /** A flush that fails keeps what it has not written for the next one. */
  flush(): Promise<void> {
    const flushing = this.#flushed.then(() => this.#flush())
    this.#flushed = flushing.catch(() => {})
    return flushing
  }

  async #flush(): Promise<void> {
    // Only as many as there are now: later ones would be written in small batches.
    for (let left = this.#unwritten.size; left > 0; left -= WRITTEN_AT_ONCE) await this.#flushSome()
  }

  async #flushSome(): Promise<void> {
    const some = new Map(this.#unwritten.entries().take(WRITTEN_AT_ONCE))
    for (const tokenId of some.keys()) this.#unwritten.delete(tokenId)
    try {
      const recent = await this.#store.saveUses(some)
      // Later uses are measured against what is on record, which another process may have written.
      for (const [tokenId, at] of recent) this.#latest.set(tokenId, at)
    } catch (error) {
      for (const [tokenId, at] of some) if (!this.#unwritten.has(tokenId)) this.#unwritten.set(tokenId, at)
      throw error
    }
  }
}
