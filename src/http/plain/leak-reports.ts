// Reports of leaked credentials from outside, in the formats of others: docs/guides/leaks.md describes them, the API description does not.
// Off unless configured; what they are answered tells nothing about what exists.
import type { FastifyRequest } from 'fastify'
import { JSON_TYPE, TEXT_TYPE } from '../../operations/operation.ts'
import type { Origin } from '../../tokens/history/history.ts'
import { readFindings, readMatches, readReport } from '../../tokens/leaks/reports.ts'
import { type Right, requireRight, sees } from '../../tokens/model/permissions.ts'
import type { RateLimit, RateLimiter } from '../../tokens/trust/rate-limit.ts'
import { type Admit, bearerOf, callerOf } from '../access/caller.ts'
import { addressOf, networkOf } from '../access/client-address.ts'
import { gateEvents } from '../access/gate-events.ts'
import type { LeakSource } from '../access/leak-sources.ts'
import { admitWithin } from '../access/rate-limits.ts'
import type { PlainRoute, ServerParts } from '../parts.ts'
import { readJson } from '../protocol/body.ts'
import { countHeaders } from '../protocol/client-error.ts'
import { HttpFailure, routeNotFound } from '../protocol/failures.ts'

const BASE = '/api/v1/leaks'
/** A thousand credentials of the greatest length. */
const MAX_BYTES = 1024 * 1024

/** For each address, all of an IPv6 /64 network together. */
const REPORTS: RateLimit = { count: 60, perMs: 3_600_000 }

/** What GitLab calls a finding of the rule `latchkey-token` in docs/guides/leaks.md. */
const GITLAB_TYPES = ['gitleaks_rule_id_latchkey-token']

const shared = { method: 'POST', bodyLimitBytes: MAX_BYTES, schema: { hide: true } } as const

/** What is not configured is a route that does not exist. */
export function leakReportRoutes(parts: ServerParts): readonly PlainRoute[] {
  const { limiter, sources = [] } = parts.outsideReports ?? {}
  return [
    ...(limiter ? [reportRoute(parts, limiter)] : []),
    ...(sources.length > 0 ? [signedRoute(parts, sources)] : []),
    ...gitlabRoutes(parts),
    trufflehogRoute(parts),
  ]
}

const originOf = (request: FastifyRequest, by: string, at: number): Origin => ({
  by: `leak:${by}`,
  at,
  requestId: request.id,
  address: addressOf(request),
})

/** For anybody: who has a credential may end it. Switched off before the answer, as what sources report. */
function reportRoute({ registry, gate, now }: ServerParts, limiter: RateLimiter): PlainRoute {
  return {
    ...shared,
    url: `${BASE}/report`,
    consumes: [JSON_TYPE, TEXT_TYPE],
    async access(request) {
      const waitMs = await limiter.take(`leaks ${networkOf(addressOf(request))}`, REPORTS)
      if (waitMs > 0) throw new HttpFailure(429, undefined, { 'retry-after': String(Math.ceil(waitMs / 1000)) })
    },
    async respond(request, reply) {
      const [credentials, origin] = [await readReport(request.body), originOf(request, 'report', now())]
      await gate.answer([], gateEvents(request, reply), () => registry.leaks.endReported(credentials, origin))
      return reply.code(202).send({})
    },
  }
}

/** The source sends again what was not answered. The answer carries no labels. */
function signedRoute({ registry, gate, now, rateLimits }: ServerParts, sources: readonly LeakSource[]): PlainRoute {
  return {
    ...shared,
    url: `${BASE}/signed/:source`,
    access: 'anyone',
    takesBytes: true,
    async respond(request, reply) {
      const { source: asked } = request.params as { source: string }
      const source = sources.find(({ name }) => name === asked)
      if (source === undefined) throw routeNotFound()
      const body = (request.body ?? Buffer.alloc(0)) as Buffer
      await source.requireSigned(request, body).catch(async (error: unknown) => {
        const isRefused = error instanceof HttpFailure && error.status === 403
        if (isRefused) await rateLimits?.countFailure(request)
        throw error
      })
      const [credentials, origin] = [readFindings(readJson(body)), originOf(request, source.name, now())]
      await gate.answer([], gateEvents(request, reply), () => registry.leaks.endReported(credentials, origin))
      return reply.code(202).send({})
    },
  }
}

/** By an account key, as a bearer or, as GitLab sends it, alone. */
function admission({ authenticator, rateLimits }: ServerParts, right: Right): Admit {
  const admit = admitWithin(async (request) => authenticator(keyOf(request)), rateLimits)
  return async (request) => {
    await admit(request)
    requireRight(callerOf(request).permissions, right)
  }
}

const BARE_KEY = /^lk_key_\w+$/

function keyOf(request: FastifyRequest): string {
  const { authorization = '' } = request.headers
  const isBare = BARE_KEY.test(authorization) && countHeaders(request.raw.rawHeaders, 'authorization') === 1
  return isBare ? authorization : bearerOf(request)
}

function gitlabRoutes(parts: ServerParts): readonly PlainRoute[] {
  const { registry, gate, now } = parts
  return [
    {
      method: 'GET',
      url: `${BASE}/gitlab/v1/revocable_token_types`,
      access: admission(parts, 'read'),
      schema: { hide: true },
      respond: async () => ({ types: GITLAB_TYPES }),
    },
    {
      ...shared,
      url: `${BASE}/gitlab/v1/revoke_tokens`,
      access: admission(parts, 'change'),
      async respond(request, reply) {
        const caller = callerOf(request)
        const { by, byName = null, authority } = caller
        const origin = { ...originOf(request, 'gitlab', now()), by, byName, authority }
        const credentials = readFindings(request.body)
        const end = () => registry.leaks.endListed(caller, credentials, origin)
        await gate.answer([caller.accountId], gateEvents(request, reply), end)
        return reply.code(204).send()
      },
    },
  ]
}

/** For a custom detector, which takes 200 for alive and everything else for not. */
function trufflehogRoute(parts: ServerParts): PlainRoute {
  const { registry } = parts
  return {
    ...shared,
    url: `${BASE}/trufflehog`,
    access: admission(parts, 'introspect'),
    async respond(request) {
      const { accountId, permissions } = callerOf(request)
      for (const match of readMatches(request.body)) {
        const { accepted, token } = await registry.verification.introspect(match)
        if (accepted && token?.accountId === accountId && sees(permissions, token.subAccountId)) return {}
      }
      throw new HttpFailure(403, 'No match is a credential of this account that is accepted')
    },
  }
}
