// Several processes on one port. The primary process serves nothing: it starts the workers, replaces one that dies, drains
// all of them on a signal, adds up their metrics, and counts for their rate limits.
import cluster, { type Worker } from 'node:cluster'
import { Metrics, type MetricsSnapshot } from '../http/observe/metrics.ts'
import { OperatorError } from '../tokens/model/errors.ts'
import { LocalLimiter, type RateLimit, type RateLimiter } from '../tokens/trust/rate-limit.ts'

/** Gives up after this many workers in a row that ended before any worker was ever ready. */
const MAX_FAILED_STARTS = 5
const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 5_000
const SCRAPE_TIMEOUT_MS = 2_000

type FromWorker =
  | { readonly kind: 'ready'; readonly url: string }
  | { readonly kind: 'snapshot'; readonly id: number; readonly snapshot: MetricsSnapshot }
  | (Request & { readonly id: number })

type Request =
  | { readonly kind: 'scrape' }
  | { readonly kind: 'limit'; readonly method: keyof RateLimiter; readonly name: string; readonly limit: RateLimit }

type FromPrimary =
  | { readonly kind: 'snapshot-request'; readonly id: number }
  | { readonly kind: 'response'; readonly id: number; readonly value: string | number }

export const isWorker = cluster.isWorker

/** Resolves when all workers have ended after a signal; rejects when no worker can start. */
export function supervise(count: number, onReady: (url: string) => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const scrapes = new Scrapes()
  const limiter = new LocalLimiter(() => performance.now())
  const retries = new Set<NodeJS.Timeout>()
  let stopping = false
  let failedStarts = 0
  let notReady = count
  let anyWasReady = false

  const start = () => {
    let wasReady = false
    const worker = cluster.fork()
    worker.on('message', async (message: FromWorker) => {
      if (message.kind === 'ready') {
        wasReady = anyWasReady = true
        failedStarts = 0
        scrapes.join(worker)
        if (--notReady === 0) onReady(message.url)
      }
      if (message.kind === 'scrape') scrapes.begin(worker, message.id)
      if (message.kind === 'snapshot') scrapes.add(worker, message.id, message.snapshot)
      if (message.kind !== 'limit') return
      const { id, method, name, limit } = message
      send(worker, { kind: 'response', id, value: await limiter[method](name, limit) })
    })
    onceEnded(worker, (reason) => {
      scrapes.leave(worker)
      if (stopping) {
        if (liveWorkers().length === 0) resolve()
        return
      }
      if (!wasReady) failedStarts++
      if (anyWasReady || failedStarts < MAX_FAILED_STARTS) return replace(reason)
      warn(reason)
      // Before `stop`, which resolves when the last worker has ended.
      reject(new OperatorError('The workers end as soon as they start; the lines above say why.'))
      stop()
    })
  }
  const replace = (reason: string) => {
    // Grows, since a reason such as an unreachable database may last.
    const ms = failedStarts === 0 ? 0 : Math.min(FIRST_RETRY_MS * 2 ** (failedStarts - 1), MAX_RETRY_MS)
    warn(`${reason}; another is started${ms === 0 ? '' : ` in ${ms / 1000} s`}`)
    const retry = setTimeout(() => {
      retries.delete(retry)
      start()
    }, ms)
    retries.add(retry)
  }
  const stop = () => {
    stopping = true
    for (const retry of retries) clearTimeout(retry)
    for (const worker of liveWorkers()) worker.process.kill('SIGTERM')
    if (liveWorkers().length === 0) resolve()
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop)
  for (let n = 0; n < count; n++) start()
  return promise
}

function onceEnded(worker: Worker, ended: (reason: string) => void): void {
  // node:cluster hands connections to a dead worker until its channel has closed, which may be after its exit.
  worker.on('exit', (code: number, signal: string | null) => {
    const reason = `worker ${worker.process.pid} ended (${signal ?? `code ${code}`})`
    if (worker.isConnected()) worker.once('disconnect', () => ended(reason))
    else ended(reason)
  })
  // A worker that could not be forked has no 'exit' event. Errors of other workers are failed sends, which an exit follows.
  worker.on('error', (error: Error) => {
    if (worker.process.pid === undefined) ended(`a worker could not be started (${error.message})`)
  })
}

/** By `console`: an error of process.stderr, such as a closed pipe, would end this process. */
function warn(line: string): void {
  console.error(`latchkey: ${line}`)
}

function liveWorkers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined && !worker.isDead()) as Worker[]
}

/** Collects a metrics snapshot from every worker, and sends the sum to the worker that was scraped. */
class Scrapes {
  readonly #open = new Map<number, { readonly waiting: Set<Worker>; readonly finish: () => void }>()
  /** The last snapshot of each ready worker, and the id of its scrape. */
  readonly #latest = new Map<Worker, { readonly id: number; readonly snapshot: MetricsSnapshot }>()
  /** Counts of ended workers. Without them a counter would fall, which Prometheus takes for a restart. */
  #endedCounts: Promise<MetricsSnapshot> = Promise.resolve([])
  #lastId = 0

  /** Call when the worker is ready: only then can it send snapshots. */
  join(worker: Worker): void {
    this.#latest.set(worker, { id: 0, snapshot: [] })
  }

  leave(worker: Worker): void {
    const last = this.#latest.get(worker)
    if (last === undefined) return
    this.#latest.delete(worker)
    this.#endedCounts = this.#endedCounts.then((counts) => Metrics.cumulative([counts, last.snapshot]))
    for (const id of this.#open.keys()) this.#stopWaiting(id, worker)
  }

  begin(scraped: Worker, requestId: number): void {
    const id = ++this.#lastId
    const waiting = new Set(this.#latest.keys())
    const finish = () => {
      clearTimeout(timer)
      this.#open.delete(id)
      void this.#sum(waiting).then((text) => send(scraped, { kind: 'response', id: requestId, value: text }))
    }
    // Then the last snapshot of a worker that hangs is used.
    const timer = setTimeout(finish, SCRAPE_TIMEOUT_MS)
    this.#open.set(id, { waiting, finish })
    for (const worker of waiting) send(worker, { kind: 'snapshot-request', id })
  }

  add(worker: Worker, id: number, snapshot: MetricsSnapshot): void {
    // Snapshots may arrive out of order.
    if (id > (this.#latest.get(worker)?.id ?? id)) this.#latest.set(worker, { id, snapshot })
    this.#stopWaiting(id, worker)
  }

  #stopWaiting(id: number, worker: Worker): void {
    const scrape = this.#open.get(id)
    scrape?.waiting.delete(worker)
    if (scrape?.waiting.size === 0) scrape.finish()
  }

  async #sum(unresponsive: ReadonlySet<Worker>): Promise<string> {
    const snapshots = [...this.#latest].map(([worker, { snapshot }]) =>
      unresponsive.has(worker) ? Metrics.cumulative([snapshot]) : snapshot,
    )
    return Metrics.sum(await Promise.all([...snapshots, this.#endedCounts]))
  }
}

function send(worker: Worker, message: FromPrimary): void {
  if (worker.isConnected()) worker.send(message)
}

/** The worker's side: reports that it is ready, sends its metrics, and sends requests to the primary. */
export class WorkerLink implements RateLimiter {
  readonly #pending = new Map<number, (value: never) => void>()
  #metrics: Metrics | undefined
  #lastId = 0

  constructor() {
    process.on('message', async (message: FromPrimary) => {
      const { kind, id } = message
      if (kind === 'snapshot-request' && this.#metrics !== undefined) {
        sendToPrimary({ kind: 'snapshot', id, snapshot: await this.#metrics.snapshot() })
      }
      if (kind !== 'response') return
      this.#pending.get(id)?.(message.value as never)
      this.#pending.delete(id)
    })
  }

  ready(metrics: Metrics, url: string): void {
    this.#metrics = metrics
    metrics.text = () => this.#request<string>({ kind: 'scrape' })
    sendToPrimary({ kind: 'ready', url })
  }

  take(name: string, limit: RateLimit): Promise<number> {
    return this.#request({ kind: 'limit', method: 'take', name, limit })
  }

  wait(name: string, limit: RateLimit): Promise<number> {
    return this.#request({ kind: 'limit', method: 'wait', name, limit })
  }

  /** Needs no timeout: workers do not outlive the primary. */
  #request<Value extends string | number>(request: Request): Promise<Value> {
    const id = ++this.#lastId
    return new Promise((resolve) => {
      this.#pending.set(id, resolve)
      sendToPrimary({ ...request, id })
    })
  }
}

function sendToPrimary(message: FromWorker): void {
  process.send?.(message)
}
