// This side of a worker thread: sends it calls by number, and settles each when its answer comes. What is called within
// one turn of the event loop goes over as one message.
import { Worker } from 'node:worker_threads'
import { Failure } from '../../../tokens/errors.ts'
import { failure } from '../connection.ts'
import type { Call, Opening, Reply, ThreadData } from './thread.ts'

/** What a thread handles is short-lived and small. */
const LIMITS = { maxYoungGenerationSizeMb: 8 }
/** Some hundreds of microseconds of the event loop. */
const REPLIES_AT_ONCE = 8

export class NearThread {
  readonly #worker: Worker
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>()
  readonly #role: ThreadData['role']
  readonly opening: Opening
  /** Why the thread has ended, once it has; no sooner than all of its calls are settled. */
  readonly ended: Promise<Error>
  readonly #resolveEnded: (reason: Error) => void
  #lastId = 0
  #calls: Call[] = []
  #replies: readonly Reply[] = []
  #endedBecause: Error | undefined

  static async start(data: ThreadData): Promise<NearThread> {
    const worker = new Worker(new URL('./thread-start.mjs', import.meta.url), {
      workerData: data,
      resourceLimits: LIMITS,
    })
    const opening = await new Promise<Opening>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
      worker.once('exit', () => reject(new Error('the thread has ended before it was ready')))
    })
    return new NearThread(worker, data.role, opening)
  }

  constructor(worker: Worker, role: ThreadData['role'], opening: Opening) {
    this.#worker = worker
    this.#role = role
    this.opening = opening
    const { promise, resolve } = Promise.withResolvers<Error>()
    this.ended = promise
    this.#resolveEnded = resolve
    worker.on('message', (replies: readonly Reply[]) => {
      if (this.#replies.length === 0) setImmediate(() => this.#settleSome())
      this.#replies = this.#replies.concat(replies)
    })
    worker.on('error', (error) => this.#end(error instanceof Error ? error : new Error(String(error))))
    worker.on('exit', () => this.#end(new Error('the thread has ended')))
  }

  call(name: string, args: readonly unknown[], msLeft?: number): Promise<unknown> {
    if (this.#endedBecause !== undefined) return Promise.reject(failure('unavailable', this.#endedBecause))
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

  /** A whole commit's answers at once would hold up every read that came meanwhile. */
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
    // What the writer was doing may have been committed or not.
    const code = this.#role === 'writer' ? 'outcome-unknown' : 'unavailable'
    for (const waiting of this.#waiting.values()) waiting.reject(failure(code, this.#endedBecause))
    this.#waiting.clear()
    this.#resolveEnded(this.#endedBecause)
  }
}
