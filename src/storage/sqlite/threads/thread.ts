// A worker thread with its own connection. A writer commits all queued changes as one transaction and answers each only when
// that commit is durable; a reader runs queries that are too slow for the event loop.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { Failure, failure } from '../../../tokens/errors.ts'
import type { Damage } from '../../../tokens/ports.ts'
import { Stamps } from '../../../tokens/trust/vault.ts'
import { Connection, isBusy, isFull, isStoreFault, translateError } from '../connection.ts'
import { checkpointIfDue } from '../files/checkpoint.ts'
import { type OpenedFile, requireInPlace } from '../files/files.ts'
import { Journal, OutOfStep, type Recovery, stillReenabled } from '../journal/journal.ts'
import * as listing from '../sql/listing.ts'
import * as reads from '../sql/reads.ts'
import { mergeAlong, tidySearch } from '../sql/search-index.ts'
import * as writes from '../sql/writes.ts'
import { Transaction } from '../transaction.ts'
import { CommitQueue } from './commit-queue.ts'

export interface ThreadData {
  readonly path: string
  readonly files: readonly OpenedFile[]
  readonly role: 'writer' | 'reader'
  readonly storeSecret: Uint8Array
  readonly journalPath: string
  readonly acceptRevocationLoss: boolean
}

export interface Call {
  readonly id: number
  readonly name: string
  readonly args: readonly unknown[]
  /** Until the deadline of the request, if there is one. */
  readonly msLeft?: number | undefined
}

export type Reply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failure: Pick<Failure, 'code' | 'message' | 'details'>; readonly cause?: string }
  | { readonly id: number; readonly fault: Error }

/** New names before the complete search index is merged, which takes some 0.9 µs for each token of the store. */
const NAMES_BEFORE_FULL_MERGE = 1_000

const port = parentPort
if (port === null) throw new Error('thread.ts runs as a worker thread')
const { path, files, role, storeSecret, journalPath, acceptRevocationLoss } = workerData as ThreadData
const stamps = new Stamps(storeSecret)
type Operation = (target: never, ...args: never[]) => unknown
const queries = { ...reads, ...listing, findDamage }
const operations = (role === 'writer' ? { ...writes, tidySearch } : queries) as unknown as Record<string, Operation>

let connection: Connection | undefined
const journal = new Journal(journalPath)

/** Called for every operation: the file may be replaced at any time. For readers, the store checks this. */
function connected(): Connection {
  if (role === 'writer' || connection === undefined) requireInPlace(files)
  connection ??= new Connection(path, role === 'writer' ? 'write' : 'read')
  return connection
}

/** A connection is not used again after a disk error; the next operation opens a new one. */
function dropIfBroken(error: unknown): void {
  if (!isStoreFault(error) || isBusy(error) || isFull(error)) return
  connection?.close()
  connection = undefined
}

/** On a connection of its own: FTS5 would check the index by the structure that it has cached, which the writer may have changed. */
function findDamage(db: Connection): Damage {
  const own = new Connection(path, 'read')
  try {
    return { database: own.findDamage(), journal: journal.findBreak({ db, stamps }) }
  } finally {
    own.close()
  }
}

function perform(target: Connection | Transaction, { name, args }: Call): unknown {
  const operation = operations[name]
  if (operation === undefined) throw new Error(`no operation ${name}`)
  return operation(target as never, ...(args as never[]))
}

function answer(call: Call): Reply {
  try {
    const db = connected()
    db.deadlineAt = performance.now() + (call.msLeft ?? Number.POSITIVE_INFINITY)
    return { id: call.id, value: perform(db, call) }
  } catch (error) {
    dropIfBroken(error)
    return refusal(call.id, error)
  }
}

function refusal(id: number, error: unknown): Reply {
  const meaning = translateError(error)
  if (!(meaning instanceof Failure)) return { id, fault: error as Error }
  const { code, message, details, cause } = meaning
  const failure = { code, message, details }
  return cause instanceof Error ? { id, failure, cause: cause.message } : { id, failure }
}

/** A fault of the store ends the batch: SQLite may have rolled the transaction back, as it does on a full disk. */
function run(transaction: Transaction, call: Call): Reply {
  try {
    return { id: call.id, value: perform(transaction, call) }
  } catch (error) {
    if (isStoreFault(error)) throw error
    return refusal(call.id, error)
  }
}

/** A change that fails is undone without the other changes of its batch. */
function runInSavepoint(transaction: Transaction, call: Call): Reply {
  const { db } = transaction
  db.control('SAVEPOINT change')
  const reply = run(transaction, call)
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
  const reply = run(transaction, call)
  if (!('value' in reply) && transaction.db.changes !== before) throw new PartlyWritten()
  return reply
}

/** Whether the journal is known to be in step with the store. */
let inStep = false
/** Reenabled by a commit and not yet in the journal: the next commit writes them there. */
let reenabled: Transaction['reenabled'] = new Map()
/** Names since the last full merge of the search index. At the start unknown, so a merge is due. */
let indexed = NAMES_BEFORE_FULL_MERGE

const queue = new CommitQueue<Call>({
  async commit(batch) {
    port?.postMessage(await commit(batch, runWithoutSavepoint))
    checkpoint()
  },
  needsFollowUp: () => reenabled.size > 0,
  tidy,
})

async function tidy(): Promise<boolean> {
  const mergeFully = indexed >= NAMES_BEFORE_FULL_MERGE
  const [reply] = await commit([{ id: 0, name: 'tidySearch', args: [mergeFully] }], runWithoutSavepoint)
  const more = reply !== undefined && 'value' in reply ? reply.value : undefined
  if (mergeFully && more !== undefined) indexed = 0
  return more === true
}

/**
 * Savepoints are used only where needed: they make SQLite copy every page that it touches. The journal's line is written
 * before COMMIT and synced in parallel with it, which takes little longer than one sync.
 */
async function commit(batch: readonly Call[], runOne: typeof runWithoutSavepoint, again = true): Promise<Reply[]> {
  let committing = false
  try {
    const db = connected()
    if (!inStep) recover(false)
    const transaction = new Transaction(db, stamps)
    db.control('BEGIN IMMEDIATE')
    if (reenabled.size > 0) transaction.revocations.push(...stillReenabled(db, reenabled))
    const replies = batch.map((call) => runOne(transaction, call))
    transaction.settle()
    mergeAlong(transaction)
    const journaled = transaction.revocations.length > 0 ? journal.append(transaction) : undefined
    committing = true
    db.control('COMMIT')
    reenabled = transaction.reenabled
    indexed += transaction.indexed
    await journaled
    return replies
  } catch (error) {
    // Part of the batch may have been committed, but no change may be confirmed.
    connection?.rollBack()
    if (journal.isDoubtful) repairJournal()
    if (error instanceof PartlyWritten) return commit(batch, runInSavepoint, again)
    if (error instanceof OutOfStep && again) {
      inStep = false
      return commit(batch, runOne, false)
    }
    dropIfBroken(error)
    const meaning = committing ? meaningAtCommit(error) : error
    return batch.map(({ id }) => refusal(id, meaning))
  }
}

/** After the answers. What fails is tried again after the next commit. */
function checkpoint(): void {
  try {
    if (connection !== undefined) checkpointIfDue(connection, path)
  } catch (error) {
    dropIfBroken(error)
  }
}

/**
 * Writes a line that may not have reached the disk again, at once: a caller whose outcome is unknown may read the token and
 * rely on what it shows. If this fails too, every later change is refused until it succeeds.
 */
function repairJournal(): void {
  inStep = false
  try {
    recover(false)
  } catch (error) {
    dropIfBroken(error)
  }
}

/** Throws when store and journal cannot be reconciled: then nothing may be changed. */
function recover(acceptLoss: boolean): number {
  const { obstacle, replayed } = journal.recover(new Transaction(connected(), stamps), acceptLoss)
  if (obstacle !== undefined) throw failure('revocations-unknown', new Error(obstacle))
  inStep = true
  return replayed
}

/**
 * A COMMIT that fails because the disk is full or the file locked has not been written. After any other failure the
 * transaction may still be in the WAL, and be recovered after a crash: its outcome is unknown.
 */
function meaningAtCommit(error: unknown): unknown {
  return isFull(error) || isBusy(error) ? error : failure('outcome-unknown', error)
}

/** Reconciles journal and store. */
function open(): Recovery {
  connected()
  if (role === 'reader') return { obstacle: undefined, replayed: 0 }
  try {
    return { obstacle: undefined, replayed: recover(acceptRevocationLoss) }
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'revocations-unknown')) throw error
    return { obstacle: (error.cause as Error).message, replayed: 0 }
  }
}

async function close(channel: MessagePort): Promise<void> {
  await queue.close()
  connection?.close()
  journal.close()
  channel.close()
}

port.on('message', (message: readonly Call[] | 'close') => {
  if (message === 'close') {
    void close(port)
  } else if (role === 'reader') {
    for (const call of message) port.postMessage([answer(call)])
  } else {
    queue.add(message)
  }
})
port.postMessage(open())
