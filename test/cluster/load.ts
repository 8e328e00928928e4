// What callers do while the cluster is in trouble: they change tokens, make and delete some, switch others off and on, and
// verify them through every instance, over HTTP and from the memory of verifiers. Every answer is held against the ones before it, and against what is stored in the end.
import { setTimeout as pause } from 'node:timers/promises'
import { createVerifier, type Verifier } from '../../client/verifier/verifier.ts'
import { isLeftOpen, Ledger, type StoredToken, Writer } from '../faults/ledger.ts'
import { chances } from '../support/seed.ts'
import type { Target, Targets } from '../support/targets.ts'
import { type Reply, Wire } from '../trust/wire.ts'

const TOKENS_OF_WRITER = 12
const TOKENS_OF_FLIPPER = 8
const WRITERS_OF_INSTANCE = 2
const FLIPPERS_OF_INSTANCE = 2
const VERIFIERS_OF_INSTANCE = 2
const WRITER_RESTS_MS = 40
const FLIPPER_RESTS_MS = 120
const VERIFIER_RESTS_MS = 8
const LEASE_SECONDS = 2
const PROBE_RESTS_MS = 50
const TOKEN = '/api/v1/apiClient/token'

/** The last two tokens: the time without service is measured by them. */
const MEASURED = 2
export const TOKENS_OF_LOAD =
  2 * (WRITERS_OF_INSTANCE * TOKENS_OF_WRITER + FLIPPERS_OF_INSTANCE * TOKENS_OF_FLIPPER) + MEASURED

/** The longest time between two successes. */
class Outage {
  longestMs = 0
  successes = 0
  #last = performance.now()

  succeed(): void {
    this.#measure()
    this.successes++
    this.#last = performance.now()
  }

  end(): number {
    this.#measure()
    return this.longestMs
  }

  #measure(): void {
    this.longestMs = Math.max(this.longestMs, performance.now() - this.#last)
  }
}

/** What the last answer said about a token; undefined while a change is under way, and after one that was left open. */
interface Confirmed {
  status: 'active' | 'inactive' | undefined
  changes: number
}

export interface Observed {
  readonly acknowledged: number
  readonly refused: number
  readonly unknown: number
  readonly lost: number
  readonly twice: number
  readonly verdicts: number
  /** How many of all verifications verifiers decided themselves. */
  readonly fromMemory: number
  /** Accepted though a caller had been told that the token is off; refused though it had been told that it is on. */
  readonly acceptedOff: number
  readonly refusedOn: number
  /** Both through the instance behind HAProxy. */
  readonly withoutVerificationMs: number
  readonly withoutChangesMs: number
  /** What else went wrong, for the message. */
  readonly problems: readonly string[]
}

/** Whether it is accepted; undefined for neither yes nor no. */
type Asking = (credential: string) => Promise<boolean | undefined>

export class Load {
  /** One changes the account's tokens through each instance; `follower` goes through HAProxy. */
  readonly #urls: readonly [follower: string, other: string]
  readonly #targets: Targets
  readonly #ledger: Ledger
  readonly #chance: () => number
  readonly #confirmed = new Map<string, Confirmed>()
  readonly #verification = new Outage()
  readonly #changes = new Outage()
  readonly #verdicts = { all: 0, acceptedOff: 0, refusedOn: 0 }
  readonly #problems: string[] = []
  readonly #running: Promise<void>[]
  /** One through each instance, from when it holds a lease. */
  readonly #verifiers: Verifier[] = []
  #isGoing = true

  constructor(urls: readonly [follower: string, other: string], targets: Targets, name: string) {
    this.#urls = urls
    this.#targets = targets
    this.#ledger = new Ledger({ ...targets, tokens: targets.tokens.slice(0, -MEASURED) })
    this.#chance = chances(name)
    this.#running = this.#start().map((each) =>
      each.catch((error: unknown) => void this.#problems.push((error as Error).message)),
    )
  }

  /** How many changes were confirmed through HAProxy, by the caller who only measures. */
  get changes(): number {
    return this.#changes.successes
  }

  async stop(): Promise<void> {
    this.#isGoing = false
    await Promise.all(this.#running)
  }

  /** With the tokens of the account as they are stored now. */
  observe(stored: readonly StoredToken[]): Observed {
    const measured = this.#targets.tokens.slice(-MEASURED).map(({ id }) => id)
    this.#ledger.seeAll(stored.filter(({ id }) => !measured.includes(id)))
    const { counts, wrong, violations } = this.#ledger
    return {
      ...counts,
      ...wrong,
      verdicts: this.#verdicts.all,
      fromMemory: this.#verifiers.reduce((sum, { state }) => sum + state.fromMemory, 0),
      acceptedOff: this.#verdicts.acceptedOff,
      refusedOn: this.#verdicts.refusedOn,
      withoutVerificationMs: this.#verification.end(),
      withoutChangesMs: this.#changes.end(),
      problems: [...this.#problems, ...violations],
    }
  }

  #start(): Promise<void>[] {
    const tokens = [...this.#targets.tokens]
    const running: Promise<void>[] = []
    for (const url of this.#urls) {
      for (let n = 0; n < WRITERS_OF_INSTANCE; n++) running.push(this.#write(url, tokens.splice(0, TOKENS_OF_WRITER)))
    }
    const flipped = tokens.slice(0, -MEASURED)
    for (const { id } of flipped) this.#confirmed.set(id, { status: 'active', changes: 0 })
    for (const url of this.#urls) {
      for (let n = 0; n < FLIPPERS_OF_INSTANCE; n++) running.push(this.#flip(url, tokens.splice(0, TOKENS_OF_FLIPPER)))
      for (let n = 0; n < VERIFIERS_OF_INSTANCE; n++) running.push(this.#verifyAll(url, flipped))
      running.push(this.#verifyFromMemory(url, flipped))
    }
    const [verified, renamed] = tokens
    if (verified && renamed) running.push(this.#measureVerification(verified), this.#measureChanges(renamed))
    return running
  }

  async #write(url: string, own: readonly Target[]): Promise<void> {
    const writer = new Writer({
      ...{ url, targets: this.#targets, own: own.map(({ id }) => id), ledger: this.#ledger, chance: this.#chance },
      ...{ makes: true, restMs: WRITER_RESTS_MS, leavesOpen: true },
    })
    await writer.run(() => this.#isGoing)
  }

  /** Switches one token after the other off and on; after each yes it is verified through both instances, and by all verifiers. */
  async #flip(url: string, own: readonly Target[]): Promise<void> {
    const changing = new Wire(url)
    const verifying = this.#urls.map((each) => new Wire(each))
    for (let n = 0; this.#isGoing; n++) {
      const target = own[n % own.length] as Target
      if (await this.#change(changing, target)) {
        const askings = [...verifying.map(overHttp), ...this.#verifiers.map(byVerifier)]
        await Promise.all(askings.map((asking) => this.#verify(asking, target)))
      }
      await pause(FLIPPER_RESTS_MS)
    }
    for (const wire of [changing, ...verifying]) wire.close()
  }

  /** A token of which a change was left open is left alone. */
  async #change(wire: Wire, { id }: Target): Promise<boolean> {
    const before = this.#ledger.known(id)
    const confirmed = this.#confirmed.get(id)
    if (before === undefined || before === 'absent' || confirmed === undefined) return false
    const status = before.status === 'active' ? 'inactive' : 'active'
    const after = { ...before, status, version: before.version + 1 }
    confirmed.changes++
    confirmed.status = undefined
    const reply = await ask(wire, 'PUT', `${TOKEN}/${id}`, this.#targets.key, JSON.stringify({ status }))
    const outcome = outcomeOf(reply)
    if (outcome === 'open') this.#ledger.leaveOpen(id, after)
    else if (outcome === 'refused') this.#ledger.counts.refused++
    else this.#ledger.acknowledge(id, after)
    if (outcome !== 'open') confirmed.status = outcome === 'done' ? status : (before.status as 'active' | 'inactive')
    return outcome === 'done'
  }

  async #verifyAll(url: string, tokens: readonly Target[]): Promise<void> {
    const wire = new Wire(url)
    await this.#verifySome(overHttp(wire), tokens)
    wire.close()
  }

  async #verifyFromMemory(url: string, tokens: readonly Target[]): Promise<void> {
    const options = { baseUrl: url, key: this.#targets.key, leaseSeconds: LEASE_SECONDS }
    const verifier = await createVerifier(options)
    this.#verifiers.push(verifier)
    await this.#verifySome(byVerifier(verifier), tokens)
    await verifier.close()
  }

  async #verifySome(asking: Asking, tokens: readonly Target[]): Promise<void> {
    while (this.#isGoing) {
      await this.#verify(asking, tokens[Math.floor(this.#chance() * tokens.length)] as Target)
      await pause(VERIFIER_RESTS_MS)
    }
  }

  /** A verdict on a token that nobody changed meanwhile must be what its last change was answered with. */
  async #verify(asking: Asking, { id, credential }: Target): Promise<void> {
    const confirmed = this.#confirmed.get(id)
    const { status, changes } = confirmed ?? {}
    const isAccepted = await asking(credential)
    if (isAccepted === undefined || status === undefined || confirmed?.changes !== changes) return
    this.#verdicts.all++
    if (isAccepted && status === 'inactive') this.#verdicts.acceptedOff++
    if (!isAccepted && status === 'active') this.#verdicts.refusedOn++
  }

  async #measureVerification({ credential }: Target): Promise<void> {
    const wire = new Wire(this.#urls[0])
    while (this.#isGoing) {
      const reply = await ask(wire, 'GET', '/api/v1/verify', credential)
      if (reply?.status === 204) this.#verification.succeed()
      await pause(PROBE_RESTS_MS)
    }
    wire.close()
  }

  async #measureChanges({ id }: Target): Promise<void> {
    const wire = new Wire(this.#urls[0])
    for (let n = 0; this.#isGoing; n++) {
      const reply = await ask(wire, 'PUT', `${TOKEN}/${id}`, this.#targets.key, JSON.stringify({ name: `M${n}` }))
      if (reply?.status === 200) this.#changes.succeed()
      await pause(PROBE_RESTS_MS)
    }
    wire.close()
  }
}

function ask(wire: Wire, method: string, path: string, bearer: string, body?: string): Promise<Reply | undefined> {
  return wire.ask(method, path, bearer, body).catch(() => undefined)
}

function overHttp(wire: Wire): Asking {
  return async (credential) => {
    const status = (await ask(wire, 'GET', '/api/v1/verify', credential))?.status
    return status === 204 || status === 401 ? status === 204 : undefined
  }
}

function byVerifier(verifier: Verifier): Asking {
  return async (credential) => {
    const verdict = await verifier.verify(credential)
    return verdict.accepted || verdict.reason === 'inactive' ? verdict.accepted : undefined
  }
}

function outcomeOf(reply: Reply | undefined): 'done' | 'refused' | 'open' {
  if (reply?.status === 200) return 'done'
  if (isLeftOpen(reply)) return 'open'
  if (reply?.status === 503) return 'refused'
  throw new Error(`a change of status was answered ${reply?.status}: ${reply?.body}`)
}
