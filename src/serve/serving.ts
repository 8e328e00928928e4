// The running server: HTTP on an open store. Only `serve` imports this file: the HTTP libraries are slow to load.
import { existsSync, readFileSync } from 'node:fs'
import type { Server as HttpServer } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import pino, { type Logger } from 'pino'
import { type Latchkey, type OpenOptions, openLatchkey } from '../compose.ts'
import { type Config, isPlainHttp, packageVersion, type Secret } from '../config.ts'
import type { Authenticate } from '../http/access/caller.ts'
import { type GrantsFile, openGrants } from '../http/access/grants.ts'
import { openLeakSource } from '../http/access/leak-sources.ts'
import { RateLimits } from '../http/access/rate-limits.ts'
import type { SignIn } from '../http/access/session.ts'
import { Metrics } from '../http/observe/metrics.ts'
import type { Traces } from '../http/observe/open-telemetry.ts'
import { throttled } from '../http/observe/throttled.ts'
import type { ServerParts } from '../http/parts.ts'
import { buildServer } from '../http/server.ts'
import { BEAT_EVERY_MS, EventStreams } from '../http/streams/event-streams.ts'
import { Names } from '../outbound/names.ts'
import { steadyClock } from '../process/clock.ts'
import { Deliveries } from '../process/deliveries.ts'
import { OperatorError } from '../tokens/model/errors.ts'
import type { Registry } from '../tokens/service/registry.ts'
import { LocalLimiter, type RateLimiter } from '../tokens/trust/rate-limit.ts'
import { RENEW_EVERY_MS } from '../tokens/webhooks/dispatch.ts'

/** A kill loses what came since the last write began, with the time of two writes: less than the promised 5 s. */
const FLUSH_USES_MS = 4_000
/** Of a day in which a million tokens were used, some 10 minutes: after each part, the loop rests for ten times as long as it took. */
const AGE_USAGE_MS = 10_000
const LOOK_FOR_NEWS_MS = 1_000
const ANNOUNCE_EVERY_MS = 30_000
const CLOSE_IDLE_MS = 50
/** Longer than the store takes for any request. A client that is still sending or reading by then is disconnected. */
const CLOSE_TIMEOUT_MS = 10_000

interface ServerOptions extends OpenOptions {
  /** Shared by the workers. */
  readonly limiter?: RateLimiter
}

export interface RunningServer {
  readonly server: FastifyInstance
  readonly metrics: Metrics
  readonly url: string
  /** Resolves when part of the store has failed for good, so that the process must be restarted. */
  readonly storeLost: Promise<Error>
  /** Reports not ready, serves on for `drainSeconds` until load balancers have noticed, then closes everything. */
  readonly stop: () => Promise<void>
}

export async function startServer(config: Config, options: ServerOptions = {}): Promise<RunningServer & Latchkey> {
  const log = options.log ?? pino({ level: 'silent' })
  const now = options.now ?? machineClock(log)
  const metrics = new Metrics()
  const { promise: storeLost, resolve: onStoreLost } = Promise.withResolvers<Error>()
  const names = options.names ?? new Names()
  const traces = await tracesOf(config, names)
  const observed = traces === undefined ? metrics : traced(metrics, traces)
  const latchkey = await openLatchkey(config, {
    ...options,
    now,
    log,
    names,
    metrics: observed,
    onStoreLost,
    serves: true,
  })
  try {
    return { ...(await serve(config, latchkey, { ...options, now, log, metrics, traces })), storeLost }
  } catch (error) {
    // Its threads and connections would otherwise keep the process alive.
    await latchkey.store.close()
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new OperatorError(`Port ${config.port} on ${config.host} is in use. Set PORT to another one.`)
  }
}

interface Observers {
  readonly metrics: Metrics
  readonly traces: Traces | undefined
}

/** Its libraries are loaded only where traces are wanted. */
async function tracesOf({ otlpEndpoint, otelServiceName }: Config, { lookup }: Names): Promise<Traces | undefined> {
  if (otlpEndpoint === undefined) return undefined
  const { Traces } = await import('../http/observe/open-telemetry.ts')
  return new Traces({ endpoint: otlpEndpoint, serviceName: otelServiceName, version: packageVersion(), lookup })
}

const traced = (metrics: Metrics, traces: Traces): NonNullable<OpenOptions['metrics']> => ({
  timed: (store) => metrics.timed(store, (operation, startedAt) => traces.onOperation(operation, startedAt)),
  countTampered: (kind) => metrics.countTampered(kind),
  onRanOut: () => metrics.onRanOut(),
  onWaited(ms) {
    metrics.onWaited(ms)
    traces.onWaited(ms)
  },
})

function watch(
  { databaseUrl }: Config,
  { registry, store, verifiers, poolUsage }: Latchkey,
  { metrics, now, grantsFiles = [] }: Pick<ServerParts, 'metrics' | 'now' | 'grantsFiles'>,
): void {
  metrics.countTokens(store, now)
  metrics.countVerifiers(verifiers)
  metrics.watchUsage(registry.verification.usage)
  if (poolUsage !== undefined) metrics.watchPools(poolUsage)
  metrics.describeBuild({ version: packageVersion(), engine: databaseUrl === undefined ? 'embedded' : 'postgres' })
  metrics.watchGrants(grantsFiles)
  metrics.watchWebhooks(store, now)
}

/** What a server does besides answering. */
function backgroundOf(latchkey: Latchkey, metrics: Metrics, log: Logger) {
  const { registry } = latchkey
  const events = new EventStreams(registry.feed)
  const dispatch = latchkey.dispatch({
    onOutcome: ({ kind }) => metrics.countDelivery(kind),
    onFailed: (webhook, err) => log.warn({ webhook, err }, 'nothing can be sent to this webhook now'),
  })
  const bulkWork = latchkey.bulkWork({
    onChanged: () => onChange(),
    onFailed: (operation, err) => log.warn({ operation, err }, 'a bulk operation cannot go on now, and is tried again'),
  })
  const ageUsage = async () => {
    if (await registry.usage.age()) deliveries.ask('usage of before')
  }
  const deliveries = new Deliveries(
    [
      { name: 'uses', everyMs: FLUSH_USES_MS, isUrgent: true, run: () => registry.verification.flush() },
      { name: 'usage of before', everyMs: AGE_USAGE_MS, run: ageUsage },
      { name: 'news', everyMs: LOOK_FOR_NEWS_MS, run: () => registry.feed.refresh() },
      { name: 'event streams', everyMs: BEAT_EVERY_MS, run: () => events.beat() },
      { name: 'webhooks', everyMs: LOOK_FOR_NEWS_MS, run: () => dispatch.begin() },
      { name: 'claims', everyMs: RENEW_EVERY_MS, isUrgent: true, run: () => dispatch.renew() },
      { name: 'bulk operations', everyMs: LOOK_FOR_NEWS_MS, run: () => bulkWork.begin() },
      { name: 'expiry notices', everyMs: ANNOUNCE_EVERY_MS, run: () => latchkey.announceExpiring() },
    ],
    (task, err) => log.warn({ task, err }, 'failed, and is tried again'),
  )
  const onChange = () => {
    deliveries.ask('news')
    if (dispatch.hasWebhooks) deliveries.ask('webhooks')
    if (registry.bulk.takeOrders()) deliveries.ask('bulk operations')
  }
  const stop = () => Promise.all([deliveries.stop(), dispatch.stop(), bulkWork.stop()])
  return { events, deliveries, onChange, stop }
}

async function serve(
  config: Config,
  latchkey: Latchkey,
  { now, log, metrics, traces, limiter }: ServerOptions & Observers & { now: () => number; log: Logger },
): Promise<Omit<RunningServer, 'storeLost'> & Latchkey> {
  const { registry, store } = latchkey
  warnOfPlainHttp(config, log)
  let draining = false
  // Anyone may call /readyz: calls at the same time share one ping.
  const ping = throttled(() => store.ping(), 0)
  const grants = grantsOf(config, { registry, log })
  const grantsFiles = Object.values(grants).filter((file) => file !== undefined)
  watch(config, latchkey, { metrics, now, grantsFiles })
  const background = backgroundOf(latchkey, metrics, log)
  const { events, deliveries, onChange } = background
  const server = await buildServer({
    registry,
    verifiers: latchkey.verifiers,
    gate: latchkey.gate,
    events,
    onChange,
    authenticator: await authenticatorOf(config, latchkey, now, grants.jwt),
    grantsFiles,
    metrics,
    traces,
    log,
    app: { appType: config.appType, appVersion: config.appVersion },
    version: packageVersion(),
    now,
    ready: () => (draining ? Promise.reject(new Error('draining')) : ping()),
    isDraining: () => draining,
    credentialHeader: config.credentialHeader,
    trustProxy: config.trustProxy,
    publicUrl: config.publicUrl,
    signIn: await signInOf(config, latchkey, grants.oidc),
    rateLimits: rateLimitsOf(config, metrics, latchkey.limiter ?? limiter),
    outsideReports: outsideReportsOf(config, latchkey, latchkey.limiter ?? limiter),
  })
  limitConnections(server.server)
  const sockets = new Set<Socket>()
  server.server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const url = await server.listen({ host: config.host, port: config.port })
  deliveries.start()
  latchkey.verifiers.confirmation.sweepLater()
  const stop = async () => {
    draining = true
    await pause(config.drainSeconds * 1000)
    events.close()
    latchkey.verifiers.release()
    await background.stop()
    await closeConnections(server.server, sockets)
    await server.close()
    await registry.verification.flush().catch((err: unknown) => log.error({ err }, 'uses were lost'))
    await registry.verification.release()
    await store.close()
    await traces?.close()
  }
  return { ...latchkey, server, metrics, url, stop }
}

/**
 * To a third of the file descriptors of this process: another third is for the files that these clients are sent, and one is
 * left for the store. Further connections are closed at once.
 */
function limitConnections(server: HttpServer): void {
  const descriptors = maxDescriptors()
  if (descriptors === undefined) return
  // Without `dropMaxConnection`, workers would pass such a connection on to each other without end. Missing in Node's types.
  Object.assign(server, { maxConnections: Math.ceil(descriptors / 3), dropMaxConnection: true })
}

/** Undefined where it is unlimited, or unknown: outside of Linux. */
function maxDescriptors(): number | undefined {
  if (!existsSync('/proc/self/limits')) return undefined
  const [, soft] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  return soft === undefined ? undefined : Number(soft)
}

/** Accepts no more connections, and closes each open one when its requests have been served. */
async function closeConnections(server: HttpServer, sockets: ReadonlySet<Socket>): Promise<void> {
  // Not the `close` of http.Server, which destroys connections whose response the client has not read yet.
  NetServer.prototype.close.call(server)
  const deadline = performance.now() + CLOSE_TIMEOUT_MS
  while (sockets.size > 0 && performance.now() < deadline) {
    // This would destroy them too.
    if (sockets.values().every(({ writableLength }) => writableLength === 0)) server.closeIdleConnections()
    await pause(CLOSE_IDLE_MS)
  }
  for (const socket of sockets) socket.destroy()
}

function rateLimitsOf(
  { rateLimits }: Config,
  metrics: Metrics,
  shared: RateLimiter | undefined,
): RateLimits | undefined {
  if (Object.values(rateLimits).every((limit) => limit === undefined)) return undefined
  return new RateLimits(rateLimits, metrics.limited(shared ?? new LocalLimiter(() => performance.now())))
}

function outsideReportsOf({ leakReports, leakSources }: Config, { fetch }: Latchkey, shared: RateLimiter | undefined) {
  const monotonic = () => performance.now()
  return {
    limiter: leakReports ? (shared ?? new LocalLimiter(monotonic)) : undefined,
    sources: leakSources.map((settings) => openLeakSource(settings, monotonic, fetch)),
  }
}

function machineClock(log: Logger): () => number {
  const onStep = (ms: number) =>
    log.warn(
      { ms },
      ms < 0
        ? 'the clock of this machine was set back; the service keeps the later time until the clock has caught up'
        : 'the clock of this machine is more than a day ahead of what it was; it is followed if it stays so for 5 seconds',
    )
  return steadyClock({ wall: Date.now, elapsed: () => performance.now(), onStep })
}

function grantsOf({ jwt, jwtGrants, oidc }: Config, parts: { readonly registry: Registry; readonly log: Logger }) {
  return {
    jwt: jwt && jwtGrants !== undefined ? openGrants(jwtGrants, 'LATCHKEY_JWT_GRANTS', parts) : undefined,
    oidc: oidc && openGrants(oidc.grants, 'LATCHKEY_OIDC_GRANTS', parts),
  }
}

async function authenticatorOf(
  { jwt, trustEmail: trustsEmail }: Config,
  { registry, fetch }: Latchkey,
  now: () => number,
  grants: GrantsFile | undefined,
): Promise<Authenticate> {
  if (jwt === undefined) return (key) => registry.authenticate(key)
  const { jwtAuthenticator } = await import('../http/access/jwt.ts')
  return jwtAuthenticator({ ...jwt, fetch }, registry, now, { grants, trustsEmail })
}

function warnOfPlainHttp({ publicUrl }: Config, log: Logger): void {
  if (publicUrl === undefined || !isPlainHttp(publicUrl)) return
  log.warn(
    { publicUrl },
    'LATCHKEY_PUBLIC_URL is plain HTTP: who can read the traffic can act as those who sign in. Use HTTPS',
  )
}

async function signInOf(
  { oidc, trustEmail: trustsEmail }: Config,
  { fetch }: Latchkey,
  file: GrantsFile | undefined,
): Promise<SignIn | undefined> {
  if (oidc === undefined || file === undefined) return undefined
  const { OidcProvider } = await import('../http/access/oidc.ts')
  const grants = () => file.read()
  const settings = { ...oidc, clientSecret: readSecret(oidc.clientSecret), trustsEmail, fetch }
  const provider = new OidcProvider(settings, () => grants().map(({ claim }) => claim))
  return { provider, grants, publicUrl: oidc.publicUrl }
}

function readSecret(secret: Secret): string {
  if ('text' in secret) return secret.text
  let text: string
  try {
    text = readFileSync(secret.file, 'utf8').trim()
  } catch (error) {
    throw new OperatorError(`LATCHKEY_OIDC_CLIENT_SECRET_FILE cannot be read: ${(error as Error).message}`)
  }
  if (text === '') throw new OperatorError(`LATCHKEY_OIDC_CLIENT_SECRET_FILE names an empty file: ${secret.file}`)
  return text
}
