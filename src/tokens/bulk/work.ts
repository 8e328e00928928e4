// Carries out bulk operations, one at a time for each account and by one process at a time: the one that holds the account's claim.
// Accounts take turns, step by step.
// The claim only saves work: an operation goes on from where its row says, in the transaction of the step, in whichever process.
import { randomUUID } from 'node:crypto'
import { Failure, type FailureCode } from '../model/errors.ts'
import type { Parts } from '../trust/parts.ts'
import { isGenuine, type Stamped } from '../trust/stamp.ts'
import { CLAIM_MS } from '../webhooks/dispatch.ts'
import type { ClaimStore } from '../webhooks/ports.ts'
import { nextPart, type StoredBulk } from './bulk.ts'
import type { BulkStore } from './ports.ts'
import { BULK_OPERATIONS, BULK_PARTS } from './tables.ts'

const MAX_STEPS_AT_ONCE = 4
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

interface Step {
  readonly operation: Stamped<StoredBulk>
  /** As `endBulk` takes it; undefined if the operation goes on. */
  readonly end: StoredBulk['error'] | undefined
  readonly ms: number
}

/** So much at a time. Who waits longest is next, so that everybody gets on equally fast. */
class Turns {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(atOnce: number) {
    this.#free = atOnce
  }

  async take<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => void this.#waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}

export class BulkWork {
  readonly #holder = randomUUID()
  readonly #parts: Parts<BulkWorkPorts>
  readonly #events: BulkEvents
  /** By account. */
  readonly #going = new Map<string, Promise<void>>()
  readonly #steps = new Turns(MAX_STEPS_AT_ONCE)
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
    for (let after: string | undefined = ''; after !== undefined; ) {
      const found: readonly StoredBulk[] = await this.#parts.store.listRunningBulk(after, LOOKED_AT_ONCE)
      for (const operation of found) this.#beginWith(operation)
      after = found.length < LOOKED_AT_ONCE ? undefined : found.at(-1)?.id
    }
  }

  #beginWith({ accountId, id }: StoredBulk): void {
    const isResting = performance.now() < (this.#restingUntil.get(accountId) ?? 0)
    if (this.#isStopped || isResting || this.#going.has(accountId)) return
    const going = this.#carryOut(accountId, id)
      .catch((error) => {
        this.#restingUntil.set(accountId, performance.now() + REST_MS)
        this.#events.onFailed(id, error)
      })
      .finally(() => this.#going.delete(accountId))
    this.#going.set(accountId, going)
  }

  /** Until there is nothing left to do, or somebody else does it. */
  async #carryOut(accountId: string, id: string): Promise<void> {
    for (;;) {
      const step = await this.#steps.take(() => this.#stepNext(accountId, id))
      if (step === undefined) return
      // Without a turn: verifiers are waited for.
      if (step.end !== undefined) await this.#parts.store.endBulk(step.operation, step.end, this.#parts.now())
      // Other changes, and verification, get as much time as this took.
      await pause(step.ms)
    }
  }

  async #stepNext(accountId: string, id: string): Promise<Step | undefined> {
    if (this.#isStopped || !(await this.#claim(accountId))) return undefined
    const operation = await this.#parts.store.findBulk(accountId, id)
    if (operation?.status !== 'running') return undefined
    const begun = performance.now()
    const end = await this.#step(operation)
    return { operation, end, ms: performance.now() - begun }
  }

  /** Why the operation ends, null if nothing is left to do; undefined if it goes on. */
  async #step(operation: Stamped<StoredBulk>): Promise<StoredBulk['error'] | undefined> {
    const { store, now, stamps } = this.#parts
    const number = nextPart(operation)
    if (!isGenuine(BULK_OPERATIONS, operation, stamps)) return this.#altered('bulk', operation)
    if (number === undefined) return null
    const part = await store.findBulkPart(operation.id, number)
    if (part === undefined || !isGenuine(BULK_PARTS, part, stamps)) return this.#altered('bulk-part', operation)
    try {
      await store.advanceBulk(operation, part, now())
      this.#events.onChanged()
      return undefined
    } catch (error) {
      if (!(error instanceof Failure && AUTHORITY_ENDED.includes(error.code))) throw error
      return 'revoked'
    }
  }

  #altered(kind: 'bulk' | 'bulk-part', { id }: StoredBulk): 'altered' {
    this.#parts.onTampered({ kind, id })
    return 'altered'
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
    await Promise.all(this.#going.values())
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.settled()
    if (this.#claims.size > 0) await this.#parts.store.releaseClaims(this.#holder).catch(() => {})
  }
}

const pause = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))
