// Commits the calls of many verifiers together: each commit is durable, and a thousand verifiers at rest make a few hundred calls a
// second.
import { Failure } from '../model/errors.ts'
import type { Verifier } from './lease.ts'
import type { Renewal, VerifierStore } from './ports.ts'

/** How long a call waits for others, unless a change waits for it. */
const GATHERING_MS = 250

interface Queued {
  renewal: Renewal
  readonly outcome: PromiseWithResolvers<Verifier>
}

export class Renewals {
  readonly #store: Pick<VerifierStore, 'renewVerifiers'>
  /** By account and lease: anybody may name the lease of another. */
  #queued = new Map<string, Queued>()
  #timer: NodeJS.Timeout | undefined

  constructor(store: Pick<VerifierStore, 'renewVerifiers'>) {
    this.#store = store
  }

  /** Rejects with `lease-lost` or `verifier-evicted`. */
  renew(renewal: Renewal, isUrgent: boolean): Promise<Verifier> {
    const name = nameOf(renewal)
    const queued = this.#queued.get(name) ?? { renewal, outcome: Promise.withResolvers<Verifier>() }
    queued.renewal = renewal
    this.#queued.set(name, queued)
    if (isUrgent) setImmediate(() => this.flush())
    else this.#timer ??= setTimeout(() => this.flush(), GATHERING_MS)
    return queued.outcome.promise
  }

  get isWaiting(): boolean {
    return this.#queued.size > 0
  }

  /** At once: a change may wait for these verifiers. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#queued.size === 0) return
    const queued = [...this.#queued.values()]
    this.#queued = new Map()
    this.#store.renewVerifiers(queued.map(({ renewal }) => renewal)).then(
      (renewed) => settle(queued, renewed),
      (error: unknown) => {
        for (const { outcome } of queued) outcome.reject(error)
      },
    )
  }
}

const nameOf = ({ accountId, id }: Pick<Verifier, 'accountId' | 'id'>) => `${accountId} ${id}`

function settle(queued: readonly Queued[], renewed: readonly Verifier[]): void {
  const found = new Map(renewed.map((verifier) => [nameOf(verifier), verifier]))
  for (const { renewal, outcome } of queued) {
    const verifier = found.get(nameOf(renewal))
    if (verifier?.state === 'held') outcome.resolve(verifier)
    else outcome.reject(new Failure(verifier === undefined ? 'lease-lost' : 'verifier-evicted'))
  }
}
