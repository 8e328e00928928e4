// A verifier: `verify()` from the memory of this process, kept true by a lease of the service (docs/reference/verifier-protocol.md). This file has the
// clocks, the calls and the limits; memory.ts decides.
import { hash, randomBytes } from 'node:crypto'
import { parseAddress } from '../../src/tokens/verify/addresses.ts'
import { kindOfCredential } from '../../src/tokens/verify/credential-format.ts'
import { decide, type Entry, type ReadyEntry, readyEntry } from '../../src/tokens/verify/entry.ts'
import { type Access as Asked, readScopes } from '../../src/tokens/verify/policy.ts'
import { dataOf, type Accepted as Passed, type Refused as Stopped } from '../answer.ts'
import { invalidRequest, LatchkeyError } from '../error.ts'
import type { Access } from '../latchkey-client.ts'
import { VERSION } from '../operations.ts'
import { send } from '../send.ts'
import {
  answered,
  asked,
  countUsage,
  countVerdict,
  endLease,
  hasEnded,
  holdsLease,
  type LeaseAnswer,
  type LeaseCall,
  leaseAnswered,
  leaseCall,
  leaseFailed,
  markUse,
  newMemory,
  noteRecent,
  type Times,
} from './memory.ts'

export interface VerifierOptions {
  /** Where the service is, such as `https://tokens.example.com`. */
  readonly baseUrl: string
  /** An account key with the role `verifier`. */
  readonly key: string
  /** Shown where the service lists its verifiers; best the name of the application and of its host. */
  readonly name?: string | undefined
  /** 2 to 60; 10 unless said otherwise. A change waits so long for a verifier that has stopped without `close()`. */
  readonly leaseSeconds?: number | undefined
  /** Credentials that are remembered; 100,000 unless said otherwise, about 900 bytes each. */
  readonly maxEntries?: number | undefined
  /** How long a question to the service may take; 5,000 unless said otherwise. */
  readonly timeoutMs?: number | undefined
  /**
   * The lease is lost, and why: `code` is `lease-lost`, `verifier-evicted`, or what has kept it from being prolonged in time. Every
   * verification asks the service until another lease is held, which an evicted verifier does not get.
   */
  readonly onLeaseLost?: ((failure: LatchkeyError) => void) | undefined
  /** Instead of the global one; must follow `init.signal`. */
  readonly fetch?: typeof globalThis.fetch | undefined
  /** @internal */
  readonly clock?: () => Times
}

interface From {
  readonly source: 'memory' | 'service'
}
export type VerifierVerdict = (Passed & From) | (Stopped & From)

export interface VerifierState {
  /** `lost`: every verification asks the service. */
  readonly lease: 'held' | 'lost'
  readonly entries: number
  /** Verifications since the start. */
  readonly fromMemory: number
  readonly fromService: number
}

export interface Verifier {
  /**
   * As `verify` of the client, and never rejects because the service cannot be asked: then the reason is `unavailable`. Nobody must
   * be let in by it.
   */
  verify(credential: string, access?: Access): Promise<VerifierVerdict>
  readonly state: VerifierState
  /** Gives the lease back, so that no change waits for it. From then on every verification asks the service. */
  close(): Promise<void>
}

/** Rejects where the service refuses the key; a service that cannot be reached is tried until it can. */
export async function createVerifier(options: VerifierOptions): Promise<Verifier> {
  const verifier = new LeasedVerifier(options)
  await verifier.start()
  return verifier
}

/** `limits`: the headers of rates and quotas that the service would send. @internal */
export interface Decided {
  readonly verdict: VerifierVerdict
  readonly limits?: Readonly<Record<string, string>> | undefined
}

const LEASE_SECONDS = 10
const MAX_ENTRIES = 100_000
const TIMEOUT_MS = 5_000
const PATH = '/api/v1/apiClient/verifier'
/** Questions that are sent at a time, and that wait to be sent; more are answered `unavailable`. */
const MAX_SENT = 64
const MAX_WAITING = 1_000
const MAX_SCOPES = 1_000
const RETRY_MS = { least: 200, most: 10_000 }
/** Between two calls of which the first was answered at once, though nothing has changed. */
const PAUSE_MS = 100

const UNKNOWN: VerifierVerdict = { accepted: false, reason: 'unknown', source: 'memory' }
const UNAVAILABLE: Stopped & From = { accepted: false, reason: 'unavailable', retryAfterSeconds: 1, source: 'service' }

/** @internal */
export class LeasedVerifier implements Verifier {
  readonly #options: VerifierOptions
  readonly #clock: () => Times
  readonly #memory
  /** So that what is remembered cannot be compared with credentials, or with the memory of another process. */
  readonly #salt = randomBytes(32).toString('latin1')
  /** Tells the reports of this process from those of others. */
  readonly #source = randomBytes(12).toString('hex')
  readonly #closing = new AbortController()
  /** Of credentials whose first question is on its way. */
  readonly #first = new Map<string, Promise<unknown>>()
  /** Hashes of credentials of which nothing may be remembered: each verification asks without waiting for another. */
  readonly #never = new Set<string>()
  readonly #waiting: (() => void)[] = []
  #sent = 0
  /** Parsed: applications ask for the same few again and again. */
  readonly #scopes = new Map<string, NonNullable<Asked['scopes']>>()
  #countFromMemory = 0
  #countFromService = 0
  #loop: Promise<void> | undefined
  /** Since the last call that was answered, as far as anybody was told. */
  #isHeld = false

  constructor(options: VerifierOptions) {
    this.#options = options
    this.#clock = options.clock ?? (() => ({ monotonic: performance.now(), wall: Date.now() }))
    this.#memory = newMemory(options.maxEntries ?? MAX_ENTRIES)
  }

  get state(): VerifierState {
    const lease = holdsLease(this.#memory, this.#clock()) ? 'held' : 'lost'
    const [fromMemory, fromService] = [this.#countFromMemory, this.#countFromService]
    return { lease, entries: this.#memory.entries.size, fromMemory, fromService }
  }

  async start(): Promise<void> {
    const failure = await this.#renew()
    const isRefused = failure !== undefined && failure.status >= 400 && failure.status < 500 && failure.status !== 429
    if (failure?.code === 'invalid-request' || (isRefused && failure.code !== 'unexpected-answer')) throw failure
    this.#loop = this.#keepLease(failure === undefined ? 0 : 1)
  }

  async close(): Promise<void> {
    const { lease } = this.#memory
    this.#closing.abort()
    await this.#loop
    endLease(this.#memory)
    if (lease === undefined) return
    const { id, position } = lease
    const { uses, verdicts, ...call } = leaseCall(this.#memory, this.#clock())
    const end = { lease: id, position, end: true, uses, verdicts, ...this.#usageOf(call) }
    // Where this fails, a change waits until the lease has run out.
    await this.#post('lease', end, { timeoutMs: TIMEOUT_MS, retries: 0 }).catch(() => undefined)
  }

  async verify(credential: string, access: Access = {}): Promise<VerifierVerdict> {
    const wanted = this.#accessOf(access)
    const name = this.#nameOf(credential)
    return this.#fromMemory(name, wanted) ?? (await this.#fromService(name, credential, access, wanted)).verdict
  }

  /** As `verify`, and with what else the service would send. */
  async decide(credential: string, access: Access = {}): Promise<Decided> {
    const wanted = this.#accessOf(access)
    const name = this.#nameOf(credential)
    const verdict = this.#fromMemory(name, wanted)
    return verdict === undefined ? this.#fromService(name, credential, access, wanted) : { verdict }
  }

  /** `crypto.hash` takes half the time of an HMAC, and the salt is as good as a key here. */
  #nameOf(credential: string): string {
    return hash('sha256', this.#salt + credential, 'binary')
  }

  /** Throws where the scope is not one: nobody passes then. */
  #accessOf({ scope, address }: Access): Asked {
    if (scope === undefined) return { address }
    const known = typeof scope === 'string' ? this.#scopes.get(scope) : undefined
    if (known !== undefined) return { scopes: known, address }
    const read = readScopes(scope)
    if ('problem' in read) throw invalidRequest(read.problem)
    if (typeof scope === 'string' && this.#scopes.size < MAX_SCOPES) this.#scopes.set(scope, read.scopes)
    return { scopes: read.scopes, address }
  }

  async #fromService(name: string, credential: string, access: Access, wanted: Asked): Promise<Decided> {
    if (kindOfCredential(credential) !== 'tok') return { verdict: UNKNOWN }
    const first = this.#first.get(name)
    if (first !== undefined) {
      // Its answer itself may be older than a change that was answered before this call began; what is remembered is not.
      await first.catch(() => undefined)
      const remembered = this.#fromMemory(name, wanted)
      if (remembered !== undefined) return { verdict: remembered }
    }
    const { scope, address } = access
    // What is no address is not known, as in memory.
    const known = address !== undefined && parseAddress(address) !== undefined ? address : undefined
    const asking = this.#ask(name, { credential, scope, address: known })
    if (first !== undefined || this.#never.has(name)) return asking
    this.#first.set(name, asking)
    return asking.finally(() => this.#first.delete(name))
  }

  #fromMemory(name: string, access: Asked): VerifierVerdict | undefined {
    const memory = this.#memory
    const remembered = memory.entries.get(name)
    if (remembered === undefined) return undefined
    const verdict = decide(remembered.entry, access)
    // Read after the verdict: whatever held this process up before counts against the lease.
    const now = this.#clock()
    if (hasEnded(remembered, now) || !holdsLease(memory, now)) return undefined
    this.#countFromMemory++
    const { tokenId, formerUntil } = remembered.entry
    const reason = verdict.accepted ? null : verdict.reason
    countVerdict(memory, reason ?? 'accepted')
    countUsage(memory, tokenId, reason ?? 'accepted')
    const verification = { reason, address: access.address ?? null, at: now.monotonic }
    noteRecent(memory, remembered, verification)
    if (verdict.accepted) {
      markUse(memory, tokenId, now)
      if (formerUntil !== undefined) noteRecent(memory, remembered, { ...verification, formerUntil })
    }
    return { ...verdict, source: 'memory' }
  }

  async #ask(name: string, body: object): Promise<Decided> {
    if (this.#sent >= MAX_SENT) {
      if (this.#waiting.length >= MAX_WAITING) return { verdict: UNAVAILABLE }
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    this.#sent++
    this.#countFromService++
    const question = asked(this.#memory, this.#clock())
    let entry: ReadyEntry | null | undefined
    try {
      const { timeoutMs = TIMEOUT_MS } = this.#options
      const answer = (await this.#post('verify', body, { timeoutMs, retries: 1 })) as Answered
      const { entry: sentEntry, limitHeaders: limits, ...verdict } = answer
      entry = sentEntry ? readyEntry(sentEntry) : null
      if (entry === null) this.#neverRemember(name)
      return { verdict: { ...verdict, source: 'service' }, limits }
    } catch (error) {
      if (error instanceof LatchkeyError && error.code === 'invalid-request') throw error
      const { retryAfterSeconds = 1 } = error instanceof LatchkeyError ? error : {}
      return { verdict: { ...UNAVAILABLE, retryAfterSeconds } }
    } finally {
      answered(this.#memory, question, name, entry)
      this.#sent--
      this.#waiting.shift()?.()
    }
  }

  #neverRemember(name: string): void {
    if (this.#never.size >= this.#memory.maxEntries) this.#never.clear()
    this.#never.add(name)
  }

  async #keepLease(failures: number): Promise<void> {
    while (!this.#closing.signal.aborted && !this.#memory.isEvicted) {
      if (failures > 0) await this.#pause(jitter(failures))
      const failure = await this.#renew()
      failures = failure === undefined ? 0 : failures + 1
    }
  }

  #usageOf({ usage }: LeaseCall) {
    return usage && { usage: { source: this.#source, ...usage } }
  }

  /** One call for the lease; the failure, if there is one. */
  async #renew(): Promise<LatchkeyError | undefined> {
    const sentAt = this.#clock()
    const call = leaseCall(this.#memory, sentAt)
    const { name, leaseSeconds = LEASE_SECONDS } = this.#options
    const begin = call.lease === undefined ? { name, version: VERSION, leaseSeconds } : {}
    // The service answers after at most half a term, so that there is time to try again.
    const limits = { timeoutMs: (this.#memory.lease?.termMs ?? leaseSeconds * 1_000) * (2 / 3), retries: 0 }
    try {
      const sent = { ...call, ...begin, ...this.#usageOf(call) }
      const answer = (await this.#post('lease', sent, limits)) as LeaseAnswer
      const isNothingNew = call.lease !== undefined && answer.forget.length === 0
      leaseAnswered(this.#memory, sentAt, answer)
      this.#isHeld = true
      if (isNothingNew && this.#clock().monotonic - sentAt.monotonic < PAUSE_MS) await this.#pause(PAUSE_MS)
      return undefined
    } catch (error) {
      const failure = error instanceof LatchkeyError ? error : new LatchkeyError('Closed', { code: 'unreachable' })
      leaseFailed(this.#memory, call, sentAt, failure.code)
      this.#tellIfLost(failure)
      return failure
    }
  }

  #tellIfLost(failure: LatchkeyError): void {
    const isLost = this.#isHeld && !holdsLease(this.#memory, this.#clock())
    // That it was evicted is said in any case: it is for good.
    if (this.#closing.signal.aborted || !(isLost || this.#memory.isEvicted)) return
    this.#isHeld = false
    // What it throws is not for the loop that keeps the lease.
    queueMicrotask(() => this.#options.onLeaseLost?.(failure))
  }

  async #post(operation: 'lease' | 'verify', body: object, limits: { timeoutMs?: number; retries: number }) {
    const { baseUrl, key, fetch } = this.#options
    const request = {
      operation,
      method: 'POST',
      url: `${PATH}/${operation}`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      isReading: true,
      isRepeatable: true,
    }
    const signal = operation === 'lease' && !('end' in body) ? this.#closing.signal : undefined
    return dataOf(await send(request, { baseUrl, fetch, authorization: `Bearer ${key}`, signal, ...limits }), 'data')
  }

  #pause(ms: number): Promise<void> {
    const { signal } = this.#closing
    return new Promise((resolve) => {
      if (signal.aborted) return resolve()
      const timer = setTimeout(resolve, ms)
      signal.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true })
    })
  }
}

/** The decision, and what may be remembered of it. */
type Answered = (Passed | Stopped) & { readonly entry?: Entry; readonly limitHeaders?: Decided['limits'] }

/** So that many verifiers do not come back in the same moment. */
function jitter(failures: number): number {
  const { least, most } = RETRY_MS
  return Math.max(least, Math.random() * Math.min(most, least * 2 ** failures))
}
