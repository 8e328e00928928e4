// Several processes on one port. The first process serves nothing: it starts the others, replaces one that dies,
// drains all of them on a signal, and adds up their metrics for whichever of them is asked.
import cluster, { type Worker } from 'node:cluster'
import { Metrics, type MetricsSnapshot } from '../http/observe/metrics.ts'
import { OperatorError } from '../tokens/errors.ts'
import { type Limiter, LocalLimiter, type RateLimit } from '../tokens/trust/rate-limit.ts'

/** So many in a row that die before any has been ready mean that none ever will be. */
const MAX_STILLBORN = 5
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000
const SCRAPE_TIMEOUT_MS = 2_000

type Message =
  | { readonly kind: 'ready'; readonly url: string }
  | { readonly kind: 'scrape'; readonly id: number }
  | { readonly kind: 'snapshot-wanted'; readonly id: number }
  | { readonly kind: 'snapshot'; readonly id: number; readonly snapshot: MetricsSnapshot }
  | { readonly kind: 'scraped'; readonly id: number; readonly text: string }
  | Turn
  | { readonly kind: 'turn-told'; readonly id: number; readonly waitMs: number }

/** A question to the limiter that all workers share. */
interface Turn {
  readonly kind: 'turn'
  readonly id: number
  readonly verb: keyof Limiter
  readonly name: string
  readonly limit: RateLimit
}

export const isWorker = cluster.isWorker

/** Resolves when all have ended after a signal; rejects when not one of them can start. */
export function supervise(count: number, onReady: (url: string) => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const scrapes = new Scrapes()
  const limiter = new LocalLimiter(() => performance.now())
  const pauses = new Set<NodeJS.Timeout>()
  let stopping = false
  let stillborn = 0
  let awaited = count
  let haveServed = false

  const start = () => {
    let wasReady = false
    const worker = cluster.fork()
    worker.on('message', (message: Message) => {
      if (message.kind === 'ready') {
        wasReady = haveServed = true
        stillborn = 0
        scrapes.join(worker)
        if (--awaited === 0) onReady(message.url)
      }
      if (message.kind === 'scrape') scrapes.begin(worker, message.id)
      if (message.kind === 'snapshot') scrapes.add(worker, message.id, message.snapshot)
      if (message.kind === 'turn') void tellTurn(limiter, worker, message)
    })
    onceEnded(worker, (what) => {
      scrapes.leave(worker)
      if (stopping) {
        if (liveWorkers().length === 0) resolve()
        return
      }
      if (!wasReady) stillborn++
      if (haveServed || stillborn < MAX_STILLBORN) return replace(what)
      tell(what)
      // Before the rest is stopped: when the last of them has ended, all counts as well.
      reject(new OperatorError('The workers end as soon as they start; the lines above say why.'))
      stop()
    })
  }
  const replace = (what: string) => {
    const ms = pauseMs(stillborn)
    tell(`${what}; another is started${ms === 0 ? '' : ` in ${ms / 1000} s`}`)
    const pause = setTimeout(() => {
      pauses.delete(pause)
      start()
    }, ms)
    pauses.add(pause)
  }
  const stop = () => {
    stopping = true
    for (const pause of pauses) clearTimeout(pause)
    for (const worker of liveWorkers()) worker.process.kill('SIGTERM')
    if (liveWorkers().length === 0) resolve()
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop)
  for (let n = 0; n < count; n++) start()
  return promise
}

/** What keeps workers from starting, such as a database that is away, may take a while to pass. */
function pauseMs(stillborn: number): number {
  return stillborn === 0 ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (stillborn - 1), LONGEST_PAUSE_MS)
}

function onceEnded(worker: Worker, ended: (what: string) => void): void {
  // Connections are handed to a dead worker until its channel is seen to be closed, which may be after its exit.
  worker.on('exit', (code: number, signal: string | null) => {
    const what = `worker ${worker.process.pid} ended (${signal ?? `code ${code}`})`
    if (worker.isConnected()) worker.once('disconnect', () => ended(what))
    else ended(what)
  })
  // Also what could not be sent to one that has just died, which its exit tells soon enough. One that the system had no
  // room to start has no exit.
  worker.on('error', (error: Error) => {
    if (worker.process.pid === undefined) ended(`a worker could not be started (${error.message})`)
  })
}

/** Not by the stream itself, whose error would end this process where nobody reads it any more. */
function tell(line: string): void {
  console.error(`latchkey: ${line}`)
}

function liveWorkers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined && !worker.isDead()) as Worker[]
}

/** Gathers a snapshot of every worker that serves, and answers the one that was asked with the sum. */
class Scrapes {
  readonly #open = new Map<number, { readonly waiting: Set<Worker>; readonly finish: () => void }>()
  /** The last snapshot of each, and the scrape it was made for. */
  readonly #serving = new Map<Worker, { readonly id: number; readonly snapshot: MetricsSnapshot }>()
  /** A count that falls would be taken for one that began anew. */
  #countedByEnded: Promise<MetricsSnapshot> = Promise.resolve([])
  #lastId = 0

  /** Before, it could not answer, and would be waited for in vain. */
  join(worker: Worker): void {
    this.#serving.set(worker, { id: 0, snapshot: [] })
  }

  leave(worker: Worker): void {
    const last = this.#serving.get(worker)
    if (last === undefined) return
    this.#serving.delete(worker)
    this.#countedByEnded = this.#countedByEnded.then((counted) => Metrics.countsIn([counted, last.snapshot]))
    for (const id of this.#open.keys()) this.#stopWaiting(id, worker)
  }

  begin(asker: Worker, askerId: number): void {
    const id = ++this.#lastId
    const waiting = new Set(this.#serving.keys())
    const finish = () => {
      clearTimeout(timer)
      this.#open.delete(id)
      void this.#sum(waiting).then((text) => send(asker, { kind: 'scraped', id: askerId, text }))
    }
    // For one that hangs, what it had counted when it was last heard has to do.
    const timer = setTimeout(finish, SCRAPE_TIMEOUT_MS)
    this.#open.set(id, { waiting, finish })
    for (const worker of waiting) send(worker, { kind: 'snapshot-wanted', id })
  }

  add(worker: Worker, id: number, snapshot: MetricsSnapshot): void {
    // One that was wanted earlier may come later.
    if (id > (this.#serving.get(worker)?.id ?? id)) this.#serving.set(worker, { id, snapshot })
    this.#stopWaiting(id, worker)
  }

  #stopWaiting(id: number, worker: Worker): void {
    const scrape = this.#open.get(id)
    scrape?.waiting.delete(worker)
    if (scrape?.waiting.size === 0) scrape.finish()
  }

  async #sum(silent: ReadonlySet<Worker>): Promise<string> {
    const known = [...this.#serving].map(([worker, { snapshot }]) =>
      silent.has(worker) ? Metrics.countsIn([snapshot]) : snapshot,
    )
    return Metrics.sum(await Promise.all([...known, this.#countedByEnded]))
  }
}

async function tellTurn(limiter: Limiter, worker: Worker, { id, verb, name, limit }: Turn): Promise<void> {
  send(worker, { kind: 'turn-told', id, waitMs: await limiter[verb](name, limit) })
}

function send(worker: Worker, message: Message): void {
  if (worker.isConnected()) worker.send(message)
}

/** The worker's side: tells that it is ready, gives its own metrics, and asks for everybody's. */
export class WorkerLink {
  readonly #waiting = new Map<number, (text: string) => void>()
  #lastId = 0

  constructor(own: () => Promise<MetricsSnapshot>) {
    process.on('message', async (message: Message) => {
      if (message.kind === 'snapshot-wanted') this.#tell({ kind: 'snapshot', id: message.id, snapshot: await own() })
      if (message.kind !== 'scraped') return
      this.#waiting.get(message.id)?.(message.text)
      this.#waiting.delete(message.id)
    })
  }

  ready(url: string): void {
    this.#tell({ kind: 'ready', url })
  }

  scrape(): Promise<string> {
    const id = ++this.#lastId
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      this.#tell({ kind: 'scrape', id })
    })
  }

  #tell(message: Message): void {
    process.send?.(message)
  }
}

/** The worker's side of the limiter. Without the first process there is no answer, but neither are there workers. */
export class SharedLimiter implements Limiter {
  readonly #waiting = new Map<number, (waitMs: number) => void>()
  #lastId = 0

  constructor() {
    process.on('message', (message: Message) => {
      if (message.kind !== 'turn-told') return
      this.#waiting.get(message.id)?.(message.waitMs)
      this.#waiting.delete(message.id)
    })
  }

  take(name: string, limit: RateLimit): Promise<number> {
    return this.#ask('take', name, limit)
  }

  wait(name: string, limit: RateLimit): Promise<number> {
    return this.#ask('wait', name, limit)
  }

  #ask(verb: Turn['verb'], name: string, limit: RateLimit): Promise<number> {
    const id = ++this.#lastId
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      process.send?.({ kind: 'turn', id, verb, name, limit } satisfies Message)
    })
  }
}
