// The last verifications of tokens, collected in memory and written in batches, so that no verification waits for it. A kill loses what
// was not written.

import { Recent } from '../model/clock-cache.ts'
import {
  isOnRecord,
  lastOf,
  type RecentVerifications as OfToken,
  type RecentVerification,
} from '../verify/recent-verifications.ts'
import type { UseStore } from './ports.ts'

/** Verifications, of all tokens together. What is no longer known is noted again, and may be written again. */
const MOST_KNOWN = 200_000
/** Verifications of further tokens are skipped until the next flush. */
const MOST_UNWRITTEN = 20_000
/** A larger batch would delay changes. */
const WRITTEN_AT_ONCE = 1_000

const NONE: OfToken = []

export class RecentVerifications {
  readonly #store: Pick<UseStore, 'saveRecent'>
  /** What the store has answered. */
  readonly #known = new Recent<string, OfToken>(MOST_KNOWN)
  readonly #unwritten = new Map<string, OfToken>()

  constructor(store: Pick<UseStore, 'saveRecent'>) {
    this.#store = store
  }

  note(tokenId: string, verification: RecentVerification): void {
    const noted = withoutMapping(verification)
    if (isOnRecord(this.#known.get(tokenId) ?? NONE, noted)) return
    const unwritten = this.#unwritten.get(tokenId)
    if (unwritten === undefined && this.#unwritten.size >= MOST_UNWRITTEN) return
    // With its exact time, since another process may have written an earlier one meanwhile.
    this.#unwritten.set(tokenId, lastOf([...(unwritten ?? NONE), noted]))
  }

  /** A flush that fails keeps what it has not written for the next one. */
  async flush(): Promise<void> {
    // Only as many as there are now: later ones would be written in small batches.
    for (let left = this.#unwritten.size; left > 0; left -= WRITTEN_AT_ONCE) {
      const some = new Map(this.#unwritten.entries().take(WRITTEN_AT_ONCE))
      // Another flush may have written them meanwhile.
      if (some.size === 0) return
      const onRecord = await this.#store.saveRecent(some)
      for (const [tokenId, noted] of some) if (this.#unwritten.get(tokenId) === noted) this.#unwritten.delete(tokenId)
      // Later ones are measured against what is on record, which other processes have written too.
      for (const [tokenId, recent] of onRecord) this.#known.set(tokenId, recent, recent.length)
    }
  }
}

/** A socket for both versions of IP shows 203.0.113.9 so. */
const MAPPED = /^::ffff:(?=.*\.)/

function withoutMapping(verification: RecentVerification): RecentVerification {
  const { address } = verification
  return address?.startsWith(':') ? { ...verification, address: address.replace(MAPPED, '') } : verification
}
