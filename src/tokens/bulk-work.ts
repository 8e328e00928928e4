// Carries out bulk operations, one at a time for each account and by one process at a time: the one that holds the account's claim.
// The claim only saves work: an operation goes on from where its row says, in the transaction of the step, in whichever process.
import { randomUUID } from 'node:crypto'
import type { BulkStore } from './bulk-ports.ts'
import { CLAIM_MS } from './dispatch.ts'
import { Failure, type FailureCode } from './errors.ts'
import type { ClaimStore } from './event-ports.ts'
import { nextPart, type StoredBulk } from './model/bulk.ts'
import { BULK_OPERATIONS, BULK_PARTS } from './model/tables.ts'
import type { Parts } from './ports.ts'
import { isGenuine, type Stamped } from './trust/stamp.ts'

const MAX_ACCOUNTS_AT_ONCE = 4
const LOOKED_AT_ONCE = 500
/** After a failure, such as of the store. */
const REST_MS = 5_000
/** The caller's key was revoked or has expired, or the person has signed out. */
const AUTHORITY_ENDED: readonly FailureCode[] = ['token-invalid', 'token-expired']

export interface BulkEvents {
  /** Tokens were changed. */
  readonly onChanged: () => void
  readonly onFailed: (operationId: string, error: unknown) => void
}

type BulkWorkPorts = BulkStore & ClaimStore

export class BulkWork {
  readonly #holder = randomUUID()
  readonly #parts: Parts<BulkWorkPorts>
  readonly #events: BulkEvents
  /** By account. */
  readonly #turns = new Map<string, Promise<void>>()
  readonly #restingUntil = new Map<string, number>()
  /** Accounts whose claims this process holds: until when, by its own monotonic clock. */
  readonly #claims = new Map<string, number>()
  #isStopped = false

  constructor(parts: Parts<BulkWorkPorts>, events: BulkEvents) {
    this.#parts = parts
    this.#events = events
  }

  /** Begins what is to be done, and does not wait for it. */
  async begin(): Promise<void> {
    for (const operation of await this.#parts.store.listRunningBulk(LOOKED_AT_ONCE)) {
      const { accountId, id } = operation
      const isResting = performance.now() < (this.#restingUntil.get(accountId) ?? 0)
      if (this.#isStopped || isResting || this.#turns.has(accountId)) continue
      if (this.#turns.size >= MAX_ACCOUNTS_AT_ONCE) return
      const turn = this.#carryOut(accountId, id)
        .catch((error) => {
          this.#restingUntil.set(accountId, performance.now() + REST_MS)
          this.#events.onFailed(id, error)
        })
        .finally(() => this.#turns.delete(accountId))
      this.#turns.set(accountId, turn)
    }
  }

  /** Until there is nothing left to do, or somebody else does it. */
  async #carryOut(accountId: string, id: string): Promise<void> {
    while (!this.#isStopped && (await this.#claim(accountId))) {
      const operation = await this.#parts.store.findBulk(accountId, id)
      if (operation?.status !== 'running') return
      const begun = performance.now()
      await this.#step(operation)
      // Other changes, and verification, get as much time as this takes.
      await pause(performance.now() - begun)
    }
  }

  async #step(operation: Stamped<StoredBulk>): Promise<void> {
    const { store, now, stamps } = this.#parts
    const number = nextPart(operation)
    if (!isGenuine(BULK_OPERATIONS, operation, stamps)) return this.#endAltered('bulk', operation)
    if (number === undefined) return store.endBulk(operation, null, now())
    const part = await store.findBulkPart(operation.id, number)
    if (part === undefined || !isGenuine(BULK_PARTS, part, stamps)) return this.#endAltered('bulk-part', operation)
    try {
      await store.advanceBulk(operation, part, now())
      this.#events.onChanged()
    } catch (error) {
      if (!(error instanceof Failure && AUTHORITY_ENDED.includes(error.code))) throw error
      await store.endBulk(operation, 'revoked', now())
    }
  }

  async #endAltered(kind: 'bulk' | 'bulk-part', operation: Stamped<StoredBulk>): Promise<void> {
    const { store, now, onTampered } = this.#parts
    onTampered({ kind, id: operation.id })
    await store.endBulk(operation, 'altered', now())
  }

  async #claim(accountId: string): Promise<boolean> {
    const asked = performance.now()
    if (asked < (this.#claims.get(accountId) ?? 0) - CLAIM_MS / 2) return true
    const isOurs = await this.#parts.store.claim(`bulk of ${accountId}`, this.#holder, CLAIM_MS)
    if (isOurs) this.#claims.set(accountId, asked + CLAIM_MS)
    else this.#claims.delete(accountId)
    return isOurs
  }

  /** Resolves when what has begun is done, or does not go on. */
  async settled(): Promise<void> {
    await Promise.all(this.#turns.values())
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.settled()
    if (this.#claims.size > 0) await this.#parts.store.releaseClaims(this.#holder).catch(() => {})
  }
}

const pause = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))
