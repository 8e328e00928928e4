// The portal: a caller makes a session for a sub-account's own developers, whose browser begins it with its code.
import { Type } from 'typebox'
import type { RawQuery } from '../../tokens/model/page.ts'
import { PORTAL_USES, type PortalUse } from '../../tokens/model/permissions.ts'
import { CODE_MINUTES, NOT_AN_ORIGIN, readCode, readPortalRequest, SESSION_SECONDS } from '../../tokens/model/portal.ts'
import { toTime } from '../../tokens/model/times.ts'
import { subAccountOfToken } from '../../wire/token.ts'
import { requirePortalOrigin } from '../access/portal.ts'
import { successBody } from '../protocol/envelope.ts'
import { unknownNamesCheck } from '../protocol/unknown-names.ts'
import {
  type AccountRoute,
  bodyFailures,
  describeFailures,
  describeSuccess,
  describeUnauthenticated,
  NOT_YOURS,
  type PlainRoute,
  type ServerParts,
} from './route.ts'
import * as schemas from './schemas.ts'

/** Of the service; portal-files.ts serves it. */
const PAGE = '/portal/'

const May = Type.Array(schemas.oneOf<PortalUse>(PORTAL_USES, 'What the session is for'), {
  minItems: 1,
  uniqueItems: true,
  description:
    '`read` tokens, without other credentials than new ones, `create` them, `rotate` them, `disable` them (not enable), and see their `usage`',
  examples: [[...PORTAL_USES]],
})
const Code = Type.String({ description: `Works once, within ${CODE_MINUTES} minutes`, examples: ['lk_portal_…'] })
const expiresAt = schemas.time('When the session ends')

const create = ({ signIn }: ServerParts): AccountRoute => ({
  method: 'POST',
  url: '/api/v1/apiClient/portal-session',
  operationId: 'createPortalSession',
  summary: 'Let the developers of a sub-account look after its tokens for a while',
  description:
    'The session can do no more than its maker, ends with the account key that makes it, and never outlives a JWT. The history says ' +
    '`portal:` and its id of what is done in it.',
  tag: 'Portal',
  body: Type.Object(
    {
      subAccountId: Type.String({ description: 'Whose tokens, and the only ones' }),
      may: Type.Optional(May),
      origin: Type.Optional(
        Type.String({
          description: 'Of the page that has the component in it: browsers may use the session from there only',
          examples: ['https://app.example.com'],
        }),
      ),
      expiresInSeconds: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: SESSION_SECONDS.most,
          default: SESSION_SECONDS.default,
          description: 'How long the session lasts, from now on',
        }),
      ),
    },
    { title: 'NewPortalSession' },
  ),
  data: Type.Object(
    {
      code: Code,
      url: schemas.text(
        'A page of the service that begins the session: a path, unless the service knows its address (`LATCHKEY_PUBLIC_URL`)',
        `${PAGE}#code=lk_portal_…`,
      ),
      expiresAt,
    },
    { title: 'CreatedPortalSession' },
  ),
  success: { status: 201, message: 'Portal session created successfully' },
  failures: {
    400: ['subAccountId is required', `origin ${NOT_AN_ORIGIN}`],
    403: NOT_YOURS,
  },
  async answer({ portal }, { caller, body, origin }) {
    const { session, code } = await portal.create(caller, readPortalRequest(body), origin)
    const url = `${signIn?.publicUrl ?? ''}${PAGE}#code=${code}`
    return { data: { code, url, expiresAt: toTime(session.expiresAt) } }
  },
})

const PortalSession = Type.Object(
  {
    session: schemas.text('The bearer of the requests that the session is for, shown only once', 'lk_portal_…'),
    expiresAt,
    subAccount: schemas.SubAccountSummary,
    may: May,
  },
  { title: 'PortalSession' },
)
const beginBody = Type.Object({ code: Code }, { title: 'PortalCode' })
const BEGUN = 'Portal session begun'
const checkNames = unknownNamesCheck({ body: beginBody })

const begin = ({ app, registry: { portal } }: ServerParts): PlainRoute => ({
  method: 'POST',
  url: '/api/v1/portal/session',
  access: 'anyone',
  schema: {
    operationId: 'beginPortalSession',
    summary: 'Begin a session of the portal with its code',
    tags: ['Portal'],
    security: [],
    body: beginBody,
    response: {
      200: describeSuccess(PortalSession, BEGUN, 1),
      401: describeUnauthenticated('The code is unknown, was used before, or is too old', [
        'token-invalid',
        'token-expired',
      ]),
      ...describeFailures(
        {
          400: ['code is required'],
          403: ['This session is accepted only from https://app.example.com'],
        },
        bodyFailures({}),
      ),
    },
  },
  async respond(request) {
    checkNames({ query: request.query as RawQuery, body: request.body })
    const session = portal.open('code', readCode(request.body))
    requirePortalOrigin(request, session)
    const { bearer, subAccount } = await portal.begin(session)
    const data = {
      session: bearer,
      expiresAt: toTime(session.expiresAt),
      subAccount: subAccountOfToken(subAccount),
      may: session.may,
    }
    return successBody(app, BEGUN, data, 1)
  },
})

export function portalRoutes(parts: ServerParts) {
  return [create(parts), begin(parts)]
}
