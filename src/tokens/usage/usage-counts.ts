// Counts verifications in memory and writes them in batches, so that verification does not write. A kill loses what was not written.
import { randomBytes } from 'node:crypto'
import { Failure } from '../model/errors.ts'
import type { Timestamp, VerifiedToken } from '../model/token.ts'
import type { UsageStore } from './ports.ts'
import { COUNTED, HOUR_MS, hourOf, type TokenUsage, type UsageReport } from './usage.ts'

/** A larger batch would delay changes. */
const WRITTEN_AT_ONCE = 2_000
/** With as many further tokens, counts are written at once. */
const MANY = 50_000
/** Some 30 MB. With as many tokens unwritten, verifications of further ones are not counted. */
const MOST = 100_000
/** For how long a report is repeated that may have been added: half as long as the store remembers it. */
const REPEATED_MS = HOUR_MS / 2

/** The same within this time need not be noted elsewhere: of a token in steady use, only its counts are looked up. */
const REPEATED_SOON_MS = 5_000

interface Counting extends TokenUsage {
  readonly counts: number[]
  /** The last one that was not repeated so soon. */
  verdict: number
  address: string | null
  at: Timestamp
}

interface Waiting extends UsageReport {
  readonly hour: number
  /** When an attempt to write it had an unknown outcome. */
  doubtfulSince?: Timestamp
}

type CountedToken = Pick<VerifiedToken, 'id' | 'subAccountId' | 'accountId'>

export class UsageCounts {
  readonly #store: Pick<UsageStore, 'addUsage'>
  readonly #now: () => Timestamp
  readonly #source = `prc_${randomBytes(12).toString('hex')}`
  #number = 0
  #hour = 0
  #counting = new Map<string, Counting>()
  #waiting: Waiting[] = []
  /** Tokens in all that waits. */
  #waitingTokens = 0
  #lost = 0
  #flushed: Promise<void> = Promise.resolve()
  /** With so many tokens, counts are written before the next flush is due. */
  #flushAt = MANY

  constructor(store: Pick<UsageStore, 'addUsage'>, now: () => Timestamp) {
    this.#store = store
    this.#now = now
  }

  /** `verdict`: a position in `COUNTED`. False if the same was noted of this token just before. */
  note(token: CountedToken, verdict: number, at: Timestamp, address: string | null = null): boolean {
    const hour = hourOf(at)
    if (hour !== this.#hour) this.#beginHour(hour)
    const counting = this.#counting.get(token.id) ?? this.#begin(token)
    if (counting === undefined) {
      this.#lost++
      return true
    }
    counting.counts[verdict] = (counting.counts[verdict] ?? 0) + 1
    const isLike = counting.verdict === verdict && counting.address === address
    if (isLike && at < counting.at + REPEATED_SOON_MS) return false
    Object.assign(counting, { verdict, address, at })
    return true
  }

  /** What a verifier has counted. A report that is repeated has the same source and number. */
  add(report: UsageReport): void {
    if (this.#tokens + report.tokens.length > MOST) this.#lose(report)
    else this.#await({ ...report, hour: hourOf(this.#now()) })
    this.#flushMany()
  }

  /** Verifications that could not be counted since the start. */
  get lost(): number {
    return this.#lost
  }

  /** What cannot be written is kept for the next flush. */
  flush(): Promise<void> {
    const flushing = this.#flushed.then(() => this.#flush())
    this.#flushed = flushing.catch(() => {})
    return flushing
  }

  get #tokens(): number {
    return this.#waitingTokens + this.#counting.size
  }

  #begin({ id: tokenId, subAccountId, accountId }: CountedToken): Counting | undefined {
    if (this.#tokens >= MOST) return undefined
    const none = { verdict: -1, address: null, at: 0 }
    const counting = { tokenId, subAccountId, accountId, counts: COUNTED.map(() => 0), ...none }
    this.#counting.set(tokenId, counting)
    this.#flushMany()
    return counting
  }

  /** A failure is reported by the next flush that is due. */
  #flushMany(): void {
    if (this.#tokens < this.#flushAt) return
    this.#flushAt = this.#tokens + MANY
    void this.flush().catch(() => {})
  }

  #beginHour(hour: number): void {
    this.#close()
    this.#hour = hour
  }

  /** What was counted so far becomes reports. */
  #close(): void {
    // Each write reads and adds up what is kept of the accounts and sub-accounts of its tokens: the fewer, the cheaper.
    const bySubAccount = Map.groupBy(this.#counting.values(), ({ subAccountId }) => subAccountId)
    const byAccount = Map.groupBy(bySubAccount.values(), ([first]) => first?.accountId)
    const tokens = [...byAccount.values()].flat(2).map(({ verdict, address, at, ...usage }) => usage)
    this.#counting = new Map()
    for (let from = 0; from < tokens.length; from += WRITTEN_AT_ONCE) {
      const some = tokens.slice(from, from + WRITTEN_AT_ONCE)
      this.#await({ source: this.#source, number: ++this.#number, hour: this.#hour, tokens: some })
    }
  }

  #await(report: Waiting): void {
    this.#waiting.push(report)
    this.#waitingTokens += report.tokens.length
  }

  async #flush(): Promise<void> {
    this.#close()
    this.#dropDoubtful()
    // Only what waits now: later counts would be written in small batches.
    for (let left = this.#waiting.length; left > 0; ) {
      const batch = this.#nextBatch()
      left -= batch.length
      await this.#write(batch)
    }
    this.#flushAt = this.#tokens + MANY
  }

  /** Of one hour. */
  #nextBatch(): readonly Waiting[] {
    const [first] = this.#waiting
    let tokens = 0
    const end = this.#waiting.findIndex((report, n) => {
      tokens += report.tokens.length
      return n > 0 && (report.hour !== first?.hour || tokens > WRITTEN_AT_ONCE)
    })
    return this.#waiting.slice(0, end === -1 ? undefined : end)
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    const [at, hour] = [this.#now(), batch[0]?.hour ?? 0]
    try {
      await this.#store.addUsage(
        hour,
        batch.map(({ source, number, tokens }) => ({ source, number, tokens })),
        at,
      )
    } catch (error) {
      const isDoubtful = error instanceof Failure && error.code === 'outcome-unknown'
      for (const report of isDoubtful ? batch : []) report.doubtfulSince ??= at
      throw error
    }
    this.#remove(new Set(batch))
  }

  /** The store may have forgotten by now that it has added them. */
  #dropDoubtful(): void {
    const limit = this.#now() - REPEATED_MS
    const dropped = this.#waiting.filter(({ doubtfulSince = limit }) => doubtfulSince < limit)
    for (const report of dropped) this.#lose(report)
    if (dropped.length > 0) this.#remove(new Set(dropped))
  }

  #remove(reports: ReadonlySet<Waiting>): void {
    this.#waiting = this.#waiting.filter((report) => !reports.has(report))
    for (const { tokens } of reports) this.#waitingTokens -= tokens.length
  }

  #lose({ tokens }: UsageReport): void {
    for (const { counts } of tokens) for (const count of counts) this.#lost += count
  }
}
