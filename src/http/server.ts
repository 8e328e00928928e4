// The HTTP door: all routes in one table, one way in and one way out for every request.
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import Fastify, {
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type HTTPMethods,
  type RouteOptions,
} from 'fastify'
import type { Logger } from 'pino'
import { Failure } from '../tokens/errors.ts'
import type { Registry } from '../tokens/registry.ts'
import { apiDescription, withNamedSchemas } from './api-description.ts'
import { addBodyParsers } from './body.ts'
import { type Admit, type Authenticate, authenticate, callerOf } from './caller.ts'
import { answerMalformed, isUnambiguous, limitUnread, notHttp } from './client-error.ts'
import { consoleRoutes } from './console-routes.ts'
import { type AppIdentity, successBody, successJson } from './envelope.ts'
import { answerTo, BODY_LIMIT_BYTES, HttpFailure, routeNotFound } from './failures.ts'
import { historyRoutes } from './history-routes.ts'
import type { Metrics } from './metrics.ts'
import { overviewRoutes } from './overview-routes.ts'
import type { RateLimits } from './rate-limits.ts'
import { recorder } from './recorder.ts'
import { requestIdOf } from './request-id.ts'
import {
  type AccountRoute,
  type PlainRoute,
  type Route,
  type SerializerOf,
  withFailures,
  withoutFailures,
} from './route.ts'
import { serviceRoutes } from './service-routes.ts'
import { subAccountRoutes } from './sub-account-routes.ts'
import { tokenRoutes } from './token-routes.ts'
import { inTurn } from './turns.ts'
import { unknownNamesCheck } from './unknown-names.ts'
import { verifyRoutes } from './verify-routes.ts'

export interface ServerParts {
  readonly registry: Registry
  readonly authenticator: Authenticate
  readonly app: AppIdentity
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
  readonly ready: () => Promise<void>
  readonly isDraining: () => boolean
  readonly credentialHeader: string | undefined
  /** Addresses of proxies whose X-Forwarded-For is believed. */
  readonly trustProxy: readonly string[]
  readonly rateLimits?: RateLimits | undefined
}

export async function buildServer(parts: ServerParts): Promise<FastifyInstance> {
  const admit = admissionOf(parts)
  const server = Fastify(optionsOf(parts))
  hardenHttp(server)
  server.decorateRequest('caller')
  server.decorateRequest('tokenId')
  server.decorateRequest('route')
  server.decorateRequest('startedAt')
  server.decorateRequest('admittedAt')
  const known: RouteOptions[] = []
  server.addHook('onRoute', (route) => void known.push(route))
  await server.register(swagger, {
    openapi: apiDescription(parts),
    transform: ({ schema, url }) => ({ schema: withFailures(schema), url }),
    transformObject: withNamedSchemas,
  })
  await server.register(swaggerUi, { routePrefix: '/docs', staticCSP: true, transformStaticCSP: withoutOthers })
  // The rules of input are the domain's, in its words; schemas describe it and shape what goes out.
  server.setValidatorCompiler(() => () => true)
  addBodyParsers(server)
  for (const route of tableOf(parts, server)) {
    if ('answer' in route) addAccountRoute(server, parts, admit, route)
    else addPlainRoute(server, parts.registry, route)
  }
  addHooks(server, parts, admit, known)
  server.setErrorHandler((error, request, reply) => sendFailure(parts, request, reply, error))
  server.setNotFoundHandler(async () => {
    throw routeNotFound()
  })
  return server
}

function optionsOf({ trustProxy }: ServerParts): FastifyHttpOptions<Server> {
  return {
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: 15_000,
    // Node.js looks for connections past their time every half minute unless told otherwise, and would answer a request
    // without a Host in words of its own.
    http: {
      headersTimeout: 10_000,
      connectionsCheckingInterval: 1_000,
      requireHostHeader: false,
      // A request without a body comes as a stream that has ended, which saves Node.js a twentieth of what it costs.
      optimizeEmptyRequests: true,
    },
    // An id of any length is an unknown id, not a bad request; the header limit bounds it.
    routerOptions: { maxParamLength: 16_384 },
    genReqId: requestIdOf,
    requestIdHeader: false,
    trustProxy: trustProxy.length > 0 ? [...trustProxy] : false,
    // While draining, what still arrives on open connections is served, and the connection closed after it.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // There is one only, a path that cannot be decoded. It goes its way as if it could.
    frameworkErrors: (_error, request, reply) => {
      request.raw.url = decodable(request.raw.url ?? '')
      request.server.routing(request.raw, reply.raw)
    },
    clientErrorHandler: answerMalformed,
  }
}

function tableOf(parts: ServerParts, server: FastifyInstance): readonly Route[] {
  const service = serviceRoutes(parts, () => server.swagger())
  const verification = verifyRoutes({ ...parts, onVerdict: (verdict) => parts.metrics.judged(verdict) })
  const browser = consoleRoutes()
  return [
    tokenRoutes.listTokens,
    tokenRoutes.createToken,
    tokenRoutes.listTokensOfSubAccount,
    tokenRoutes.getToken,
    tokenRoutes.updateToken,
    tokenRoutes.deleteToken,
    tokenRoutes.rotateToken,
    historyRoutes.tokenHistory,
    historyRoutes.accountHistory,
    overviewRoutes.overview,
    subAccountRoutes.listSubAccounts,
    subAccountRoutes.createSubAccount,
    subAccountRoutes.getSubAccount,
    subAccountRoutes.updateSubAccount,
    verification.verify,
    verification.introspect,
    service.live,
    service.readiness,
    service.prometheus,
    service.description,
    browser.root,
    browser.withoutSlash,
    browser.pages,
  ]
}

function addHooks(server: FastifyInstance, parts: ServerParts, admit: Admit, known: readonly RouteOptions[]): void {
  const record = recorder(parts.log, parts.metrics)
  // Before the body is read, as on the routes that exist.
  server.addHook('onRequest', (request, reply, done) => {
    inTurn(request.raw, reply.raw, () => {
      request.startedAt = performance.now()
      if (!isUnambiguous(request.raw)) done(notHttp())
      else if (request.is404) refuseUnknown(admit, known, request).catch(done)
      else done()
    })
  })
  server.addHook('onSend', (request, reply, _payload, done) => {
    setCommonHeaders(request, reply)
    // Those who keep their connections are sent to another instance.
    if (parts.isDraining()) reply.header('connection', 'close')
    // One without a body has ended before it is complete, and never says so again.
    if (!request.raw.complete && !request.raw.readableEnded) limitUnread(request.raw)
    // Now rather than when the last byte is gone: waiting for that costs more than the line does.
    record(request, reply)
    done()
  })
}

/**
 * The policy of the page of the API, without the hosts that its plugin also lets in: it needs none of them. Nor may it
 * turn requests into HTTPS: a service that is reached over plain HTTP has none, and the page would stay blank.
 */
function withoutOthers(policy: string): string {
  const directives = policy.split(';').map((each) => each.trim().split(/ +/))
  return directives
    .filter(([name = '']) => name !== '' && name !== 'upgrade-insecure-requests')
    .map(([name, ...sources]) => [name, ...sources.filter((each) => /^'|^data:$/.test(each))].join(' '))
    .join('; ')
}

function admissionOf({ authenticator, rateLimits }: ServerParts): Admit {
  const admit: Admit = (request) => authenticate(request, authenticator)
  return rateLimits === undefined ? admit : rateLimits.around(admit)
}

function hardenHttp({ server }: FastifyInstance): void {
  // None are left out unseen; the header limit of 16 KiB bounds them.
  server.maxHeadersCount = 0
  // An expectation that we do not know is not ours to meet (RFC 9110, 10.1.1); the request is answered as any other.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  // Who ends his side of the connection behind a request still waits for its answer. Node.js has no types for it.
  Object.assign(server, { httpAllowHalfOpen: true })
  // Read now, the address stays known when the caller has gone; who has gone already has none, and asks for nothing.
  server.on('connection', (socket) => {
    if (socket.remoteAddress === undefined) socket.destroy()
  })
  server.on('connect', (_request, socket: Socket) => answerMalformed(new Error('CONNECT'), socket))
}

/** Always rejects: with what is wrong with the caller, the method or the path. */
async function refuseUnknown(admit: Admit, known: readonly RouteOptions[], request: FastifyRequest): Promise<never> {
  if (isApi(request.url)) await admit(request)
  const allowed = allowedMethods(known, request.url)
  if (allowed.length === 0) throw routeNotFound()
  throw new HttpFailure(405, `${request.method} is not allowed here`, { allow: allowed.join(', ') })
}

function addAccountRoute(server: FastifyInstance, parts: ServerParts, admit: Admit, route: AccountRoute): void {
  const { registry, app, now } = parts
  const { toJson } = route
  const showMessage = route.method === 'GET' ? 0 : 1
  const envelopeJson = successJson(app, showMessage)
  const checkNames = route.ignoresUnknown ? undefined : unknownNamesCheck(route.schema)
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    const caller = callerOf(request)
    const question = {
      caller,
      params: request.params as Record<string, string>,
      query: request.query as Record<string, unknown>,
      body: request.body,
      headers: request.headers,
      origin: { by: caller.by, byName: caller.byName ?? null, at: now(), requestId: request.id, address: request.ip },
    }
    checkNames?.(question)
    const given = await during(registry, request, () => route.answer(registry, question))
    request.tokenId = given.tokenId
    if (given.headers !== undefined) reply.headers(given.headers)
    reply.code(given.status ?? 200)
    return given
  }
  server.route({
    method: route.method,
    url: route.url,
    schema: withoutFailures(route.schema),
    // Before the body is read: without a caller nothing is said, not even what is wrong with the request.
    onRequest: (request) => {
      request.route = route.url
      return admit(request)
    },
    async handler(request, reply) {
      const { message, data } = await answer(request, reply)
      if (toJson === undefined) return successBody(app, message, data, showMessage)
      const serializerOf = ((schema: Record<string, unknown>) =>
        reply.compileSerializationSchema(schema)) as unknown as SerializerOf
      return reply.type('application/json; charset=utf-8').send(envelopeJson(message, toJson(data, serializerOf)))
    },
  })
}

/**
 * Time that the store took to know the caller counts against the request's deadline. A body that came slowly is not its
 * fault.
 */
function during<Result>(registry: Registry, request: FastifyRequest, work: () => Result): Result {
  const { startedAt = 0, admittedAt = startedAt } = request
  const isGone = () => request.raw.socket.destroyed
  return registry.during({ waitedMs: admittedAt - startedAt, isGone }, work)
}

function addPlainRoute(server: FastifyInstance, registry: Registry, route: PlainRoute): void {
  const respond: PlainRoute['respond'] = (request, reply) =>
    during(registry, request, () => route.respond(request, reply))
  const [described, ...others] = [route.method].flat()
  const add = (method: HTTPMethods | HTTPMethods[], schema: PlainRoute['schema']) =>
    server.route({
      method,
      url: route.url,
      schema: withoutFailures(schema),
      exposeHeadRoute: method === 'GET' && !others.includes('HEAD'),
      config: { consumes: route.consumes },
      onRequest: (request, reply, done) => {
        request.route = route.url
        if (route.ignoresBody) respond(request, reply).catch(done)
        else if (route.access === 'anyone') done()
        else route.access(request).then(() => done(), done)
      },
      handler: (request, reply) => respond(request, reply),
    })
  if (described !== undefined) add(described, route.schema)
  // The same answer to other methods is not described again.
  if (others.length > 0) add(others, { ...route.schema, hide: true } as PlainRoute['schema'])
}

function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  reply.header('x-content-type-options', 'nosniff')
  // Node.js drops what was sent right behind a request for another protocol.
  if (request.raw.headers.upgrade !== undefined) reply.header('connection', 'close')
  if (isApi(request.url)) reply.header('cache-control', 'no-store')
}

/** Everything below these paths is for callers, and is never cached. */
function isApi(url: string): boolean {
  return API.test(url) || (url.includes('%') && API.test(decoded(url.split('?', 1)[0] ?? '') ?? ''))
}

const API = /^\/(api|oauth2)\//

/** What cannot be decoded stands for itself: an id that is unknown, a path that leads nowhere. */
function decodable(url: string): string {
  const [path = '', ...query] = url.split('?')
  const readable = path.split('/').map((part) => (decoded(part) === undefined ? part.replaceAll('%', '%25') : part))
  return [readable.join('/'), ...query].join('?')
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function allowedMethods(known: readonly RouteOptions[], url: string): readonly string[] {
  const path = decoded(url.split('?', 1)[0] ?? '') ?? ''
  const methods = known.filter((route) => patternOf(route.url).test(path)).flatMap((route) => route.method)
  return [...new Set(methods.flatMap((method) => (method === 'HEAD' ? ['GET', 'HEAD'] : [method])))]
}

/** The router takes nothing at all for an id too. */
function patternOf(url: string): RegExp {
  return new RegExp(`^${url.replace('*', '.*').replace(/:[A-Za-z]+/g, '[^/]*')}$`)
}

async function sendFailure(parts: ServerParts, request: FastifyRequest, reply: FastifyReply, error: unknown) {
  const { status, headers, body } = answerTo(error)
  if (status >= 500) parts.log.error({ reqId: request.id, err: causeOf(error) }, 'request failed')
  // Fastify closes the connection on a body that it could not read, and Node.js then before it has come; who is still
  // sending would never see the answer. What still comes is dropped instead (`limitUnread`).
  if (reply.hasHeader('connection') && reply.raw.shouldKeepAlive) reply.removeHeader('connection')
  return reply.code(status).headers(headers).send(body)
}

function causeOf(error: unknown): unknown {
  return error instanceof Failure ? (error.cause ?? error) : error
}
