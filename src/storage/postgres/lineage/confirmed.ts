// What is known to have been confirmed: a few traces that a database which has not been restored to an earlier state must have.
// Pure.

/** A mark of an instance (without a stamp) or a row of an account's history (with one). */
export interface Trace {
  /** The id of the instance or of the account. */
  readonly of: string
  readonly number: number
  /** Base64. */
  readonly stamp: string | null
  /** When it was confirmed, for messages. */
  readonly at: number
}

/** By epoch: what was confirmed before the operator accepted a loss need not be there any more. */
export type Traces = Readonly<Record<string, readonly Trace[]>>

interface Kept {
  readonly trace: Trace
  /** By `performance.now`. */
  readonly knownAt: number
}

/**
 * PostgreSQL's log has commits in their order, so that a state with one commit has all that were confirmed before it began.
 * Only those are kept that are implied by none of the others: one for each connection at most.
 */
export class Confirmed {
  readonly #epochs = new Map<string, Kept[]>()

  /** `begunAt`: a moment before the transaction began. */
  add(epoch: string, trace: Trace, begunAt: number, now: number): void {
    this.#put(epoch, trace, now, ({ knownAt }) => knownAt > begunAt)
  }

  /** Takes over what another process knows. */
  adopt(traces: Traces, now: number): void {
    for (const [epoch, each] of Object.entries(traces))
      for (const trace of each) this.#put(epoch, trace, now, () => true)
  }

  #put(epoch: string, trace: Trace, knownAt: number, isKept: (kept: Kept) => boolean): void {
    const others = (this.#epochs.get(epoch) ?? []).filter(isKept)
    const same = others.find((kept) => kept.trace.of === trace.of)
    if (same !== undefined && same.trace.number >= trace.number) return void this.#epochs.set(epoch, others)
    this.#epochs.set(epoch, [...others.filter((kept) => kept !== same), { trace, knownAt }])
  }

  forget(epoch: string): void {
    this.#epochs.delete(epoch)
  }

  get traces(): Traces {
    return Object.fromEntries([...this.#epochs].map(([epoch, kept]) => [epoch, kept.map(({ trace }) => trace)]))
  }
}

/** The present entry of `homes`, and where the database is now. */
export interface Home {
  readonly epoch: string
  readonly place: string
  readonly currentPlace: string
  readonly refusedBecause: string | null
  /** Every epoch that the database knows, the present one included. */
  readonly epochs: readonly string[]
  /** Settings of a server that was recovered to a chosen moment, and on whose timeline nothing was confirmed yet. */
  readonly targets: readonly string[]
}

export interface Found {
  readonly home: Home
  /** The marks by instance, and the stamps of the history rows that were asked for, by `rowKey`. */
  readonly marks: ReadonlyMap<string, number>
  readonly stamps: ReadonlyMap<string, string>
}

export const rowKey = ({ of, number }: Pick<Trace, 'of' | 'number'>) => `${of} ${number}`

/** Why the database must have been restored to an earlier state; undefined if nothing shows that. */
export function findLoss({ home, marks, stamps }: Found, known: Traces): string | undefined {
  if (home.refusedBecause !== null) return home.refusedBecause
  const isThere = ({ of, number, stamp, ...rest }: Trace) =>
    stamp === null ? (marks.get(of) ?? -1) >= number : stamps.get(rowKey({ of, number, ...rest })) === stamp
  const unknown = Object.entries(known).filter(([epoch]) => !home.epochs.includes(epoch))
  const missing = [
    ...unknown.flatMap(([, traces]) => traces),
    ...(known[home.epoch] ?? []).filter((trace) => !isThere(trace)),
  ]
  if (missing.length > 0) {
    const last = new Date(Math.max(...missing.map(({ at }) => at))).toISOString()
    return `the database is an earlier state: it lacks what was confirmed at ${last}`
  }
  if (home.place !== home.currentPlace) {
    return 'the database was restored from a dump, or moved: it is not where it was last used'
  }
  if (home.targets.length > 0) {
    return `the database was recovered to a chosen moment (${home.targets.join(', ')})`
  }
  return undefined
}
