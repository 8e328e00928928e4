// The HTTP door: all routes in one table, one way in and one way out for every request.
import type { Server } from 'node:http'
import files from '@fastify/static'
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
import { type Admit, type Authenticate, authenticate, callerOf } from './access/caller.ts'
import type { RateLimits } from './access/rate-limits.ts'
import type { Metrics } from './observe/metrics.ts'
import { recorder } from './observe/recorder.ts'
import { addBodyParsers } from './protocol/body.ts'
import { answerMalformed, isUnambiguous, limitUnread, notHttp } from './protocol/client-error.ts'
import { type AppIdentity, successBody, successJson } from './protocol/envelope.ts'
import { answerTo, BODY_LIMIT_BYTES, HttpFailure, routeNotFound } from './protocol/failures.ts'
import { createNodeServer } from './protocol/node-server.ts'
import { allowedMethods, decodable, isApi } from './protocol/paths.ts'
import { requestIdOf } from './protocol/request-id.ts'
import { hasRequestsWaiting } from './protocol/turns.ts'
import { unknownNamesCheck } from './protocol/unknown-names.ts'
import { apiDescription, withNamedSchemas } from './routes/api-description.ts'
import { CONSOLE_FILES, consoleRoutes } from './routes/console-routes.ts'
import { historyRoutes } from './routes/history-routes.ts'
import { overviewRoutes } from './routes/overview-routes.ts'
import {
  type AccountRoute,
  type PlainRoute,
  type Route,
  type SerializerOf,
  withFailures,
  withoutFailures,
} from './routes/route.ts'
import { serviceRoutes } from './routes/service-routes.ts'
import { subAccountRoutes } from './routes/sub-account-routes.ts'
import { tokenRoutes } from './routes/token-routes.ts'
import { verifyRoutes } from './routes/verify-routes.ts'
import { whoamiRoutes } from './routes/whoami-routes.ts'

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
  // Before the plugins, whose routes would otherwise keep the error handler of Fastify.
  server.setErrorHandler((error, request, reply) => sendFailure(parts, request, reply, error))
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
  await server.register(files, CONSOLE_FILES)
  // The rules of input are the domain's, in its words; schemas describe it and shape what goes out.
  server.setValidatorCompiler(() => () => true)
  addBodyParsers(server)
  for (const route of tableOf(parts, server)) {
    if ('answer' in route) addAccountRoute(server, parts, admit, route)
    else addPlainRoute(server, parts.registry, route)
  }
  addHooks(server, parts, admit, known)
  server.setNotFoundHandler(async () => {
    throw routeNotFound()
  })
  return server
}

function optionsOf({ trustProxy }: ServerParts): FastifyHttpOptions<Server> {
  return {
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    serverFactory: (serve) => createNodeServer(serve),
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
    whoamiRoutes.whoami,
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
  server.addHook('onRequest', (request, _reply, done) => {
    request.startedAt = performance.now()
    const proceed = () => (request.is404 ? refuseUnknown(admit, known, request).catch(done) : done())
    if (!isUnambiguous(request.raw)) done(notHttp())
    else if (parts.rateLimits === undefined) proceed()
    else parts.rateLimits.arriving(request).then(proceed, done)
  })
  server.addHook('onSend', (request, reply, _payload, done) => {
    setCommonHeaders(request, reply)
    // The caller connects to another instance. What he has sent already is answered first.
    if (parts.isDraining() && !hasRequestsWaiting(request.raw.socket)) reply.header('connection', 'close')
    // Requests without a body emit no 'end'.
    if (!request.raw.complete && !request.raw.readableEnded) limitUnread(request.raw)
    // Before the answer is sent: a listener for its end would cost more than the log line does.
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
