// What Prometheus is told. A registry of its own: two servers in one process do not mix.
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client'
import { TAMPERED_KINDS, type Tampered } from '../tokens/stamp.ts'
import type { Store } from '../tokens/store.ts'
import { Durations } from './durations.ts'

const REQUEST_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const STORE_BUCKETS = [0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1]
const GROWING: readonly string[] = ['counter', 'histogram']

export type MetricsSnapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

export class Metrics {
  readonly #registry = new Registry()
  /** What a scrape returns: this process's metrics, unless somebody adds up those of several. */
  #text: () => Promise<string> = () => this.#registry.metrics()
  readonly #requests = new Durations(
    'latchkey_http_request_duration_seconds',
    'Requests by method, route and status',
    REQUEST_BUCKETS,
  )
  readonly #store = new Durations(
    'latchkey_store_operation_duration_seconds',
    'Store operations, from call to answer',
    STORE_BUCKETS,
  )
  /** Counted by hand, since it is the most frequent of all; read out when somebody asks. */
  readonly #judged = new Map<string, number>()
  readonly #tampered = new Counter({
    name: 'latchkey_tampered_rows_total',
    help: 'How often a row was met whose stamp or seal did not match, by what it is',
    labelNames: ['kind'],
    registers: [this.#registry],
  })

  constructor() {
    // Among these: nodejs_eventloop_lag_seconds and its percentiles.
    collectDefaultMetrics({ register: this.#registry })
    for (const durations of [this.#requests, this.#store]) {
      this.#registry.registerMetric(durations as unknown as Metric)
    }
    const judged = this.#judged
    new Counter({
      name: 'latchkey_verifications_total',
      help: 'Verifications by verdict',
      labelNames: ['verdict'],
      registers: [this.#registry],
      collect() {
        this.reset()
        for (const [verdict, count] of judged) this.inc({ verdict }, count)
      },
    })
    // There from the start, so that the first one is seen as an increase.
    for (const kind of TAMPERED_KINDS) this.#tampered.inc({ kind }, 0)
  }

  /** Takes the durations, in seconds, of requests of one kind. */
  requests(method: string, route: string, status: number): (seconds: number) => void {
    return this.#requests.taker({ method, route, status: String(status) })
  }

  judged(verdict: string): void {
    this.#judged.set(verdict, (this.#judged.get(verdict) ?? 0) + 1)
  }

  tampered(kind: Tampered['kind']): void {
    this.#tampered.inc({ kind })
  }

  /** The same store, with every operation timed. */
  timed(store: Store): Store {
    const source = store as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
    const names = [...Object.keys(store), ...Object.getOwnPropertyNames(Object.getPrototypeOf(store))]
    const timed: typeof source = {}
    for (const name of names.filter((each) => each !== 'constructor' && typeof source[each] === 'function')) {
      const operation = source[name]?.bind(store)
      if (operation === undefined) continue
      const take = this.#store.taker({ operation: name })
      timed[name] = (...args) => {
        const start = performance.now()
        const result = operation(...args)
        const observe = () => take((performance.now() - start) / 1000)
        // Beside the caller, who waits for the operation alone.
        result.then(observe, observe)
        return result
      }
    }
    const untimed: Pick<Store, 'changes' | 'during' | 'readChains'> = {
      changes: store.changes,
      during: store.during,
      readChains: () => store.readChains(),
    }
    return { ...(timed as unknown as Store), ...untimed }
  }

  countTokens(store: Pick<Store, 'countTokens'>): void {
    new Gauge({
      name: 'latchkey_tokens',
      help: 'Tokens by status',
      labelNames: ['status'],
      // Every process counts the same store.
      aggregator: 'first',
      registers: [this.#registry],
      async collect() {
        this.reset()
        // Left out while the store cannot be reached: all else is wanted then most of all.
        const counts = await store.countTokens().catch(() => ({}))
        for (const [status, count] of Object.entries(counts)) this.set({ status }, count)
      },
    })
  }

  text(): Promise<string> {
    return this.#text()
  }

  scrapeWith(text: () => Promise<string>): void {
    this.#text = text
  }

  snapshot(): Promise<MetricsSnapshot> {
    return this.#registry.getMetricsAsJSON()
  }

  /** The sum of what only grows: unlike a gauge, it stays true when the process that counted it is not there any more. */
  static async countsIn(snapshots: readonly MetricsSnapshot[]): Promise<MetricsSnapshot> {
    const metrics = await AggregatorRegistry.aggregate([...snapshots]).getMetricsAsJSON()
    // The library's types have a number where it gives a name.
    return metrics.filter(({ type }) => GROWING.includes(type as unknown as string))
  }

  static sum(snapshots: readonly MetricsSnapshot[]): Promise<string> {
    return AggregatorRegistry.aggregate([...snapshots]).metrics()
  }

  get contentType(): string {
    return this.#registry.contentType
  }
}
