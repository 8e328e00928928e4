// Sessions of the portal: a caller makes one for a sub-account's own developers, and owners end it. Their browser begins it with its code:
// http/plain/portal-session.ts.
import { Type } from 'typebox'
import { reasonOf } from '../../tokens/model/errors.ts'
import { BAD_PAGE } from '../../tokens/model/page.ts'
import { NOT_AN_ORIGIN, SESSION_SECONDS } from '../../tokens/portal/session.ts'
import { operationsOf } from '../operation.ts'
import { NOT_YOURS, PageParameters, pageFields, text } from '../schemas.ts'
import * as answers from './answers.ts'
import { Code, expiresAt, ListedPortalSession, May } from './schemas.ts'

const BASE = '/api/v1/apiClient/portal-session'
const ofOwners = { tag: 'Portal', right: 'manageKeys' } as const

export const portal = operationsOf(answers, {
  createPortalSession: {
    method: 'POST',
    url: BASE,
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
        url: text(
          'A page of the service that begins the session: a path, unless the service knows its address (`LATCHKEY_PUBLIC_URL`)',
          `${answers.PORTAL_PAGE}#code=lk_portal_…`,
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
  },
  listPortalSessions: {
    ...ofOwners,
    method: 'GET',
    url: BASE,
    summary: 'List the sessions of the portal that last, newest first',
    description: 'Also those that nobody has begun yet. One that a person has made is listed until their session ends.',
    querystring: Type.Object({ ...PageParameters }),
    data: Type.Object(pageFields(ListedPortalSession), { title: 'PortalSessionPage' }),
    success: { message: 'Found 1 portal session(s)' },
    failures: { 400: [BAD_PAGE] },
  },
  endPortalSession: {
    ...ofOwners,
    method: 'DELETE',
    url: `${BASE}/:id`,
    summary: 'End a session of the portal',
    params: Type.Object({ id: Type.String({ description: 'The id of the session' }) }),
    data: ListedPortalSession,
    success: { message: 'Portal session ended successfully' },
    failures: { 404: [reasonOf('session-not-found')] },
  },
})
