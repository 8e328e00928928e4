// What a credential is, for gateways and services (RFC 7662).
import { Type } from 'typebox'
import { Failure } from '../../tokens/model/errors.ts'
import { readOnce } from '../../tokens/model/page.ts'
import { type Caller, requireRight, seesToken } from '../../tokens/model/permissions.ts'
import type { Verdict } from '../../tokens/trust/verdict.ts'
import { type Admit, callerOf } from '../access/caller.ts'
import { authenticatesTwice, clientSecretOf, formOf, mustReadForm, usesBasic } from '../access/client-secret.ts'
import { admitWithin } from '../access/rate-limits.ts'
import {
  DESCRIPTION,
  describeFailures,
  describeUnauthenticated,
  UNAUTHENTICATED_DESCRIPTION,
  withoutRight,
} from '../description/responses.ts'
import type { PlainRoute, ServerParts } from '../parts.ts'
import { FORM_TYPE } from '../protocol/body.ts'
import { answerTo, BasicRefused, BODY_REASONS } from '../protocol/failures.ts'

const AUTHENTICATED_TWICE = 'The account key must be sent in the Authorization header or as client_secret, not in both'

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

const DESCRIBED: PlainRoute['schema'] = {
  operationId: 'introspect',
  summary: 'Introspect a credential (RFC 7662)',
  tags: ['Verification'],
  description:
    'Answers 200 for dead tokens too: never use it as a forward-auth target. The account key is sent as a bearer, or as ' +
    'the secret of an OAuth client: by HTTP Basic or as `client_secret` in the form. Any client id will do.',
  security: [{ accountKey: [] }, { accountKeyAsSecret: [] }],
  consumes: [FORM_TYPE],
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
        415: [BODY_REASONS.wrongType(FORM_TYPE)],
      },
      withoutRight(['introspect']),
    ),
  },
}

export function introspectRoute(parts: ServerParts): PlainRoute {
  const admit = clientAdmission(parts)
  return {
    method: 'POST',
    url: '/oauth2/introspect',
    access: async (request) => {
      if (!mustReadForm(request)) await admit(request)
    },
    consumes: FORM_TYPE,
    schema: DESCRIBED,
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
