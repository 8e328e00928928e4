// For gateways and services that check credentials: forward-auth, and introspection (RFC 7662).
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { Scope } from '../../operations/limits/schemas.ts'
import { unknownName, unknownNamesCheck } from '../../operations/unknown-names.ts'
import { verdictToWire } from '../../operations/verification/document.ts'
import { limitHeaders } from '../../operations/verification/limit-headers.ts'
import { Failure, type FailureCode } from '../../tokens/errors.ts'
import { readScopeParameter } from '../../tokens/model/access.ts'
import { type RawQuery, readOnce } from '../../tokens/model/page.ts'
import { type Caller, requireRight, seesToken } from '../../tokens/model/permissions.ts'
import type { Verdict } from '../../tokens/trust/verdict.ts'
import type { Decision } from '../../tokens/verification.ts'
import { acceptance, NOT_ALLOWED, refusal, USED_UP, type VerificationAnswer } from '../../tokens/verify/answer.ts'
import type { Access } from '../../tokens/verify/policy.ts'
import { type Admit, callerOf, presentedIn } from '../access/caller.ts'
import { authenticatesTwice, clientSecretOf, formOf, mustReadForm, usesBasic } from '../access/client-secret.ts'
import { admitWithin } from '../access/rate-limits.ts'
import {
  DESCRIPTION,
  describeFailures,
  describeUnauthenticated,
  UNAUTHENTICATED_DESCRIPTION,
  withHeaders,
  withoutRight,
} from '../description/responses.ts'
import type { PlainRoute, ServerParts } from '../parts.ts'
import { answerTo, BasicRefused, BODY_REASONS } from '../protocol/failures.ts'

const REFUSED: readonly FailureCode[] = ['token-invalid', 'token-inactive', 'token-expired', 'authentication-required']

export function verifyRoutes(parts: ServerParts) {
  return { verify: verifyRoute(parts), introspect: introspectRoute(parts) }
}

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

function verifyRoute({ registry, credentialHeader, metrics, rateLimits }: ServerParts): PlainRoute {
  return {
    method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
    url: '/api/v1/verify',
    access: 'anyone',
    ignoresBody: true,
    schema: {
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
    },
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

function introspectRoute(parts: ServerParts): PlainRoute {
  const admit = clientAdmission(parts)
  return {
    method: 'POST',
    url: '/oauth2/introspect',
    access: async (request) => {
      if (!mustReadForm(request)) await admit(request)
    },
    consumes: 'application/x-www-form-urlencoded',
    schema: {
      operationId: 'introspect',
      summary: 'Introspect a credential (RFC 7662)',
      tags: ['Verification'],
      description:
        'Answers 200 for dead tokens too: never use it as a forward-auth target. The account key is sent as a bearer, or as ' +
        'the secret of an OAuth client: by HTTP Basic or as `client_secret` in the form. Any client id will do.',
      security: [{ accountKey: [] }, { accountKeyAsSecret: [] }],
      consumes: ['application/x-www-form-urlencoded'],
      body: Type.Object(
        {
          token: Type.String({ description: 'The credential' }),
          token_type_hint: Type.Optional(Type.String({ description: 'Ignored' })),
          client_id: Type.Optional(Type.String({ description: 'Ignored' })),
          client_secret: Type.Optional(Type.String({ description: 'The account key, where no header carries it' })),
        },
        { title: 'IntrospectionRequest' },
      ),
      response: {
        200: {
          ...Introspection,
          [DESCRIPTION]: 'What the credential is; unknown, dead and foreign ones are all just not active',
          examples: [{ active: false }],
        },
        401: describeUnauthenticated(UNAUTHENTICATED_DESCRIPTION, ['authentication-required']),
        ...describeFailures(
          {
            400: ['token must be sent', 'token must be sent only once', AUTHENTICATED_TWICE],
            413: [BODY_REASONS.tooLarge],
            415: [BODY_REASONS.wrongType('application/x-www-form-urlencoded')],
          },
          withoutRight(['introspect']),
        ),
      },
    },
    async respond(request) {
      if (request.caller === undefined) await admit(request)
      if (authenticatesTwice(request)) throw new Failure('invalid-request', AUTHENTICATED_TWICE)
      const presented = readOnce(formOf(request), 'token')
      if (presented === undefined) throw new Failure('invalid-request', 'token must be sent')
      const caller = callerOf(request)
      requireRight(caller.permissions, 'introspect')
      const verdict = await parts.registry.verification.introspect(presented)
      request.tokenId = verdict.token?.id
      request.reason = verdict.accepted ? undefined : verdict.reason
      return introspection(verdict, caller)
    },
  }
}

const AUTHENTICATED_TWICE = 'The account key must be sent in the Authorization header or as client_secret, not in both'

/** Authenticates the clients of the introspection endpoint. */
function clientAdmission({ authenticator, rateLimits }: ServerParts): Admit {
  const admit = admitWithin(async (request) => authenticator(clientSecretOf(request)), rateLimits)
  return async (request) => {
    try {
      await admit(request)
    } catch (error) {
      const answer = answerTo(error)
      throw answer.status === 401 && usesBasic(request) ? new BasicRefused(answer) : error
    }
  }
}

const Introspection = Type.Object(
  {
    active: Type.Boolean({ description: 'Whether it authenticates now. Where not, nothing else is said' }),
    sub: Type.Optional(Type.String({ description: 'The sub-account' })),
    client_id: Type.Optional(Type.String({ description: 'The account' })),
    iat: Type.Optional(Type.Integer({ description: 'Time of creation, in seconds since 1970' })),
    exp: Type.Optional(
      Type.Integer({
        description:
          'When it stops working, in seconds since 1970: it expires, is as old as its sub-account allows, or the overlap after ' +
          'a rotation ends, whichever is first; absent for never',
      }),
    ),
    token_type: Type.Optional(Type.String({ description: 'Always `Bearer`' })),
    token_id: Type.Optional(Type.String()),
    sub_account_id: Type.Optional(Type.String({ description: 'The same as `sub`' })),
    account_id: Type.Optional(Type.String({ description: 'The same as `client_id`' })),
    token_version: Type.Optional(Type.Integer({ description: 'Counts the changes of the token' })),
    scope: Type.Optional(
      Type.String({ description: 'What it may do, separated by spaces; absent where not restricted' }),
    ),
  },
  { title: 'IntrospectionResponse' },
)

function introspection(verdict: Verdict, caller: Caller) {
  if (!verdict.accepted || !seesToken(caller, verdict.token)) return { active: false }
  const { token, policies, endsAt } = verdict
  const { id, accountId, subAccountId, createdAt, version } = token
  const { scopes } = policies
  return {
    active: true,
    sub: subAccountId,
    client_id: accountId,
    iat: Math.floor(createdAt / 1000),
    ...(endsAt === null ? {} : { exp: Math.floor(endsAt / 1000) }),
    token_type: 'Bearer',
    token_id: id,
    sub_account_id: subAccountId,
    account_id: accountId,
    token_version: version,
    ...(scopes === undefined ? {} : { scope: scopes.join(' ') }),
  }
}
