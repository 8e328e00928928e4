// When and from where former credentials were last used, so that one sees who still has to change: collected in memory, written with
// the other uses.
import type { Timestamp } from '../model/token.ts'
import type { FormerUse, UseStore } from '../ports.ts'
import { PRECISION_MS } from './uses.ts'

/** Further ones are skipped until the next flush. */
const MOST_UNWRITTEN = 10_000
const WRITTEN_AT_ONCE = 1_000

export class FormerUses {
  readonly #store: Pick<UseStore, 'saveFormerUses'>
  readonly #unwritten = new Map<string, FormerUse>()

  constructor(store: Pick<UseStore, 'saveFormerUses'>) {
    this.#store = store
  }

  /** `until`: which of the token's former credentials it is. */
  note(tokenId: string, until: Timestamp, at: Timestamp, address: string | null): void {
    const name = `${tokenId} ${until}`
    const before = this.#unwritten.get(name)
    if (before === undefined && this.#unwritten.size >= MOST_UNWRITTEN) return
    if (before === undefined || before.at + PRECISION_MS <= at) {
      this.#unwritten.set(name, { tokenId, until, at, address })
    }
  }

  /** A flush that fails keeps what it has not written for the next one. */
  async flush(): Promise<void> {
    for (let left = this.#unwritten.size; left > 0; left -= WRITTEN_AT_ONCE) {
      const some = [...this.#unwritten.entries().take(WRITTEN_AT_ONCE)]
      if (some.length === 0) return
      await this.#store.saveFormerUses(some.map(([, use]) => use))
      for (const [name, use] of some) if (this.#unwritten.get(name) === use) this.#unwritten.delete(name)
    }
  }
}
