// The server: HTTP on an opened store, until it is stopped. A file of its own because no other command needs the libraries
// for HTTP, which take longer to load than all the rest.
import type { Server as HttpServer } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import pino, { type Logger } from 'pino'
import { type Latchkey, openLatchkey, type Surroundings } from '../compose.ts'
import { type Config, packageVersion } from '../config.ts'
import type { Authenticate } from '../http/access/caller.ts'
import { RateLimits } from '../http/access/rate-limits.ts'
import { Metrics } from '../http/observe/metrics.ts'
import { buildServer } from '../http/server.ts'
import { OperatorError } from '../tokens/errors.ts'
import type { Registry } from '../tokens/registry.ts'
import { type Limiter, LocalLimiter } from '../tokens/trust/rate-limit.ts'
import { steadyClock } from './clock.ts'

const FLUSH_USES_MS = 5_000
const CLOSE_IDLE_MS = 50
/** Every request is answered in less; a caller who has not read the answer by then does not want it. */
const CLOSE_AT_MOST_MS = 10_000

interface ServingIn extends Surroundings {
  /** Shared by the processes of this machine. */
  readonly limiter?: Limiter
}

export interface RunningServer {
  readonly server: FastifyInstance
  readonly metrics: Metrics
  readonly url: string
  /** Resolves when part of the store has ended for good: only another process can do what needs that part. */
  readonly storeLost: Promise<Error>
  /** Says that it is not ready, but serves for as long as load balancers may need to notice; then closes everything. */
  readonly stop: () => Promise<void>
}

export async function startServer(config: Config, surroundings: ServingIn = {}): Promise<RunningServer & Latchkey> {
  const log = surroundings.log ?? pino({ level: 'silent' })
  const now = surroundings.now ?? machineClock(log)
  const metrics = new Metrics()
  const { promise: storeLost, resolve: onStoreLost } = Promise.withResolvers<Error>()
  const latchkey = await openLatchkey(config, { ...surroundings, now, log, metrics, onStoreLost })
  try {
    return { ...(await serve(config, latchkey, { ...surroundings, now, log, metrics })), storeLost }
  } catch (error) {
    // Its threads and connections would keep the process alive.
    await latchkey.store.close()
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new OperatorError(`Port ${config.port} on ${config.host} is in use. Set PORT to another one.`)
  }
}

async function serve(
  config: Config,
  latchkey: Latchkey,
  { now, log, metrics, limiter }: ServingIn & { now: () => number; log: Logger; metrics: Metrics },
): Promise<Omit<RunningServer, 'storeLost'> & Latchkey> {
  const { registry, store } = latchkey
  let draining = false
  const ping = oneAtATime(() => store.ping())
  metrics.countTokens(store, now)
  if (latchkey.poolUsage !== undefined) metrics.watchPools(latchkey.poolUsage)
  metrics.describeBuild({
    version: packageVersion(),
    engine: config.databaseUrl === undefined ? 'embedded' : 'postgres',
  })
  const server = await buildServer({
    registry,
    authenticator: await authenticatorOf(config, registry, now),
    metrics,
    log,
    app: { appType: config.appType, appVersion: config.appVersion },
    now,
    ready: () => (draining ? Promise.reject(new Error('draining')) : ping()),
    isDraining: () => draining,
    credentialHeader: config.credentialHeader,
    trustProxy: config.trustProxy,
    rateLimits: rateLimitsOf(config, metrics, latchkey.limiter ?? limiter),
  })
  const sockets = new Set<Socket>()
  server.server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const url = await server.listen({ host: config.host, port: config.port })
  const flushing = setInterval(() => {
    registry.uses.flush().catch((err: unknown) => log.warn({ err }, 'last-used marks are kept for the next flush'))
  }, FLUSH_USES_MS)
  const close = async () => {
    clearInterval(flushing)
    await closeConnections(server.server, sockets)
    await server.close()
    await registry.uses.flush().catch((err: unknown) => log.error({ err }, 'last-used marks were lost'))
    await store.close()
  }
  const stop = async () => {
    draining = true
    await pause(config.drainSeconds * 1000)
    await close()
  }
  return { ...latchkey, server, metrics, url, stop }
}

/** Anybody may ask whether it is ready: those who ask at the same time share one look at the store. */
function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => {
    running ??= work().finally(() => {
      running = undefined
    })
    return running
  }
}

/** No connection is accepted from now on. What is under way is answered, and then its connection is closed. */
async function closeConnections(server: HttpServer, sockets: ReadonlySet<Socket>): Promise<void> {
  // Not that of HTTP, which destroys connections whose answers have been written but not been taken.
  NetServer.prototype.close.call(server)
  const deadline = performance.now() + CLOSE_AT_MOST_MS
  while (sockets.size > 0 && performance.now() < deadline) {
    // The same holds for this one; the end has to wait for those connections anyway.
    if (sockets.values().every(({ writableLength }) => writableLength === 0)) server.closeIdleConnections()
    await pause(CLOSE_IDLE_MS)
  }
  for (const socket of sockets) socket.destroy()
}

/** Time comes from a clock that nobody sets. */
function rateLimitsOf({ rateLimits }: Config, metrics: Metrics, shared: Limiter | undefined): RateLimits | undefined {
  if (Object.values(rateLimits).every((limit) => limit === undefined)) return undefined
  return new RateLimits(rateLimits, metrics.limited(shared ?? new LocalLimiter(() => performance.now())))
}

function machineClock(log: Logger): () => number {
  const onSetBack = (ms: number) =>
    log.warn({ ms }, 'the clock of this machine was set back; time goes on from where it was until a restart')
  return steadyClock({ wall: Date.now, elapsed: () => performance.now(), onSetBack })
}

async function authenticatorOf({ jwt }: Config, registry: Registry, now: () => number): Promise<Authenticate> {
  if (jwt === undefined) return (key) => registry.authenticate(key)
  const { jwtAuthenticator } = await import('../http/access/jwt.ts')
  return jwtAuthenticator(jwt, registry, now)
}
