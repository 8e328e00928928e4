// Forward-auth: whether the credential of a request lets it pass, for gateways and services.
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { Scope } from '../../operations/limits/schemas.ts'
import { unknownName, unknownNamesCheck } from '../../operations/unknown-names.ts'
import { verdictToWire } from '../../operations/verification/document.ts'
import { limitHeaders } from '../../operations/verification/limit-headers.ts'
import { readScopeParameter } from '../../tokens/model/access.ts'
import type { FailureCode } from '../../tokens/model/errors.ts'
import type { RawQuery } from '../../tokens/model/page.ts'
import type { Decision } from '../../tokens/service/verification.ts'
import { acceptance, NOT_ALLOWED, refusal, USED_UP, type VerificationAnswer } from '../../tokens/verify/answer.ts'
import type { Access } from '../../tokens/verify/policy.ts'
import { presentedIn } from '../access/caller.ts'
import { describeFailures, describeUnauthenticated, withHeaders } from '../description/responses.ts'
import type { PlainRoute, ServerParts } from '../parts.ts'

const REFUSED: readonly FailureCode[] = ['token-invalid', 'token-inactive', 'token-expired', 'authentication-required']

const querystring = Type.Object({ scope: Type.Optional(Scope) })
/** Without `scope` no scope is required, so a misspelt parameter must be refused. */
const checkNames = unknownNamesCheck({ querystring })

export function readVerifyQuery(query: RawQuery): Pick<Access, 'scopes'> {
  checkNames({ query, body: undefined })
  return readScopeParameter(query)
}

const LIMIT_HEADERS = {
  'RateLimit-Policy': { type: 'string', description: 'The rates and quotas that apply' },
  RateLimit: { type: 'string', description: 'What is left of them' },
}

const reasonHeader = (...reasons: readonly string[]) => ({ 'X-Latchkey-Reason': { type: 'string', enum: reasons } })

function describeVerify(credentialHeader: string | undefined): PlainRoute['schema'] {
  return {
    operationId: 'verify',
    summary: 'Verify a credential (forward-auth)',
    tags: ['Verification'],
    description:
      'For nginx `auth_request`, Caddy `forward_auth` and the like: 204 lets the request pass, anything else does ' +
      'not. The store is asked every time.',
    querystring,
    security: [{ credential: [] }, ...(credentialHeader === undefined ? [] : [{ credentialHeader: [] }])],
    response: {
      204: {
        type: 'null',
        description: 'The credential authenticates',
        headers: {
          'X-Latchkey-Token-Id': { type: 'string' },
          'X-Latchkey-Sub-Account-Id': { type: 'string' },
          'X-Latchkey-Account-Id': { type: 'string' },
          'X-Latchkey-Token-Version': { type: 'integer' },
          'X-Latchkey-Scopes': {
            type: 'string',
            description: 'Separated by spaces; absent where not restricted, `()` where none is left',
          },
          ...LIMIT_HEADERS,
        },
      },
      401: describeUnauthenticated(
        'It does not; the header X-Latchkey-Reason says why, to the holder of a real credential',
        REFUSED,
        reasonHeader('unknown', 'inactive', 'suspended', 'expired'),
      ),
      ...withHeaders(
        describeFailures({
          400: ['scope must name at most 64 scopes', unknownName('parameter', 'scopes', ['scope'])],
          403: Object.values(NOT_ALLOWED),
          429: Object.values(USED_UP),
        }),
        {
          403: reasonHeader(...Object.keys(NOT_ALLOWED)),
          // Without a reason, it is a rate limit of the settings.
          429: { ...reasonHeader(...Object.keys(USED_UP)), ...LIMIT_HEADERS },
        },
      ),
    },
  }
}

export function verifyRoute({ registry, credentialHeader, metrics, rateLimits }: ServerParts): PlainRoute {
  return {
    method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    url: '/api/v1/verify',
    access: 'anyone',
    ignoresBody: true,
    schema: describeVerify(credentialHeader),
    async respond(request, reply) {
      const presented = presentedIn(request, credentialHeader)
      if (presented === undefined) {
        request.reason = 'missing'
        return answerWith(reply, refusal({ reason: 'missing' }))
      }
      const decision = await registry.verification.verify(presented, request.clientAddress, () =>
        readVerifyQuery(request.query as RawQuery),
      )
      request.tokenId = decision.token?.id
      metrics.countVerdict(decision.accepted ? 'accepted' : decision.reason)
      request.reason = decision.accepted ? undefined : decision.reason
      if (!decision.accepted && decision.reason === 'unknown') await rateLimits?.countFailure(request)
      return answerWith(reply, answerOf(decision, request.query as RawQuery))
    },
  }
}

function answerOf(decision: Decision, query: RawQuery): VerificationAnswer {
  const verdict = verdictToWire(decision)
  const limits = 'left' in decision ? limitHeaders(decision.left) : {}
  if (verdict.accepted) return acceptance(verdict, limits)
  // A query that is not valid is no reason to answer 400 to who does not authenticate.
  const needed = verdict.reason === 'scope' ? readScopeParameter(query).scopes?.[0] : undefined
  return refusal({ ...verdict, limits, scope: needed?.join(' ') })
}

function answerWith(reply: FastifyReply, { status, headers, body }: VerificationAnswer): FastifyReply {
  return reply.code(status).headers(headers).send(body)
}
