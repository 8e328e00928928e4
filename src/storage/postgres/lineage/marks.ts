// What a process knows to have been confirmed, and whether a database shows it. Pure.
//
// A mark is a row of the database with a number. It belongs to one process, and there to one transaction at a time, which raises it
// from exactly the number that was confirmed last. So each number of a mark is one commit, and a database in which the mark has
// this number or a higher one has that commit, with all that the commit was made on.

/** A confirmed commit. */
export interface Mark {
  readonly id: string
  readonly number: number
  /** What was confirmed before the operator accepted a loss, which begins a new epoch, need not be there any more. */
  readonly epoch: string
  /** By the database's clock. */
  readonly at: number
}

/** A mark of this process, and where it stands. */
export type Own = Pick<Mark, 'id' | 'number'>

/** What one statement has read: the present entry of `homes`, where the database is now, and the marks that were asked for. */
export interface Found {
  readonly epoch: string
  readonly place: string
  readonly currentPlace: string
  readonly refusedBecause: string | null
  /** Every epoch that the database knows, the present one included. */
  readonly epochs: readonly string[]
  /** Settings of a server that was recovered to a chosen moment, and on whose timeline nothing was confirmed yet. */
  readonly targets: readonly string[]
  /** Marks that were last raised up to this time may have been deleted. */
  readonly forgottenUntil: number
  /** By id. */
  readonly numbers: Readonly<Record<string, number>>
}

/** Whether the database has this commit. */
function has(found: Found, { id, number, epoch, at }: Mark): boolean {
  if (epoch !== found.epoch) return found.epochs.includes(epoch)
  const shown = found.numbers[id]
  return shown === undefined ? at <= found.forgottenUntil : shown >= number
}

/** Why the database must have been restored to an earlier state; undefined if nothing shows that. */
export function findLoss(found: Found, known: readonly Mark[]): string | undefined {
  if (found.refusedBecause !== null) return found.refusedBecause
  const missing = known.filter((mark) => !has(found, mark))
  if (missing.length > 0) {
    const last = new Date(Math.max(...missing.map(({ at }) => at))).toISOString()
    return `the database is an earlier state: it lacks what was confirmed at ${last}`
  }
  if (found.place !== found.currentPlace) {
    return 'the database was restored from a dump, or moved: it is not where it was last used'
  }
  if (found.targets.length === 0) return undefined
  return `the database was recovered to a chosen moment (${found.targets.join(', ')})`
}

export class Knowledge {
  readonly #known = new Map<string, Mark>()
  /** The own marks that no transaction has. The one that waits longest is next, so that all of them are raised in turn. */
  readonly #free: Own[] = []

  get marks(): readonly Mark[] {
    return [...this.#known.values()]
  }

  learn(marks: readonly Mark[]): void {
    for (const mark of marks) {
      if (mark.number > (this.#known.get(mark.id)?.number ?? 0)) this.#known.set(mark.id, mark)
    }
  }

  /** For one transaction. If its outcome stays unknown, the mark is never used again: it may stand at either number. */
  take(): Own | undefined {
    return this.#free.shift()
  }

  release(own: Own | undefined): void {
    if (own !== undefined) this.#free.push(own)
  }

  /** A transaction that has found this, and raised a mark, is committed: a database with that mark has all that was found. */
  imply(found: Found): void {
    for (const mark of this.marks) if (has(found, mark)) this.#known.delete(mark.id)
  }
}
