// A database that was restored to an earlier state would accept credentials that were revoked since. How that is noticed:
//
// - Every transaction that takes access away raises a mark (marks.ts), and so does each check of the primary by a process that
//   serves. The process knows the marks that were confirmed.
// - They are kept in a file, for the next process, and in a folder that instances share, for all of them. A change that takes
//   access away is answered when its mark is there.
// - Each check compares all that is known with the database. Only what it has found there is no longer kept by itself.
// - The database names the place where it is, which a restored dump has left, and the server its recovery target.
//
// A process that notices one of these refuses everything, and notes the reason in the database, for those that know nothing.
import { Failure } from '../../../tokens/model/errors.ts'
import { type Connection, isLost } from '../postgres-connection.ts'
import { raiseMark, readFound } from './mark-rows.ts'
import { type Found, findLoss, Knowledge, type Mark } from './marks.ts'
import { unusable, type Witness } from './witness.ts'

/** How often the file is written for checks of the primary alone. */
const SAVE_MS = 10_000
/** A process that only runs commands leaves no mark unless it takes access away, or knows of more marks than this. */
const MANY_MARKS = 50

/** Raises the mark of a transaction, once. */
export type Raise = () => Promise<void>

/** The database was restored to an earlier state: for the operator. */
export class Restored extends Error {
  override readonly name = 'Restored'
  readonly found: Found

  constructor(message: string, found: Found) {
    super(message)
    this.found = found
  }
}

export class Lineage {
  readonly #witness: Witness
  readonly serves: boolean
  readonly #knowledge = new Knowledge()
  #savedAt = Number.NEGATIVE_INFINITY
  /** Of the last change that took access away, with all before it. */
  #keeping: Promise<void> = Promise.resolve()

  constructor(witness: Witness, serves: boolean) {
    this.#witness = witness
    this.serves = serves
  }

  /** A server must not find out at the first revocation that it cannot write its file. */
  async open(): Promise<void> {
    this.#readFiles()
    if (this.serves) await this.#save().catch((error) => Promise.reject(unusable(this.#witness.folder, error)))
  }

  /** A transaction of changes. If it has raised its mark, its callers may be answered when `settle` resolves. */
  change<Result>(db: Connection, begin: readonly string[], work: (raise: Raise) => Promise<Result>): Promise<Result> {
    return this.#transaction(db, begin, work, () => this.#keep().catch(() => {}))
  }

  /** Resolves when what was confirmed is on disk, too. What could not be written is tried again by each call. */
  settle(): Promise<void> {
    return this.#keeping.catch(() => this.#keep())
  }

  /**
   * A transaction whose work calls `compare`, which throws `Restored`. `isNewServer`: other processes may have confirmed changes
   * that this one does not know of.
   */
  check<Result>(
    db: Connection,
    begin: readonly string[],
    work: (compare: (isNewServer: boolean) => Promise<void>) => Promise<Result>,
  ): Promise<Result> {
    let found: Found
    const checking = (raise: Raise) =>
      work(async (isNewServer) => {
        if (isNewServer) this.#readFiles()
        const { marks } = this.#knowledge
        found = await readFound(db, marks)
        const loss = findLoss(found, marks)
        if (loss !== undefined) throw new Restored(loss, found)
        if (this.serves || marks.length > MANY_MARKS) await raise()
      })
    return this.#transaction(db, begin, checking, () => this.#knowledge.imply(found))
  }

  /** To be called after each check. Resolves when the file is written, if it is its time. */
  async saveInTime(): Promise<void> {
    const now = performance.now()
    if (!this.serves || now < this.#savedAt + SAVE_MS) return
    this.#savedAt = now
    this.#readFiles()
    await this.#save()
  }

  close(): Promise<void> {
    return this.#witness.close()
  }

  async #transaction<Result>(
    db: Connection,
    begin: readonly string[],
    work: (raise: Raise) => Promise<Result>,
    onRaised: () => void,
  ): Promise<Result> {
    const own = this.#knowledge.take()
    let raising: Promise<Mark> | undefined
    const raise = async () => {
      raising ??= raiseMark(db, own)
      await raising
    }
    try {
      const result = await db.transaction(begin, () => {
        raising = undefined
        return work(raise)
      })
      const raised = await raising
      this.#knowledge.release(raised ?? own)
      if (raised === undefined) return result
      this.#knowledge.learn([raised])
      onRaised()
      return result
    } catch (error) {
      if (raising === undefined || !isOutcomeUnknown(error)) this.#knowledge.release(own)
      throw error
    }
  }

  #readFiles(): void {
    this.#knowledge.learn(this.#witness.readNew())
  }

  #keep(): Promise<void> {
    this.#keeping = this.#save()
    return this.#keeping
  }

  #save(): Promise<void> {
    return this.#witness.save(() => this.#knowledge.marks)
  }
}

/** Of a transaction: its connection was lost, or the answer to COMMIT. */
function isOutcomeUnknown(error: unknown): boolean {
  return isLost(error) || (error instanceof Failure && error.code === 'outcome-unknown')
}
