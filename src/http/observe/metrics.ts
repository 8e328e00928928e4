// The metrics for Prometheus. Each instance has its own registry, so two servers in one process do not mix.
import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type Metric,
  Registry,
} from 'prom-client'
import type { Timestamp } from '../../tokens/model/token.ts'
import type { CountStore } from '../../tokens/service/ports.ts'
import type { Store } from '../../tokens/service/store.ts'
import type { Decision } from '../../tokens/service/verification.ts'
import type { RateLimiter } from '../../tokens/trust/rate-limit.ts'
import { TAMPERED_KINDS, type Tampered } from '../../tokens/trust/stamp.ts'
import type { Outcome } from '../../tokens/webhooks/delivery.ts'
import { Durations } from './durations.ts'
import { type CountSettings, tokenCounter } from './token-counts.ts'
import { type WatchedWebhooks, type WebhookCounts, webhookCounter } from './webhook-counts.ts'

const REQUEST_BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const STORE_BUCKETS = [0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1]
/** Up to a term of the longest leases. */
const WAIT_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60]
const CUMULATIVE: readonly string[] = ['counter', 'histogram']

export type MetricsSnapshot = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** Gauges whose names end like a counter's; `nodejs_active_resources` has the same values by type. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

type CountedVerdict = 'accepted' | Exclude<Decision, { accepted: true }>['reason']

/** All of them, so that each is counted from 0: the first of a kind would otherwise be no increase. */
const NO_VERDICTS: Readonly<Record<CountedVerdict, 0>> = {
  accepted: 0,
  unknown: 0,
  tampered: 0,
  inactive: 0,
  expired: 0,
  suspended: 0,
  address: 0,
  scope: 0,
  rate: 0,
  quota: 0,
}

const NO_DELIVERIES: Readonly<Record<Outcome['kind'], 0>> = { delivered: 0, failed: 0 }

/** The first word of a rate limiter's key: which limit the key belongs to. */
const LIMITS = ['key', 'address', 'failed']

interface PoolState {
  readonly inUse: number
  readonly idle: number
  /** Requests that wait for a connection. */
  readonly waiting: number
  readonly max: number
}

const POOL_GAUGES: readonly (readonly [name: string, help: string, read: (state: PoolState) => number])[] = [
  ['latchkey_store_connections_in_use', 'Database connections that are in use, by pool', ({ inUse }) => inUse],
  ['latchkey_store_connections_idle', 'Open database connections that are free, by pool', ({ idle }) => idle],
  ['latchkey_store_connections_max', 'Database connections that a pool may open at most', ({ max }) => max],
  [
    'latchkey_store_connection_waiters',
    'Requests that wait for a database connection, by pool',
    ({ waiting }) => waiting,
  ],
]

export class Metrics {
  readonly #registry = new Registry()
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
  /** Copied into its counter at each scrape: prom-client's `inc` is too slow for every verification. */
  readonly #verdicts: Record<CountedVerdict, number> = { ...NO_VERDICTS }
  readonly #tampered = new Counter({
    name: 'latchkey_tampered_rows_total',
    help: 'Reads of rows whose stamp or encryption did not match, by kind',
    labelNames: ['kind'],
    registers: [this.#registry],
  })
  readonly #waits = new Histogram({
    name: 'latchkey_verifier_wait_seconds',
    help: 'How long changes waited until verifiers had confirmed them; those that need not wait are not counted',
    buckets: WAIT_BUCKETS,
    registers: [this.#registry],
  })
  readonly #ranOut = new Counter({
    name: 'latchkey_verifier_leases_run_out_total',
    help: 'Leases of verifiers that a change had to wait for until they had run out',
    registers: [this.#registry],
  })
  readonly #limited = new Counter({
    name: 'latchkey_rate_limited_requests_total',
    help: 'Requests refused with 429, by the limit that they exceeded',
    labelNames: ['limit'],
    registers: [this.#registry],
  })

  readonly #deliveries = new Counter({
    name: 'latchkey_webhook_deliveries_total',
    help: 'Attempts to send an event to a webhook, by outcome',
    labelNames: ['outcome'],
    registers: [this.#registry],
  })

  constructor() {
    collectDefaultMetrics({ register: this.#registry })
    for (const name of MISNAMED) this.#registry.removeSingleMetric(name)
    for (const durations of [this.#requests, this.#store]) {
      this.#registry.registerMetric(durations as unknown as Metric)
    }
    const verdicts = this.#verdicts
    new Counter({
      name: 'latchkey_verifications_total',
      help: 'Verifications by verdict',
      labelNames: ['verdict'],
      registers: [this.#registry],
      collect() {
        this.reset()
        for (const [verdict, count] of Object.entries(verdicts)) this.inc({ verdict }, count)
      },
    })
    for (const kind of TAMPERED_KINDS) this.#tampered.inc({ kind }, 0)
    for (const limit of LIMITS) this.#limited.inc({ limit }, 0)
    for (const outcome of Object.keys(NO_DELIVERIES)) this.#deliveries.inc({ outcome }, 0)
  }

  countDelivery(outcome: keyof typeof NO_DELIVERIES): void {
    this.#deliveries.inc({ outcome })
  }

  watchWebhooks(store: WatchedWebhooks, now: () => Timestamp): void {
    const latest = webhookCounter(store, now)
    const gauges: readonly [name: string, help: string, read: (counts: WebhookCounts) => number][] = [
      ['latchkey_webhook_events_waiting', 'Events that active webhooks have not got yet', ({ waiting }) => waiting],
      ['latchkey_webhook_seconds_behind', 'How long the first of these events waits', ({ seconds }) => seconds],
      ['latchkey_webhooks_disabled', 'Webhooks that the service has switched off', ({ disabled }) => disabled],
    ]
    for (const [name, help, read] of gauges) {
      new Gauge({
        name,
        help: `${help}, counted every few seconds`,
        aggregator: 'first',
        registers: [this.#registry],
        async collect() {
          const counts = await latest()
          if (counts !== undefined) this.set(read(counts))
        },
      })
    }
  }

  /** Returns a function that records durations, in seconds, of requests of one kind. */
  requestObserver(method: string, route: string, status: number): (seconds: number) => void {
    return this.#requests.observer({ method, route, status: String(status) })
  }

  countVerdict(verdict: CountedVerdict): void {
    this.#verdicts[verdict]++
  }

  /** Those that a verifier has decided on by itself; names that are not known are left out. */
  countVerdicts(counts: Readonly<Record<string, number>>): void {
    const verdicts: Record<string, number> = this.#verdicts
    for (const [name, count] of Object.entries(counts))
      if (Object.hasOwn(verdicts, name)) verdicts[name] = (verdicts[name] ?? 0) + count
  }

  countTampered(kind: Tampered['kind']): void {
    this.#tampered.inc({ kind })
  }

  /** The same store, with every operation timed. `onEnd` is called in the context of the caller, with the time of the start. */
  timed(store: Store, onEnd?: (operation: string, startedAt: number) => void): Store {
    const source = store as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
    const timed: typeof source = {}
    for (const [name, operation] of Object.entries(source)) {
      const observe = this.#store.observer({ operation: name })
      timed[name] = (...args) => {
        const start = performance.now()
        const result = operation(...args)
        const end = () => {
          observe((performance.now() - start) / 1000)
          onEnd?.(name, start)
        }
        result.then(end, end)
        return result
      }
    }
    const untimed: Pick<Store, 'during' | 'readChains'> = {
      during: store.during,
      readChains: () => store.readChains(),
    }
    return { ...(timed as unknown as Store), ...untimed }
  }

  onWaited(ms: number): void {
    this.#waits.observe(ms / 1000)
  }

  onRanOut(): void {
    this.#ranOut.inc()
  }

  watchUsage(usage: { readonly lost: number }): void {
    new Counter({
      name: 'latchkey_usage_lost_total',
      help: 'Verifications that are missing in the counters of usage, because nothing could be written for too long',
      registers: [this.#registry],
      collect() {
        this.reset()
        this.inc(usage.lost)
      },
    })
  }

  /** While they cannot be counted, the number is missing. */
  countVerifiers(verifiers: { count(): Promise<number> }): void {
    new Gauge({
      name: 'latchkey_verifiers',
      help: 'Verifiers that hold a lease, of all accounts',
      // Every process counts the same store.
      aggregator: 'first',
      registers: [this.#registry],
      async collect() {
        this.reset()
        const count = await verifiers.count().catch(() => undefined)
        if (count !== undefined) this.set(count)
      },
    })
  }

  /** The same limiter, with every refusal counted. */
  limited(limiter: RateLimiter): RateLimiter {
    const counted = async (name: string, waitMs: Promise<number>) => {
      const limit = name.split(' ', 1)[0] ?? ''
      // The rest of the name is an address or a key id, which must not become a label.
      if ((await waitMs) > 0 && LIMITS.includes(limit)) this.#limited.inc({ limit })
      return waitMs
    }
    return {
      take: (name, limit) => counted(name, limiter.take(name, limit)),
      wait: (name, limit) => counted(name, limiter.wait(name, limit)),
    }
  }

  countTokens(store: CountStore, now: () => Timestamp, settings?: CountSettings): void {
    const latest = tokenCounter(store, now, settings)
    new Counter({
      name: 'latchkey_token_count_errors_total',
      help: 'Failed counts of the tokens in the store; latchkey_tokens then keeps its last value',
      registers: [this.#registry],
      async collect() {
        const { errors } = await latest()
        this.reset()
        this.inc(errors)
      },
    })
    new Gauge({
      name: 'latchkey_tokens',
      help: 'Tokens in the store by status, counted every few seconds',
      labelNames: ['status'],
      // Every process counts the same store.
      aggregator: 'first',
      registers: [this.#registry],
      async collect() {
        const { byStatus } = await latest()
        for (const [status, count] of Object.entries(byStatus ?? {})) this.set({ status }, count)
      },
    })
    new Gauge({
      name: 'latchkey_tokens_expiring_soon',
      help: 'Active tokens that expire within seven days, counted every few seconds',
      aggregator: 'first',
      registers: [this.#registry],
      async collect() {
        const { expiringSoon } = await latest()
        if (expiringSoon !== undefined) this.set(expiringSoon)
      },
    })
  }

  describeBuild({ version, engine }: { readonly version: string; readonly engine: 'embedded' | 'postgres' }): void {
    new Gauge({
      name: 'latchkey_build_info',
      help: 'The version of Latchkey and of Node.js, and the storage engine; always 1',
      labelNames: ['version', 'node', 'engine'],
      aggregator: 'first',
      registers: [this.#registry],
    }).set({ version, node: process.versions.node, engine }, 1)
  }

  /** Files that decide who gets in, each checked at every scrape. */
  watchGrants(files: readonly { readonly setting: string; findProblem(): string | undefined }[]): void {
    if (files.length === 0) return
    new Gauge({
      name: 'latchkey_grants_readable',
      help: 'Whether a file of grants can be read; while it cannot be, it lets nobody in',
      labelNames: ['setting'],
      aggregator: 'min',
      registers: [this.#registry],
      collect() {
        for (const file of files) this.set({ setting: file.setting }, file.findProblem() === undefined ? 1 : 0)
      },
    })
  }

  /** `read` returns the database connection pools by name, and is called at every scrape. */
  watchPools(read: () => Readonly<Record<string, PoolState>>): void {
    for (const [name, help, readValue] of POOL_GAUGES) {
      new Gauge({
        name,
        help,
        labelNames: ['pool'],
        registers: [this.#registry],
        collect() {
          for (const [pool, state] of Object.entries(read())) this.set({ pool }, readValue(state))
        },
      })
    }
  }

  /** What a scrape returns. Replaced where several workers serve one port, by the sum of all workers. */
  text: () => Promise<string> = () => this.#registry.metrics()

  snapshot(): Promise<MetricsSnapshot> {
    return this.#registry.getMetricsAsJSON()
  }

  /** The sum of counters and histograms. Unlike gauges, they stay valid after the process that counted them has ended. */
  static async cumulative(snapshots: readonly MetricsSnapshot[]): Promise<MetricsSnapshot> {
    const metrics = await AggregatorRegistry.aggregate([...snapshots]).getMetricsAsJSON()
    // prom-client declares `type` as a number, but returns a name.
    return metrics.filter(({ type }) => CUMULATIVE.includes(type as unknown as string))
  }

  static sum(snapshots: readonly MetricsSnapshot[]): Promise<string> {
    return AggregatorRegistry.aggregate([...snapshots]).metrics()
  }

  get contentType(): string {
    return this.#registry.contentType
  }
}
