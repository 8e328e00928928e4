// The event loop's side of a worker thread: sends calls and settles each when its reply comes. Calls made within one turn of
// the event loop are sent as one message.
import { Worker } from 'node:worker_threads'
import { Failure, failure } from '../../../tokens/model/errors.ts'
import type { Recovery } from '../journal/journal.ts'
import type { Call, Reply } from './calls.ts'
import type { ThreadData } from './thread.ts'

/** A thread's objects are short-lived and small. */
const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 8 }
/** Takes some hundreds of microseconds of the event loop. */
const REPLIES_AT_ONCE = 8

export class WorkerClient {
  readonly #worker: Worker
  readonly #role: ThreadData['role']
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  readonly #ended = Promise.withResolvers<Error>()
  /** What the thread found when it opened the store. */
  readonly recovery: Recovery
  #lastId = 0
  #calls: Call[] = []
  #replies: readonly Reply[] = []
  #endedBecause: Error | undefined

  static async start(data: ThreadData): Promise<WorkerClient> {
    const worker = new Worker(new URL('./thread-start.mjs', import.meta.url), {
      workerData: data,
      resourceLimits: RESOURCE_LIMITS,
    })
    const recovery = await new Promise<Recovery>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
      worker.once('exit', () => reject(new Error('the thread ended before it was ready')))
    })
    return new WorkerClient(worker, data.role, recovery)
  }

  constructor(worker: Worker, role: ThreadData['role'], recovery: Recovery) {
    this.#worker = worker
    this.#role = role
    this.recovery = recovery
    worker.on('message', (replies: readonly Reply[]) => {
      if (this.#replies.length === 0) setImmediate(() => this.#settleSome())
      this.#replies = this.#replies.concat(replies)
    })
    worker.on('error', (error) => this.#end(error instanceof Error ? error : new Error(String(error))))
    worker.on('exit', () => this.#end(new Error('the thread has ended')))
  }

  /** Resolves to the reason when the thread has ended and all of its calls are settled. */
  get ended(): Promise<Error> {
    return this.#ended.promise
  }

  async call(name: string, args: readonly unknown[], msLeft?: number): Promise<unknown> {
    this.requireAlive()
    const id = ++this.#lastId
    const waiting = Promise.withResolvers<unknown>()
    this.#waiting.set(id, waiting)
    if (this.#calls.length === 0) setImmediate(() => this.#send())
    this.#calls.push({ id, name, args, msLeft })
    return waiting.promise
  }

  requireAlive(): void {
    if (this.#endedBecause !== undefined) throw failure('unavailable', this.#endedBecause)
  }

  #send(): void {
    if (this.#calls.length === 0) return
    this.#worker.postMessage(this.#calls)
    this.#calls = []
  }

  async close(): Promise<void> {
    if (this.#endedBecause !== undefined) return
    this.#send()
    this.#worker.postMessage('close')
    await this.ended
  }

  /** All replies of a commit at once would block the event loop, and with it every read. */
  #settleSome(): void {
    const some = this.#replies.slice(0, REPLIES_AT_ONCE)
    this.#replies = this.#replies.slice(REPLIES_AT_ONCE)
    if (this.#replies.length > 0) setImmediate(() => this.#settleSome())
    for (const reply of some) this.#settle(reply)
  }

  #settle(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id)
    this.#waiting.delete(reply.id)
    if ('value' in reply) waiting?.resolve(reply.value)
    else if ('fault' in reply) waiting?.reject(reply.fault)
    else {
      const { code, message, details } = reply.failure
      const cause = reply.cause === undefined ? undefined : new Error(reply.cause)
      waiting?.reject(new Failure(code, message, details, { cause }))
    }
  }

  #end(error: Error): void {
    this.#endedBecause ??= error
    for (const reply of this.#replies) this.#settle(reply)
    this.#replies = []
    // A writer may or may not have committed these changes.
    const code = this.#role === 'writer' ? 'outcome-unknown' : 'unavailable'
    for (const waiting of this.#waiting.values()) waiting.reject(failure(code, this.#endedBecause))
    this.#waiting.clear()
    this.#ended.resolve(this.#endedBecause)
  }
}
