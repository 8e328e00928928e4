// Makes routes of operations, and of what else the server answers.
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import { type Input, isChange, isWrite, type Operation, requireRights } from '../operations/operation.ts'
import { unknownNamesCheck } from '../operations/unknown-names.ts'
import type { Origin } from '../tokens/history/history.ts'
import type { Registry } from '../tokens/service/registry.ts'
import { type Admit, admitAgain, callerOf } from './access/caller.ts'
import { addressOf } from './access/client-address.ts'
import { gateEvents } from './access/gate-events.ts'
import { peopleOf } from './access/session.ts'
import { schemaOf, withoutFailures } from './description/responses.ts'
import type { PlainRoute, ServerParts } from './parts.ts'
import { successBody } from './protocol/envelope.ts'
import { type CsvResponses, wantsCsv, withoutFormat } from './streams/csv-responses.ts'

export function addOperation(
  server: FastifyInstance,
  parts: ServerParts,
  admit: Admit,
  route: Operation,
  csv: CsvResponses,
): void {
  const { registry, app, now } = parts
  const service = { ...parts, people: peopleOf(parts.signIn) }
  const { success } = route
  const showMessage = isWrite(route) ? 1 : 0
  const checkNames = route.ignoresUnknown ? undefined : unknownNamesCheck(route)
  const admitWithRights = async (request: FastifyRequest) => {
    await admit(request)
    requireRights(route, callerOf(request))
  }
  const handle = async (request: FastifyRequest, reply: FastifyReply, input: Input) => {
    const answer = () => route.answer(service, input)
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
      const input = inputFrom(request, route, now())
      checkNames?.(input)
      if (route.csv !== undefined && wantsCsv(request)) return csv.send(route, input, request, reply)
      const { message = success.message, data } = await handle(request, reply, input)
      return successBody(app, message, data, showMessage)
    },
  })
}

function inputFrom(request: FastifyRequest, { csv }: Operation, at: number): Input {
  const query = request.query as Input['query']
  return {
    caller: callerOf(request),
    params: request.params as Input['params'],
    query: csv === undefined ? query : withoutFormat(query),
    body: request.body,
    headers: request.headers,
    origin: originOf(request, at),
  }
}

const limitOf = ({ bodyLimitBytes }: { readonly bodyLimitBytes?: number }) =>
  bodyLimitBytes === undefined ? {} : { bodyLimit: bodyLimitBytes }

function originOf(request: FastifyRequest, at: number): Origin {
  const { by, byName = null, authority } = callerOf(request)
  return { by, byName, authority, at, requestId: request.id, address: addressOf(request) }
}

/** The time that authentication took counts against the store's deadline; the time to receive the body does not. */
export function during<Result>(registry: Registry, request: FastifyRequest, work: () => Result): Result {
  const { startedAt, admittedAt = startedAt } = request
  const { socket } = request.raw
  return registry.during({ waitedMs: admittedAt - startedAt, isGone: () => socket.destroyed }, work)
}

export function addPlainRoute(server: FastifyInstance, registry: Registry, route: PlainRoute): void {
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
