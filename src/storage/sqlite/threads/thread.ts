// A worker thread with its own connection. A writer commits all queued changes as one transaction and answers each only when
// that commit is durable; a reader runs queries that are too slow for the event loop.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { Stamps } from '../../../tokens/trust/vault.ts'
import type { Damage } from '../../../tokens/upkeep/ports.ts'
import type { OpenedFile } from '../files/files.ts'
import { Journal, type Recovery } from '../journal/journal.ts'
import { chooseTokens, listTokens } from '../sql/listing.ts'
import { reads } from '../sql/reads.ts'
import { Connection } from '../sqlite-connection.ts'
import { type Call, type Operations, perform, type Reply, refusal } from './calls.ts'
import { CommitQueue } from './commit-queue.ts'
import { Reopening } from './reopening.ts'
import { Writer } from './writer.ts'

export interface ThreadData {
  readonly path: string
  readonly files: readonly OpenedFile[]
  readonly role: 'writer' | 'reader'
  readonly storeSecret: Uint8Array
  readonly journalPath: string
  readonly acceptRevocationLoss: boolean
}

const port = parentPort
if (port === null) throw new Error('thread.ts runs as a worker thread')
const { path, files, role, storeSecret, journalPath, acceptRevocationLoss } = workerData as ThreadData
const stamps = new Stamps(storeSecret)
const connection = new Reopening(path, role === 'writer' ? 'write' : 'read', files)
port.postMessage(role === 'writer' ? startWriter(port) : startReader(port))

function startWriter(port: MessagePort): Recovery {
  const writer = new Writer(connection, journalPath, stamps)
  const queue = new CommitQueue<Call>({
    async commit(batch) {
      port.postMessage(await writer.commit(batch))
      writer.checkpoint()
    },
    tidy: () => writer.tidy(),
  })
  const close = async () => {
    await queue.close()
    writer.close()
    port.close()
  }
  port.on('message', (message: readonly Call[] | 'close') => {
    if (message === 'close') void close()
    else queue.add(message)
  })
  return writer.open(acceptRevocationLoss)
}

function startReader(port: MessagePort): Recovery {
  connection.get()
  const queries = { ...reads, chooseTokens, listTokens, findDamage } as unknown as Operations
  port.on('message', (message: readonly Call[] | 'close') => {
    if (message !== 'close') for (const call of message) port.postMessage([answer(queries, call)])
    else {
      connection.close()
      port.close()
    }
  })
  return { obstacle: undefined, replayed: 0 }
}

function answer(queries: Operations, call: Call): Reply {
  try {
    const db = connection.get()
    db.deadlineAt = performance.now() + (call.msLeft ?? Number.POSITIVE_INFINITY)
    return { id: call.id, value: perform(queries, db, call) }
  } catch (error) {
    connection.dropIfBroken(error)
    return refusal(call.id, error)
  }
}

/** On a connection of its own: FTS5 would check the index by the structure that it has cached, which the writer may have changed. */
function findDamage(db: Connection): Damage {
  const [own, journal] = [new Connection(path, 'read'), new Journal(journalPath)]
  try {
    return { database: own.findDamage(), journal: journal.findBreak({ db, stamps }) }
  } finally {
    journal.close()
    own.close()
  }
}
