// The account's history as it happens, as Server-Sent Events.
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { unknownNamesCheck } from '../../operations/unknown-names.ts'
import { ACTIONS, readActions } from '../../tokens/history/actions.ts'
import { Failure } from '../../tokens/model/errors.ts'
import { readOnce } from '../../tokens/model/page.ts'
import { type Caller, requireRight } from '../../tokens/model/permissions.ts'
import { type Admit, callerOf } from '../access/caller.ts'
import {
  CALLERS,
  DESCRIPTION,
  describeFailures,
  describeUnauthenticated,
  UNAUTHENTICATED_CODES,
  UNAUTHENTICATED_DESCRIPTION,
  withoutRight,
} from '../description/responses.ts'
import type { PlainRoute, ServerParts } from '../parts.ts'
import { EventStreams, RESET } from './event-streams.ts'

const querystring = Type.Object({
  after: Type.Optional(
    Type.String({
      description: 'Begins after the entry with this `seq`; 0 for the first one. Without it: from now on',
    }),
  ),
  action: Type.Optional(
    Type.Array(Type.String(), { description: 'Only these kinds of change, such as `token.update` or `token.*`' }),
  ),
})

const headers = Type.Object({
  'last-event-id': Type.Optional(
    Type.String({ description: 'The same as `after`; browsers send it when they connect again' }),
  ),
})

const EXAMPLE = `retry: 2000

id: 7
event: token.update
data: {"seq":7,"at":"2026-01-31T09:30:00.000Z","by":"key_019b2f0c5a3c","action":"token.update","subject":"tok_019b2f0c5a3c"}

`

const checkNames = unknownNamesCheck({ method: 'GET', querystring })

/** `authenticate` lets a caller in without counting it as another request. */
export function eventRoutes(
  { registry, events = new EventStreams(registry.feed) }: ServerParts,
  admit: Admit,
  authenticate: (request: FastifyRequest) => Promise<Caller>,
): readonly PlainRoute[] {
  return [
    {
      method: 'GET',
      url: '/api/v1/apiClient/events',
      schema: {
        operationId: 'streamEvents',
        summary: 'What happens in the account, as Server-Sent Events',
        description:
          'Each event is an entry of the history: `id` its `seq`, `event` its action, `data` the entry. The stream ends when the ' +
          `caller is no longer let in. \`${RESET}\`: the position asked for does not exist (any more); events follow from now on, and ` +
          'what happened in between has to be read again.',
        tags: ['History'],
        security: CALLERS,
        produces: ['text/event-stream'],
        querystring,
        headers,
        response: {
          200: { type: 'string', [DESCRIPTION]: 'Events, until one side ends the connection', examples: [EXAMPLE] },
          401: describeUnauthenticated(UNAUTHENTICATED_DESCRIPTION, UNAUTHENTICATED_CODES),
          ...describeFailures({ 400: ['action must be one of token.*, token.update'] }, withoutRight(['read'])),
        },
      } as PlainRoute['schema'],
      async access(request) {
        await admit(request)
        requireRight(callerOf(request).permissions, 'read')
      },
      async respond(request, reply) {
        const { query, actions } = readQuery(request)
        const caller = callerOf(request)
        const after = readPosition(caller, registry, query, request.headers['last-event-id'])
        reply.headers({ 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' })
        if (request.method === 'HEAD') return reply.send()
        return reply.send(await events.open({ caller, actions, after, recheck: () => authenticate(request) }))
      },
    },
  ]
}

function readQuery({ query: sent }: FastifyRequest) {
  const query = sent as Readonly<Record<string, unknown>>
  checkNames({ query, body: undefined })
  const patterns = query.action === undefined ? null : ([query.action].flat() as unknown as readonly string[])
  const actions = patterns && readActions(patterns)
  if (actions === undefined) {
    throw new Failure('invalid-request', `action must be one of ${ACTIONS.join(', ')}, or one with * such as token.*`)
  }
  return { query, actions }
}

/** A browser that connects again gets no answer but events: what it remembers may be a position from before its rights changed. */
function readPosition(
  caller: Caller,
  { feed }: ServerParts['registry'],
  query: Readonly<Record<string, unknown>>,
  lastEventId: unknown,
): number | null | undefined {
  if (typeof lastEventId === 'string' && lastEventId !== '') return feed.findSeq(caller, lastEventId) ?? null
  const position = readOnce(query, 'after')
  return position === undefined ? undefined : feed.getSeq(caller, { name: 'after', position })
}
