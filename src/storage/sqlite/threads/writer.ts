// Commits batches of changes, each as one transaction, and answers when the commit and its line of the revocation journal are
// durable. Knows nothing of threads.
import { Failure, failure } from '../../../tokens/model/errors.ts'
import type { Stamps } from '../../../tokens/trust/vault.ts'
import { CHANGES } from '../../changes/all.ts'
import type { Change } from '../../changes/change.ts'
import { checkpointIfDue } from '../files/checkpoint.ts'
import { Journal, OutOfStep, type Recovery } from '../journal/journal.ts'
import { makeChange } from '../sql/make-change.ts'
import { mergeAlong, tidySearch } from '../sql/search-index.ts'
import { writes } from '../sql/writes.ts'
import { isBusy, isFull, isStoreFault } from '../sqlite-connection.ts'
import { Transaction } from '../transaction.ts'
import { type Call, type Operations, perform, type Reply, refusal } from './calls.ts'
import type { Reopening } from './reopening.ts'

/** New names before the complete search index is merged, which takes some 0.9 µs for each token of the store. */
const NAMES_BEFORE_FULL_MERGE = 1_000

const operations: Operations = { ...writes, tidySearch }
const asks: Readonly<Record<string, (...args: never[]) => Change<unknown>>> = CHANGES

type Run = (transaction: Transaction, call: Call) => Reply

export class Writer {
  readonly #connection: Reopening
  readonly #journal: Journal
  readonly #stamps: Stamps
  /** Whether the journal is known to be in step with the store. */
  #inStep = false
  /** Names since the last full merge of the search index. At the start unknown, so a merge is due. */
  #indexed = NAMES_BEFORE_FULL_MERGE

  constructor(connection: Reopening, journalPath: string, stamps: Stamps) {
    this.#connection = connection
    this.#journal = new Journal(journalPath)
    this.#stamps = stamps
  }

  /** Reconciles journal and store. Throws when the database cannot be opened. */
  open(acceptRevocationLoss: boolean): Recovery {
    this.#connection.get()
    try {
      return { obstacle: undefined, replayed: this.#recover(acceptRevocationLoss) }
    } catch (error) {
      if (!(error instanceof Failure && error.code === 'revocations-unknown')) throw error
      return { obstacle: (error.cause as Error).message, replayed: 0 }
    }
  }

  commit(batch: readonly Call[]): Promise<Reply[]> {
    return this.#commit(batch, runWithoutSavepoint)
  }

  /** Resolves to true when there is more to do. */
  async tidy(): Promise<boolean> {
    const mergeFully = this.#indexed >= NAMES_BEFORE_FULL_MERGE
    const [reply] = await this.commit([{ id: 0, name: 'tidySearch', args: [mergeFully] }])
    const more = reply !== undefined && 'value' in reply ? reply.value : undefined
    if (mergeFully && more !== undefined) this.#indexed = 0
    return more === true
  }

  /** After the answers. What fails is tried again after the next commit. */
  checkpoint(): void {
    try {
      checkpointIfDue(this.#connection.get(), this.#connection.path)
    } catch (error) {
      this.#connection.dropIfBroken(error)
    }
  }

  close(): void {
    this.#connection.close()
    this.#journal.close()
  }

  /**
   * Savepoints are used only where needed: they make SQLite copy every page that it touches. The journal's line is written after
   * COMMIT: written before, it would be there after a crash although its changes are not, and could not be told from a line that
   * an older store lacks.
   */
  async #commit(batch: readonly Call[], run: Run, again = true): Promise<Reply[]> {
    let committing = false
    try {
      const db = this.#connection.get()
      if (!this.#inStep) this.#recover(false)
      const transaction = new Transaction(db, this.#stamps)
      db.control('BEGIN IMMEDIATE')
      const replies = batch.map((call) => run(transaction, call))
      transaction.settle()
      mergeAlong(transaction)
      const line = this.#journal.store(transaction)
      committing = true
      db.control('COMMIT')
      this.#indexed += transaction.indexed
      if (line !== undefined) await this.#journal.write(line)
      return replies
    } catch (error) {
      // The batch may have been committed, but no change may be confirmed.
      this.#connection.rollBack()
      if (this.#journal.isDoubtful) this.#repairJournal()
      if (error instanceof PartlyWritten) return this.#commit(batch, runInSavepoint, again)
      if (error instanceof OutOfStep && again) {
        this.#inStep = false
        return this.#commit(batch, run, false)
      }
      this.#connection.dropIfBroken(error)
      const meaning = committing ? meaningAtCommit(error) : error
      return batch.map(({ id }) => refusal(id, meaning))
    }
  }

  /**
   * Writes a line that may not have reached the disk again, at once: a caller whose outcome is unknown may read the token and
   * rely on what it shows. If this fails too, every later change is refused until it succeeds.
   */
  #repairJournal(): void {
    this.#inStep = false
    try {
      this.#recover(false)
    } catch (error) {
      this.#connection.dropIfBroken(error)
    }
  }

  /** Throws when store and journal cannot be reconciled: then nothing may be changed. */
  #recover(acceptLoss: boolean): number {
    const transaction = new Transaction(this.#connection.get(), this.#stamps)
    const { obstacle, replayed } = this.#journal.recover(transaction, acceptLoss)
    if (obstacle !== undefined) throw failure('revocations-unknown', new Error(obstacle))
    this.#inStep = true
    return replayed
  }
}

/** A fault of the store ends the batch: SQLite may have rolled the transaction back, as it does on a full disk. */
function runOne(transaction: Transaction, call: Call): Reply {
  try {
    const ask = asks[call.name]
    if (ask === undefined) return { id: call.id, value: perform(operations, transaction, call) }
    return { id: call.id, value: makeChange(transaction, ask(...(call.args as never[]))) }
  } catch (error) {
    if (isStoreFault(error)) throw error
    return refusal(call.id, error)
  }
}

/** A change that fails is undone without the other changes of its batch. */
function runInSavepoint(transaction: Transaction, call: Call): Reply {
  const { db } = transaction
  db.control('SAVEPOINT change')
  const reply = runOne(transaction, call)
  if ('value' in reply) transaction.settle()
  else {
    transaction.forget()
    db.control('ROLLBACK TO change')
  }
  db.control('RELEASE change')
  return reply
}

class PartlyWritten extends Error {}

/** Nearly every change is refused before its first write. Otherwise the batch is run again with savepoints. */
function runWithoutSavepoint(transaction: Transaction, call: Call): Reply {
  const before = transaction.db.changes
  const reply = runOne(transaction, call)
  if (!('value' in reply) && transaction.db.changes !== before) throw new PartlyWritten()
  return reply
}

/**
 * A COMMIT that fails because the disk is full or the file locked has not been written. After any other failure the
 * transaction may still be in the WAL, and be recovered after a crash: its outcome is unknown.
 */
function meaningAtCommit(error: unknown): unknown {
  return isFull(error) || isBusy(error) ? error : failure('outcome-unknown', error)
}
