// What callers were told about the tokens they changed, held against what is stored: a change that was answered with
// yes is there, one that was refused is not, and one whose answer never came is there whole or not at all.
import { setTimeout as pause } from 'node:timers/promises'
import type { Targets } from '../support/targets.ts'
import { type Reply, Wire } from '../trust/wire.ts'

export interface StoredToken {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly version: number
}

type State = 'absent' | Omit<StoredToken, 'id'>

/** Tokens made by the load have such names, and are never renamed: one whose answer was lost is known by it. */
const MADE = 'made '
const TOKEN = '/api/v1/apiClient/token'

export class Ledger {
  readonly counts = { acknowledged: 0, refused: 0, unknown: 0 }
  readonly violations: string[] = []
  /** Of the violations: what is older than the answers said, and what is newer. */
  readonly wrong = { lost: 0, twice: 0 }
  /** One state after an answer that was clear, and one more for each change whose answer was not. */
  readonly #possible = new Map<string, readonly State[]>()

  constructor({ tokens }: Targets) {
    tokens.forEach(({ id }, n) => void this.#possible.set(id, [{ name: `T${n}`, status: 'active', version: 1 }]))
  }

  /** What is known of a token; undefined while that is more than one thing. */
  known(subject: string): State | undefined {
    const [state = 'absent', ...others] = this.#possible.get(subject) ?? []
    return others.length === 0 ? state : undefined
  }

  acknowledge(subject: string, state: State): void {
    this.counts.acknowledged++
    this.#possible.set(subject, [state])
  }

  leaveOpen(subject: string, state: State): void {
    this.counts.unknown++
    this.#possible.set(subject, [...(this.#possible.get(subject) ?? ['absent']), state])
  }

  /** What was seen must be possible, and is what holds from then on. */
  see(subject: string, seen: State): void {
    const possible = this.#possible.get(subject) ?? ['absent']
    if (!possible.some((state) => same(state, seen))) {
      this.violations.push(`${subject} is ${JSON.stringify(seen)} but must be ${JSON.stringify(possible)}`)
      this.wrong[isNewer(this.#possible.get(subject), seen) ? 'twice' : 'lost']++
    }
    this.#possible.set(subject, [seen])
  }

  /** Everything that is stored, and nothing else. */
  seeAll(tokens: readonly StoredToken[]): void {
    const stored = new Map<string, State>()
    for (const { id, name, status, version } of tokens) {
      const subject = name.startsWith(MADE) ? name : id
      if (stored.has(subject)) {
        this.violations.push(`${subject} was made twice`)
        this.wrong.twice++
      }
      stored.set(subject, { name, status, version })
    }
    for (const subject of new Set([...this.#possible.keys(), ...stored.keys()])) {
      this.see(subject, stored.get(subject) ?? 'absent')
    }
  }
}

function same(left: State, right: State): boolean {
  if (left === 'absent' || right === 'absent') return left === right
  return left.name === right.name && left.status === right.status && left.version === right.version
}

/** More was done than was answered with yes or left open. */
function isNewer(possible: readonly State[] | undefined, seen: State): boolean {
  if (possible === undefined || seen === 'absent') return possible === undefined
  const versions = possible.flatMap((state) => (state === 'absent' ? [] : [state.version]))
  // What was deleted and is there again is older.
  return versions.length > 0 && seen.version > Math.max(...versions)
}

export interface WriterOptions {
  readonly url: string
  readonly targets: Targets
  /** The tokens that this writer, and nobody else, changes. */
  readonly own: readonly string[]
  readonly ledger: Ledger
  readonly chance: () => number
  /** Whether to make and delete tokens too. */
  readonly makes: boolean
  readonly onAnswer?: (ms: number) => void
  /** How long a writer waits after each answer. */
  readonly restMs?: number
  /**
   * Leaves a token alone once a change of it was left open: where a commit waits for a standby, the change may come into
   * effect after a read that did not show it.
   */
  readonly leavesOpen?: boolean
}

/** One caller: a change at a time, each written down before it is sent and once it is answered. */
export class Writer {
  readonly #options: WriterOptions
  readonly #wire: Wire
  readonly #made: { readonly id: string; readonly name: string }[] = []
  #lastNumber = 0

  constructor(options: WriterOptions) {
    this.#options = options
    this.#wire = new Wire(options.url)
  }

  /** Ends early, and says so, when the connection is lost: the server is gone. */
  async run(going: () => boolean): Promise<void> {
    const { makes, chance, restMs } = this.#options
    let connected = true
    while (connected && going()) {
      const kind = makes ? chance() : 1
      const doomed = this.#made.length > 0
      connected = await (kind < 0.1 ? this.#make() : kind < 0.2 && doomed ? this.#delete() : this.#update())
      if (restMs !== undefined) await pause(restMs)
    }
    this.#wire.close()
  }

  async #update(): Promise<boolean> {
    const { own, chance, ledger } = this.#options
    const id = own[Math.floor(chance() * own.length)] ?? ''
    const before = ledger.known(id)
    if (before === undefined) return this.#options.leavesOpen === true || this.#find(id)
    if (before === 'absent') throw new Error(`${id} is gone`)
    const status = before.status === 'active' ? 'inactive' : 'active'
    const after = { name: `N${before.version + 1} of ${id}`, status, version: before.version + 1 }
    const body = JSON.stringify({ name: after.name, status })
    return this.#change('PUT', `${TOKEN}/${id}`, body, id, after)
  }

  /** After an answer that left it open, asks what became of the token. */
  async #find(id: string): Promise<boolean> {
    const reply = await this.#ask('GET', `${TOKEN}/${id}?include=details`)
    if (reply?.status !== 200) return reply !== undefined
    const { name, status, details } = JSON.parse(Buffer.from(reply.body, 'latin1').toString()).data
    this.#options.ledger.see(id, { name, status, version: details.version })
    return true
  }

  #make(): Promise<boolean> {
    const { subAccountId } = this.#options.targets
    const name = `${MADE}${this.#options.own[0]} ${++this.#lastNumber} ${process.hrtime.bigint()}`
    const body = JSON.stringify({ subAccountId, name })
    return this.#change('POST', TOKEN, body, name, { name, status: 'active', version: 1 }, (answer) =>
      this.#made.push({ id: JSON.parse(answer).data._id, name }),
    )
  }

  #delete(): Promise<boolean> {
    const { id, name } = this.#made.pop() ?? { id: '', name: '' }
    return this.#change('DELETE', `${TOKEN}/${id}`, '', name, 'absent')
  }

  async #change(
    method: string,
    path: string,
    body: string,
    subject: string,
    after: State,
    onYes: (answer: string) => void = () => {},
  ): Promise<boolean> {
    const { ledger } = this.#options
    const reply = await this.#ask(method, path, body)
    if (reply?.status === 200 || reply?.status === 201) {
      ledger.acknowledge(subject, after)
      onYes(reply.body)
    } else if (isLeftOpen(reply)) ledger.leaveOpen(subject, after)
    else if (reply?.status === 503) ledger.counts.refused++
    else throw new Error(`${method} was answered ${reply?.status}: ${reply?.body}`)
    return reply !== undefined
  }

  async #ask(method: string, path: string, body?: string) {
    const start = performance.now()
    const reply = await this.#wire.ask(method, path, this.#options.targets.key, body).catch(() => undefined)
    this.#options.onAnswer?.(performance.now() - start)
    return reply
  }
}

/** Without an answer, or with one that says so, a change may have been made. */
export function isLeftOpen(reply: Reply | undefined): boolean {
  return reply === undefined || /^x-latchkey-error: outcome-unknown\r?$/im.test(reply.head)
}

/** So many writers at once, each with tokens of its own, until `going` says no or the server is gone. */
export async function writeAtOnce(
  count: number,
  options: Omit<WriterOptions, 'own'>,
  going: () => boolean,
): Promise<void> {
  const shares = Array.from({ length: count }, (_, n) =>
    options.targets.tokens.filter((_token, index) => index % count === n).map(({ id }) => id),
  )
  await Promise.all(shares.map((own) => new Writer({ ...options, own }).run(going)))
}
