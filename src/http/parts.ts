// What the server is made of, and its routes that are no operations.
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema, HTTPMethods } from 'fastify'
import type { Logger } from 'pino'
import type { Registry } from '../tokens/service/registry.ts'
import type { Gate } from '../tokens/verifiers/gate.ts'
import type { Verifiers } from '../tokens/verifiers/verifiers.ts'
import type { Admit, Authenticate } from './access/caller.ts'
import type { GrantsFile } from './access/grants.ts'
import type { OutsideReports } from './access/leak-sources.ts'
import type { RateLimits } from './access/rate-limits.ts'
import type { SignIn } from './access/session.ts'
import type { Metrics } from './observe/metrics.ts'
import type { Consumes } from './protocol/body.ts'
import type { AppIdentity } from './protocol/envelope.ts'
import type { EventStreams } from './streams/event-streams.ts'

/** What the server is made of. Each file of routes takes what it needs. */
export interface ServerParts {
  readonly registry: Registry
  readonly verifiers: Verifiers
  readonly gate: Gate
  readonly authenticator: Authenticate
  readonly app: AppIdentity
  /** Of the software; `app` has what the configuration says. */
  readonly version: string
  readonly log: Logger
  readonly traces?: { addTo(server: FastifyInstance): void } | undefined
  readonly metrics: Metrics
  readonly now: () => number
  /** Rejects while the service should get no requests: the store does not respond, or the server is draining. */
  readonly ready: () => Promise<void>
  readonly isDraining: () => boolean
  /** A header, in lower case, that holds the bare credential, for clients that send no bearer. */
  readonly credentialHeader: string | undefined
  /** Addresses and networks of proxies whose X-Forwarded-For is trusted. */
  readonly trustProxy: readonly string[]
  readonly rateLimits?: RateLimits | undefined
  readonly grantsFiles?: readonly GrantsFile[]
  /** The event streams that are open. */
  readonly events?: EventStreams
  /** Called after every change that a caller has made. */
  readonly onChange?: () => void
  /** How people sign in to the console without an account key; undefined if they cannot. */
  readonly signIn?: SignIn | undefined
  /** The origin at which browsers reach this service, if it is known. */
  readonly publicUrl?: string | undefined
  /** Of leaked credentials. */
  readonly outsideReports?: OutsideReports | undefined
}

/** Responds without the envelope: probes, metrics, gateways. */
export interface PlainRoute {
  readonly method: HTTPMethods | readonly HTTPMethods[]
  readonly url: string
  readonly schema: FastifySchema
  /** `Admit` runs before the body is read, and rejects to refuse the request. */
  readonly access: Admit | 'anyone'
  /** Default: JSON. */
  readonly consumes?: Consumes['consumes']
  readonly takesBytes?: boolean
  readonly bodyLimitBytes?: number
  /** True for a route that responds from the headers alone, whatever body a gateway forwards. */
  readonly ignoresBody?: boolean
  readonly respond: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>
}
