// A thread with a connection of its own. As a writer it commits whatever has queued up as one transaction and
// answers each change only when that commit is durable; as a reader it answers questions too slow for the event loop.
import { setImmediate } from 'node:timers'
import { parentPort, workerData } from 'node:worker_threads'
import { Failure } from '../../tokens/errors.ts'
import { Stamps } from '../../tokens/vault.ts'
import { Connection, translateError } from './connection.ts'
import * as reads from './reads.ts'
import * as writes from './writes.ts'

export interface ThreadData {
  readonly path: string
  readonly role: 'writer' | 'reader'
  readonly storeSecret: Uint8Array
}

export interface Call {
  readonly id: number
  readonly name: string
  readonly args: readonly unknown[]
}

export type Reply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failure: Pick<Failure, 'code' | 'message' | 'details'>; readonly cause?: string }
  | { readonly id: number; readonly fault: Error }

/** Bounds what one commit holds up; the rest goes into the next. */
const MAX_BATCH = 256

const port = parentPort
if (port === null) throw new Error('thread.ts runs as a worker thread')
const { path, role, storeSecret } = workerData as ThreadData
const db = new Connection(path, role === 'writer' ? 'write' : 'read')
const session = { db, stamps: new Stamps(storeSecret) }

type Operation = (target: never, ...args: never[]) => unknown
const operations = (role === 'writer' ? writes : reads) as unknown as Record<string, Operation>
const target = (role === 'writer' ? session : db) as never

function run({ id, name, args }: Call): Reply {
  try {
    const operation = operations[name]
    if (operation === undefined) throw new Error(`no operation ${name}`)
    return { id, value: operation(target, ...(args as never[])) }
  } catch (error) {
    return refusal(id, error)
  }
}

function refusal(id: number, error: unknown): Reply {
  const meaning = translateError(error)
  if (!(meaning instanceof Failure)) return { id, fault: error as Error }
  const { code, message, details, cause } = meaning
  const failure = { code, message, details }
  return cause instanceof Error ? { id, failure, cause: cause.message } : { id, failure }
}

/** One that fails takes nothing of the others with it. */
function runInSavepoint(call: Call): Reply {
  db.control('SAVEPOINT change')
  const reply = run(call)
  if (!('value' in reply)) db.control('ROLLBACK TO change')
  db.control('RELEASE change')
  return reply
}

class HalfDone extends Error {}

/** Nearly every refusal comes before the first write. One that comes after it needs a savepoint to take that back. */
function runWithout(call: Call): Reply {
  const before = db.changes
  const reply = run(call)
  if (!('value' in reply) && db.changes !== before) throw new HalfDone()
  return reply
}

let queue: Call[] = []

function commitBatch(): void {
  const batch = queue.slice(0, MAX_BATCH)
  queue = queue.slice(MAX_BATCH)
  if (queue.length > 0) setImmediate(commitBatch)
  port?.postMessage(commit(batch, runWithout))
}

/** A savepoint makes SQLite keep a copy of every page it touches, so they are used where one is needed. */
function commit(batch: readonly Call[], runOne: (call: Call) => Reply): Reply[] {
  try {
    db.control('BEGIN IMMEDIATE')
    const replies = batch.map(runOne)
    db.control('COMMIT')
    return replies
  } catch (error) {
    // Nothing of the batch is kept, so none of it may be answered with yes.
    rollBack()
    if (error instanceof HalfDone) return commit(batch, runInSavepoint)
    return batch.map(({ id }) => refusal(id, error))
  }
}

function rollBack(): void {
  try {
    db.control('ROLLBACK')
  } catch {
    // SQLite has rolled back by itself, as it does on a full disk.
  }
}

port.on('message', (message: Call | 'close') => {
  if (message === 'close') {
    while (queue.length > 0) commitBatch()
    db.close()
    port.close()
  } else if (role === 'reader') {
    port.postMessage([run(message)])
  } else {
    if (queue.length === 0) setImmediate(commitBatch)
    queue.push(message)
  }
})
port.postMessage('ready')
