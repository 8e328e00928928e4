// The people who are signed in to the console: an owner lists them, and signs them out.
import { Type } from 'typebox'
import { reasonOf } from '../../tokens/errors.ts'
import { BAD_PAGE, readPageRequest } from '../../tokens/model/page.ts'
import { endOf, type StoredSession } from '../../tokens/model/session.ts'
import { toTime } from '../../tokens/model/times.ts'
import type { MayEnter } from '../../tokens/sessions.ts'
import { grantedIn } from '../access/session.ts'
import type { AccountRoute, ServerParts } from './route.ts'
import * as schemas from './schemas.ts'

const BASE = '/api/v1/apiClient/session'

const shared = { tag: 'Sessions', right: 'manageKeys' } as const

const listSessions = (mayEnter: MayEnter): AccountRoute => ({
  ...shared,
  method: 'GET',
  url: BASE,
  operationId: 'listSessions',
  summary: 'List the people who are signed in to the console and can enter the account, newest first',
  querystring: Type.Object({ ...schemas.PageParameters }),
  data: schemas.SessionPage,
  success: { message: 'Found 1 session(s)' },
  failures: { 400: [BAD_PAGE] },
  async answer(registry, { caller, query }) {
    const page = await registry.sessions.list(caller, readPageRequest(query), mayEnter)
    return { message: `Found ${page.total} session(s)`, data: { ...page, items: page.items.map(sessionToWire) } }
  },
})

const revokeSession = (mayEnter: MayEnter): AccountRoute => ({
  ...shared,
  method: 'DELETE',
  url: `${BASE}/:id`,
  operationId: 'revokeSession',
  summary: 'Sign somebody out',
  description:
    'Their next request is refused, in every account. To keep somebody from signing in again, change the grants.',
  params: Type.Object({ id: Type.String({ description: 'The session id' }) }),
  data: schemas.Session,
  success: { message: 'Session ended successfully' },
  failures: { 404: [reasonOf('session-not-found')] },
  async answer(registry, { caller, params, origin }) {
    return { data: sessionToWire(await registry.sessions.revoke(caller, params.id, origin, mayEnter)) }
  },
})

/** Where nobody can sign in, nobody can enter. */
export function sessionRoutes({ signIn }: ServerParts): readonly AccountRoute[] {
  const mayEnter: MayEnter = (session, accountId) => signIn !== undefined && grantedIn(session, signIn).has(accountId)
  return [listSessions(mayEnter), revokeSession(mayEnter)]
}

function sessionToWire(session: StoredSession): schemas.WireSession {
  const { id, subject, email, createdAt, seenAt } = session
  return {
    _id: id,
    subject,
    email,
    createdAt: toTime(createdAt),
    lastUsedAt: toTime(seenAt),
    expiresAt: toTime(endOf(session)),
  }
}
