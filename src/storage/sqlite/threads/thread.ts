// A thread with a connection of its own. As a writer it commits whatever has queued up as one transaction and
// answers each change only when that commit is durable; as a reader it answers questions too slow for the event loop.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { Failure } from '../../../tokens/errors.ts'
import type { Damage } from '../../../tokens/ports.ts'
import { Stamps } from '../../../tokens/trust/vault.ts'
import { Connection, failure, isBusy, isFull, isStoreFault, translateError } from '../connection.ts'
import { type OpenedFile, requireInPlace } from '../files/files.ts'
import { Journal, OutOfStep, stillReenabled } from '../journal/journal.ts'
import { Session } from '../session.ts'
import * as listing from '../sql/listing.ts'
import * as reads from '../sql/reads.ts'
import { mergeAlong, tidySearch } from '../sql/search-index.ts'
import * as writes from '../sql/writes.ts'
import { CommitQueue } from './commit-queue.ts'

export interface ThreadData {
  readonly path: string
  readonly files: readonly OpenedFile[]
  readonly role: 'writer' | 'reader'
  readonly storeSecret: Uint8Array
  readonly journalPath: string
  readonly acceptRevocationLoss: boolean
}

/** What a thread says first. */
export interface Opening {
  /** Why nobody may be let in, for the operator; undefined when all is well. */
  readonly obstacle: string | undefined
  readonly replayed: number
}

export interface Call {
  readonly id: number
  readonly name: string
  readonly args: readonly unknown[]
  /** For a question with a deadline. */
  readonly msLeft?: number | undefined
}

export type Reply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failure: Pick<Failure, 'code' | 'message' | 'details'>; readonly cause?: string }
  | { readonly id: number; readonly fault: Error }

/** So many names make it worth while to merge all of the search index: some 0.9 µs of work for each token there is. */
const NAMES_BEFORE_WHOLE = 1_000

const port = parentPort
if (port === null) throw new Error('thread.ts runs as a worker thread')
const { path, files, role, storeSecret, journalPath, acceptRevocationLoss } = workerData as ThreadData
const stamps = new Stamps(storeSecret)
type Operation = (target: never, ...args: never[]) => unknown
const questions = { ...reads, ...listing, findDamage }
const operations = (role === 'writer' ? { ...writes, tidySearch } : questions) as unknown as Record<string, Operation>

let connection: Connection | undefined
const journal = new Journal(journalPath)

/** Asked for by whatever is done: a file may be replaced at any moment. Those who only read are told by the store. */
function connected(): Connection {
  if (role === 'writer' || connection === undefined) requireInPlace(files)
  connection ??= new Connection(path, role === 'writer' ? 'write' : 'read')
  return connection
}

/** After a fault of the disk nothing is asked of the same connection again: another is opened when one is needed. */
function dropIfBroken(error: unknown): void {
  if (!isStoreFault(error) || isBusy(error) || isFull(error)) return
  connection?.close()
  connection = undefined
}

function findDamage(db: Connection): Damage {
  return { database: db.findDamage(), journal: journal.findBreak({ db, stamps }) }
}

function perform(target: Connection | Session, { name, args }: Call): unknown {
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

/** The store's own faults end the whole batch: SQLite may have rolled all of it back by then, as it does on a full disk. */
function run(session: Session, call: Call): Reply {
  try {
    return { id: call.id, value: perform(session, call) }
  } catch (error) {
    if (isStoreFault(error)) throw error
    return refusal(call.id, error)
  }
}

/** One that fails takes nothing of the others with it. */
function runInSavepoint(session: Session, call: Call): Reply {
  const { db } = session
  db.control('SAVEPOINT change')
  const reply = run(session, call)
  if ('value' in reply) session.settle()
  else {
    session.forget()
    db.control('ROLLBACK TO change')
  }
  db.control('RELEASE change')
  return reply
}

class HalfDone extends Error {}

/** Nearly every refusal comes before the first write. One that comes after it needs a savepoint to take that back. */
function runWithout(session: Session, call: Call): Reply {
  const before = session.db.changes
  const reply = run(session, call)
  if (!('value' in reply) && session.db.changes !== before) throw new HalfDone()
  return reply
}

/** Whether the journal was found in step with the store. */
let inStep = false
/** Switched on again by a commit, and not yet in the journal: the next commit writes it there. */
let reenabled: Session['reenabled'] = new Map()
/** Since the whole search index was last merged. Others may have written to it before this thread was there. */
let indexed = NAMES_BEFORE_WHOLE

const queue = new CommitQueue<Call>({
  async commit(batch) {
    port?.postMessage(await commit(batch, runWithout))
  },
  needsFollowUp: () => reenabled.size > 0,
  tidy,
})

async function tidy(): Promise<boolean> {
  const whole = indexed >= NAMES_BEFORE_WHOLE
  const [reply] = await commit([{ id: 0, name: 'tidySearch', args: [whole] }], runWithout)
  const more = reply !== undefined && 'value' in reply ? reply.value : undefined
  if (whole && more !== undefined) indexed = 0
  return more === true
}

/**
 * A savepoint makes SQLite keep a copy of every page it touches, so they are used where one is needed. The journal's
 * line is written before COMMIT and brought to disk beside it: two waits at once cost little more than one.
 */
async function commit(batch: readonly Call[], runOne: typeof runWithout, again = true): Promise<Reply[]> {
  let committing = false
  try {
    const db = connected()
    if (!inStep) recover(false)
    const session = new Session(db, stamps)
    db.control('BEGIN IMMEDIATE')
    if (reenabled.size > 0) session.revocations.push(...stillReenabled(db, reenabled))
    const replies = batch.map((call) => runOne(session, call))
    session.settle()
    mergeAlong(session)
    const journaled = session.revocations.length > 0 ? journal.append(session) : undefined
    committing = true
    db.control('COMMIT')
    reenabled = session.reenabled
    indexed += session.indexed
    await journaled
    return replies
  } catch (error) {
    // Whatever became of the batch, none of it may be answered with yes.
    connection?.rollBack()
    if (journal.isDoubtful) mendJournal()
    if (error instanceof HalfDone) return commit(batch, runInSavepoint, again)
    if (error instanceof OutOfStep && again) {
      inStep = false
      return commit(batch, runOne, false)
    }
    dropIfBroken(error)
    const meaning = committing ? meaningAtCommit(error) : error
    return batch.map(({ id }) => refusal(id, meaning))
  }
}

/**
 * A line that may not have reached the disk is written again at once: who is told that the outcome is open may read the
 * token, and take that for the answer. Where it fails again, no change is answered before it is mended.
 */
function mendJournal(): void {
  inStep = false
  try {
    recover(false)
  } catch (error) {
    dropIfBroken(error)
  }
}

/** Throws when store and journal cannot be brought into step: then nothing may be changed. */
function recover(acceptLoss: boolean): number {
  const { obstacle, replayed } = journal.recover(new Session(connected(), stamps), acceptLoss)
  if (obstacle !== undefined) throw failure('revocations-unknown', new Error(obstacle))
  inStep = true
  return replayed
}

/**
 * A COMMIT that found no room, or no way in, has not been written whole. Any other that fails may lie in the log all
 * the same, and be found there after a crash: who asked must not be told that nothing was changed.
 */
function meaningAtCommit(error: unknown): unknown {
  return isFull(error) || isBusy(error) ? error : failure('outcome-unknown', error)
}

/** Whether the store may be served; mends what can be mended. */
function open(): Opening {
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
