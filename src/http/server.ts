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
  type RouteOptions,
} from 'fastify'
import { operations } from '../operations/all.ts'
import type { Operation } from '../operations/operation.ts'
import { portal } from '../operations/portal/description.ts'
import { Failure } from '../tokens/model/errors.ts'
import type { Caller } from '../tokens/model/permissions.ts'
import { isOfPortal } from '../tokens/portal/portal.ts'
import { type Admit, bearerOf } from './access/caller.ts'
import { clientAddressReader, oncePerNetwork } from './access/client-address.ts'
import { answerPreflight, callerInPortal, setCorsHeaders } from './access/portal.ts'
import { admitWithin } from './access/rate-limits.ts'
import { authenticateEither, rightsOfPeople } from './access/session.ts'
import { apiDescription, DESCRIPTION_PAGE, withNamedSchemas } from './description/api-description.ts'
import { withFailures } from './description/responses.ts'
import { recorder } from './observe/recorder.ts'
import type { PlainRoute, ServerParts } from './parts.ts'
import { authRoutes } from './plain/auth-routes.ts'
import { consoleRoutes, STATIC_FILES } from './plain/console-routes.ts'
import { introspectRoute } from './plain/introspection.ts'
import { leakReportRoutes } from './plain/leak-reports.ts'
import { portalFiles } from './plain/portal-files.ts'
import { beginPortalSession } from './plain/portal-session.ts'
import { serviceRoutes } from './plain/service-routes.ts'
import { verifyRoute } from './plain/verify.ts'
import { addBodyParsers } from './protocol/body.ts'
import { BufferedMemory } from './protocol/buffered-memory.ts'
import { answerMalformed, isUnambiguous, limitUnread, notHttp } from './protocol/client-error.ts'
import { answerTo, BODY_LIMIT_BYTES, HttpFailure, routeNotFound } from './protocol/failures.ts'
import { createNodeServer } from './protocol/node-server.ts'
import { allowedMethods, decodable, isApi } from './protocol/paths.ts'
import { hasRequestsWaiting } from './protocol/pipelining.ts'
import { requestIdOf } from './protocol/request-id.ts'
import { addOperation, addPlainRoute, during } from './routes.ts'
import { CsvResponses } from './streams/csv-responses.ts'
import { eventRoutes } from './streams/event-routes.ts'

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
    if ('answer' in route) addOperation(server, parts, admit, route, csv)
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

function allRoutes(parts: ServerParts, server: FastifyInstance): readonly (Operation | PlainRoute)[] {
  // In the API description, a session of the portal is begun where it is made.
  const afterPortal = operations.indexOf(portal.endPortalSession) + 1
  return [
    ...operations.slice(0, afterPortal),
    beginPortalSession(parts),
    ...operations.slice(afterPortal),
    ...leakReportRoutes(parts),
    ...authRoutes(parts),
    verifyRoute(parts),
    introspectRoute(parts),
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
