// The HTTP server: the table of all routes, and what happens to every request before and after its route.
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
import { Failure } from '../tokens/errors.ts'
import type { Caller } from '../tokens/model/permissions.ts'
import { isOfPortal } from '../tokens/portal.ts'
import type { Origin } from '../tokens/record/history.ts'
import type { Registry } from '../tokens/registry.ts'
import { type Admit, admitAgain, bearerOf, callerOf } from './access/caller.ts'
import { addressOf, clientAddressReader, oncePerNetwork } from './access/client-address.ts'
import { gateEvents } from './access/gate-events.ts'
import { answerPreflight, callerInPortal, setCorsHeaders } from './access/portal.ts'
import { admitWithin } from './access/rate-limits.ts'
import { authenticateEither, rightsOfPeople } from './access/session.ts'
import { recorder } from './observe/recorder.ts'
import { addBodyParsers } from './protocol/body.ts'
import { BufferedMemory } from './protocol/buffered-memory.ts'
import { answerMalformed, isUnambiguous, limitUnread, notHttp } from './protocol/client-error.ts'
import { successBody } from './protocol/envelope.ts'
import { answerTo, BODY_LIMIT_BYTES, HttpFailure, routeNotFound } from './protocol/failures.ts'
import { createNodeServer } from './protocol/node-server.ts'
import { allowedMethods, decodable, isApi } from './protocol/paths.ts'
import { hasRequestsWaiting } from './protocol/pipelining.ts'
import { requestIdOf } from './protocol/request-id.ts'
import { unknownNamesCheck } from './protocol/unknown-names.ts'
import { apiDescription, DESCRIPTION_PAGE, withNamedSchemas } from './routes/api-description.ts'
import { authRoutes } from './routes/auth-routes.ts'
import { bulkRoutes } from './routes/bulk-routes.ts'
import { consoleRoutes, STATIC_FILES } from './routes/console-routes.ts'
import { CsvResponses, wantsCsv, withoutFormat } from './routes/csv-responses.ts'
import { eventRoutes } from './routes/event-routes.ts'
import { grantRoutes } from './routes/grant-routes.ts'
import { historyRoutes } from './routes/history-routes.ts'
import { keyRoutes } from './routes/key-routes.ts'
import { leakReportRoutes } from './routes/leak-report-routes.ts'
import { leakRoute } from './routes/leak-routes.ts'
import { overviewRoutes } from './routes/overview-routes.ts'
import { portalFiles } from './routes/portal-files.ts'
import { portalRoutes } from './routes/portal-routes.ts'
import {
  type AccountRoute,
  isChange,
  isWrite,
  type PlainRoute,
  type Route,
  type RouteInput,
  requireRights,
  type ServerParts,
  schemaOf,
  withFailures,
  withoutFailures,
} from './routes/route.ts'
import { serviceRoutes } from './routes/service-routes.ts'
import { sessionRoutes } from './routes/session-routes.ts'
import { subAccountRoutes } from './routes/sub-account-routes.ts'
import { tokenRoutes } from './routes/token-routes.ts'
import { usageRoutes } from './routes/usage-routes.ts'
import { verifierRoutes } from './routes/verifier-routes.ts'
import { verifyRoutes } from './routes/verify-routes.ts'
import { webhookRoutes } from './routes/webhook-routes.ts'
import { whoamiRoutes } from './routes/whoami-routes.ts'

export async function buildServer(parts: ServerParts): Promise<FastifyInstance> {
  const authenticate = authentication(parts)
  const admit = admitWithin(authenticate, parts.rateLimits)
  const memory = new BufferedMemory()
  const server = Fastify(optionsOf(memory))
  // Before the plugins are registered: their routes would otherwise keep Fastify's own error handler.
  server.setErrorHandler((error, request, reply) => sendFailure(parts, request, reply, error))
  for (const name of [
    'caller',
    'tokenId',
    'route',
    'admittedAt',
    'clientAddress',
    'reason',
    'traceId',
    'allowedOrigin',
  ])
    server.decorateRequest(name)
  server.decorateRequest('startedAt', 0)
  server.decorateRequest('wasComplete', false)
  const registered: RouteOptions[] = []
  server.addHook('onRoute', (route) => void registered.push(route))
  await server.register(swagger, {
    openapi: apiDescription(parts),
    transform: ({ schema, url }) => ({ schema: withFailures(schema), url }),
    transformObject: withNamedSchemas,
  })
  await server.register(swaggerUi, DESCRIPTION_PAGE)
  await server.register(files, STATIC_FILES)
  // The domain validates input. Schemas only describe it, and serialize output.
  server.setValidatorCompiler(() => () => true)
  addBodyParsers(server, memory)
  const csv = new CsvResponses(parts, authenticate, (request, work) => during(parts.registry, request, work))
  for (const route of [...allRoutes(parts, server), ...eventRoutes(parts, admit, authenticate)]) {
    if ('answer' in route) addAccountRoute(server, parts, admit, route, csv)
    else addPlainRoute(server, parts.registry, route)
  }
  addHooks(server, parts, admit, registered)
  parts.traces?.addTo(server)
  server.setNotFoundHandler(async () => {
    throw routeNotFound()
  })
  return server
}

type AuthenticateRequest = (request: FastifyRequest) => Promise<Caller>

/** By a bearer, that of an account key, a JWT or a session of the portal, or, where people can sign in to the console, by their cookie. */
function authentication({ registry, authenticator, signIn }: ServerParts): AuthenticateRequest {
  const inPortal = callerInPortal.bind(undefined, registry.portal, rightsOfPeople(signIn))
  const byBearer = async (request: FastifyRequest) => {
    const presented = bearerOf(request)
    return isOfPortal(presented) ? inPortal(request, presented) : authenticator(presented)
  }
  return signIn === undefined ? byBearer : authenticateEither(registry, signIn, byBearer)
}

function optionsOf(memory: BufferedMemory): FastifyHttpOptions<Server> {
  return {
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    serverFactory: (serve) => createNodeServer(serve, memory),
    // A long id is an unknown id, not a bad request. The header size limit bounds its length.
    routerOptions: { maxParamLength: 16_384 },
    genReqId: requestIdOf,
    requestIdHeader: false,
    // While draining, requests on open connections are still served, and the connection is closed after them.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    // Only raised for a path that cannot be decoded. It is routed again, with the invalid escapes taken literally.
    frameworkErrors: (_error, request, reply) => {
      request.raw.url = decodable(request.raw.url ?? '')
      request.server.routing(request.raw, reply.raw)
    },
    clientErrorHandler: answerMalformed,
  }
}

function allRoutes(parts: ServerParts, server: FastifyInstance): readonly Route[] {
  return [
    ...Object.values(tokenRoutes),
    ...Object.values(bulkRoutes),
    ...Object.values(historyRoutes),
    ...usageRoutes(parts),
    ...Object.values(overviewRoutes),
    ...Object.values(whoamiRoutes),
    ...Object.values(keyRoutes),
    leakRoute(),
    ...leakReportRoutes(parts),
    ...Object.values(webhookRoutes),
    ...sessionRoutes(parts),
    ...grantRoutes(parts),
    ...authRoutes(parts),
    ...Object.values(subAccountRoutes),
    ...portalRoutes(parts),
    ...verifierRoutes(parts),
    ...Object.values(verifyRoutes(parts)),
    ...Object.values(serviceRoutes(parts, () => server.swagger())),
    ...Object.values(consoleRoutes()),
    ...Object.values(portalFiles()),
  ]
}

function addHooks(
  server: FastifyInstance,
  parts: ServerParts,
  admit: Admit,
  registered: readonly RouteOptions[],
): void {
  const record = recorder(parts.log, parts.metrics)
  const readClientAddress = clientAddressReader(parts.trustProxy, oncePerNetwork(warnOfProxy(parts.log)))
  // Unknown routes are refused here, before the body is read, as existing routes refuse unauthenticated requests.
  const answerUnknown = async (request: FastifyRequest, reply: FastifyReply) =>
    answerPreflight(request, reply) || refuseUnknown(admit, registered, request)
  server.addHook('onRequest', (request, reply, done) => {
    request.startedAt = performance.now()
    request.clientAddress = readClientAddress(request)
    const proceed = () => (request.is404 ? answerUnknown(request, reply).catch(done) : done())
    if (!isUnambiguous(request.raw)) done(notHttp())
    else if (parts.rateLimits === undefined) proceed()
    else parts.rateLimits.checkAddress(request).then(proceed, done)
  })
  server.addHook('onSend', (request, reply, _payload, done) => {
    setCommonHeaders(request, reply)
    // The client then connects to another instance. Requests it has already sent (pipelining) are served first.
    if (parts.isDraining() && !hasRequestsWaiting(request.raw.socket)) reply.header('connection', 'close')
    // Requests without a body emit no 'end'.
    if (!request.raw.complete && !request.raw.readableEnded) limitUnread(request.raw)
    // Recorded before the response is sent: a listener for its end would cost more than the log line.
    record(request, reply)
    done()
  })
}

const warnOfProxy = (log: ServerParts['log']) => (address: string) =>
  log.warn(
    { address },
    'X-Forwarded-For of this peer is ignored. If it is your proxy, add it to LATCHKEY_TRUST_PROXY: until then all its clients ' +
      'have its address',
  )

/** Always rejects: 401 and the like, 404 or 405. */
async function refuseUnknown(
  admit: Admit,
  registered: readonly RouteOptions[],
  request: FastifyRequest,
): Promise<never> {
  if (isApi(request.url)) await admit(request)
  const allowed = allowedMethods(registered, request.url)
  if (allowed.length === 0) throw routeNotFound()
  throw new HttpFailure(405, `${request.method} is not allowed here`, { allow: allowed.join(', ') })
}

function addAccountRoute(
  server: FastifyInstance,
  parts: ServerParts,
  admit: Admit,
  route: AccountRoute,
  csv: CsvResponses,
): void {
  const { registry, app, now } = parts
  const { success } = route
  const showMessage = isWrite(route) ? 1 : 0
  const checkNames = route.ignoresUnknown ? undefined : unknownNamesCheck(route)
  const admitWithRights = async (request: FastifyRequest) => {
    await admit(request)
    requireRights(route, callerOf(request))
  }
  const readInput = (request: FastifyRequest) => {
    const query = request.query as RouteInput['query']
    const input = {
      caller: callerOf(request),
      params: request.params as RouteInput['params'],
      query: route.csv === undefined ? query : withoutFormat(query),
      body: request.body,
      headers: request.headers,
      origin: originOf(request, now()),
    }
    checkNames?.(input)
    return input
  }
  const handle = async (request: FastifyRequest, reply: FastifyReply, input: RouteInput) => {
    const answer = () => route.answer(registry, input)
    const { accountId } = input.caller
    const result = await during(registry, request, () =>
      isChange(route) ? parts.gate.answer([accountId], gateEvents(request, reply), answer) : answer(),
    )
    if (showMessage === 1) parts.onChange?.()
    request.tokenId = result.tokenId
    if (result.headers !== undefined) reply.headers(result.headers)
    reply.code(result.isDryRun ? 200 : (success.status ?? 200))
    return result
  }
  server.route({
    method: route.method,
    url: route.url,
    schema: withoutFailures(schemaOf(route)),
    config: { consumes: route.consumes },
    ...limitOf(route),
    // Before the body is read: an unauthenticated caller learns nothing, not even what is wrong with the request.
    onRequest: (request) => {
      request.route = route.url
      return admitWithRights(request)
    },
    async handler(request, reply) {
      await admitAgain(request, admitWithRights)
      const input = readInput(request)
      if (route.csv !== undefined && wantsCsv(request)) return csv.send(route, input, request, reply)
      const { message = success.message, data } = await handle(request, reply, input)
      return successBody(app, message, data, showMessage)
    },
  })
}

const limitOf = ({ bodyLimitBytes }: Pick<Route, 'bodyLimitBytes'>) =>
  bodyLimitBytes === undefined ? {} : { bodyLimit: bodyLimitBytes }

function originOf(request: FastifyRequest, at: number): Origin {
  const { by, byName = null, authority } = callerOf(request)
  return { by, byName, authority, at, requestId: request.id, address: addressOf(request) }
}

/** The time that authentication took counts against the store's deadline; the time to receive the body does not. */
function during<Result>(registry: Registry, request: FastifyRequest, work: () => Result): Result {
  const { startedAt, admittedAt = startedAt } = request
  const { socket } = request.raw
  return registry.during({ waitedMs: admittedAt - startedAt, isGone: () => socket.destroyed }, work)
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
      config: { consumes: route.consumes, takesBytes: route.takesBytes },
      ...limitOf(route),
      onRequest: (request, reply, done) => {
        request.route = route.url
        if (route.ignoresBody) respond(request, reply).catch(done)
        else if (route.access === 'anyone') done()
        else route.access(request).then(() => done(), done)
      },
      handler: async (request, reply) => {
        if (route.access !== 'anyone') await admitAgain(request, route.access)
        return respond(request, reply)
      },
    })
  if (described !== undefined) add(described, route.schema)
  // The API description shows only the first method.
  if (others.length > 0) add(others, { ...route.schema, hide: true } as PlainRoute['schema'])
}

function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  reply.header('x-content-type-options', 'nosniff')
  // Node.js drops what follows a request with an Upgrade header.
  if (request.raw.headers.upgrade !== undefined) reply.header('connection', 'close')
  if (isApi(request.url)) reply.header('cache-control', 'no-store')
  setCorsHeaders(request, reply)
}

async function sendFailure(parts: ServerParts, request: FastifyRequest, reply: FastifyReply, error: unknown) {
  const { status, headers, body } = answerTo(error, request.routeOptions.bodyLimit)
  const cause = error instanceof Failure ? (error.cause ?? error) : error
  if (status >= 500) parts.log.error({ reqId: request.id, err: cause }, 'request failed')
  // Fastify closes the connection after a body it refuses, and a client that is still sending would never see the response.
  // Instead, the rest of the body is read and dropped (`limitUnread`).
  if (reply.hasHeader('connection') && reply.raw.shouldKeepAlive) reply.removeHeader('connection')
  // The route may have described the response that it could not send, such as a file that cannot be opened.
  for (const name of ['etag', 'last-modified', 'content-encoding']) reply.removeHeader(name)
  reply.headers({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
  return reply.code(status).headers(headers).send(body)
}
