// The portal: a caller makes a session for a sub-account's own developers, whose browser begins it with its code; owners end it.
import { type Static, Type } from 'typebox'
import { subAccountOfToken } from '../../operations/tokens/document.ts'
import { reasonOf } from '../../tokens/errors.ts'
import { BAD_PAGE, type RawQuery, readPageRequest } from '../../tokens/model/page.ts'
import { PORTAL_USES, type PortalUse } from '../../tokens/model/permissions.ts'
import {
  CODE_MINUTES,
  NOT_AN_ORIGIN,
  readCode,
  readPortalRequest,
  SESSION_SECONDS,
  type PortalSession as Session,
  usesOf,
} from '../../tokens/model/portal.ts'
import { toTime } from '../../tokens/model/times.ts'
import { requirePortalOrigin } from '../access/portal.ts'
import { rightsOfPeople } from '../access/session.ts'
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

const BASE = '/api/v1/apiClient/portal-session'

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

const create = ({ publicUrl = '' }: ServerParts): AccountRoute => ({
  method: 'POST',
  url: BASE,
  operationId: 'createPortalSession',
  summary: 'Let the developers of a sub-account look after its tokens for a while',
  description:
    'The session can do no more than its maker. It ends with the account key or the session of the person that makes it, and never ' +
    'outlives a JWT. The history says `portal:` and its id of what is done in it.',
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
    const url = `${publicUrl}${PAGE}#code=${code}`
    return { data: { code, url, expiresAt: toTime(session.expiresAt) } }
  },
})

const ListedPortalSession = Type.Object(
  {
    _id: schemas.text('Identifier, as in `portal:` of the history', 'por_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
    subAccountId: schemas.text('Whose tokens', 'sub_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
    may: May,
    origin: schemas.orNull(schemas.text('The only page that may use it; null without one', 'https://app.example.com')),
    by: schemas.text('Who has made it, as in the history', 'oidc:alice'),
    byName: schemas.orNull(schemas.text('What they were called then', 'alice@example.com')),
    createdAt: schemas.time('When it was made'),
    expiresAt: schemas.time('When it ends unless its maker or somebody else ends it before'),
  },
  { title: 'ListedPortalSession' },
)

const ofOwners = { tag: 'Portal', right: 'manageKeys' } as const

const list: AccountRoute = {
  ...ofOwners,
  method: 'GET',
  url: BASE,
  operationId: 'listPortalSessions',
  summary: 'List the sessions of the portal that last, newest first',
  description: 'Also those that nobody has begun yet. One that a person has made is listed until their session ends.',
  querystring: Type.Object({ ...schemas.PageParameters }),
  data: Type.Object(schemas.pageFields(ListedPortalSession), { title: 'PortalSessionPage' }),
  success: { message: 'Found 1 portal session(s)' },
  failures: { 400: [BAD_PAGE] },
  async answer({ portal }, { caller, query }) {
    const page = await portal.list(caller, readPageRequest(query))
    return { message: `Found ${page.total} portal session(s)`, data: { ...page, items: page.items.map(toWire) } }
  },
}

const end: AccountRoute = {
  ...ofOwners,
  method: 'DELETE',
  url: `${BASE}/:id`,
  operationId: 'endPortalSession',
  summary: 'End a session of the portal',
  params: Type.Object({ id: Type.String({ description: 'The id of the session' }) }),
  data: ListedPortalSession,
  success: { message: 'Portal session ended successfully' },
  failures: { 404: [reasonOf('session-not-found')] },
  async answer({ portal }, { caller, params, origin }) {
    return { data: toWire(await portal.end(caller, params.id, origin)) }
  },
}

function toWire(session: Session): Static<typeof ListedPortalSession> {
  const { id, subAccountId, origin, by, byName, createdAt, expiresAt } = session
  const made = { origin, by, byName, createdAt: toTime(createdAt), expiresAt: toTime(expiresAt) }
  return { _id: id, subAccountId, may: [...usesOf(session)], ...made }
}

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

const begin = ({ app, signIn, registry: { portal } }: ServerParts): PlainRoute => ({
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
    const session = await portal.open('code', readCode(request.body))
    requirePortalOrigin(request, session)
    const { bearer, subAccount } = await portal.begin(session, rightsOfPeople(signIn))
    const data = {
      session: bearer,
      expiresAt: toTime(session.expiresAt),
      subAccount: subAccountOfToken(subAccount),
      may: usesOf(session),
    }
    return successBody(app, BEGUN, data, 1)
  },
})

export function portalRoutes(parts: ServerParts) {
  return [create(parts), list, end, begin(parts)]
}
