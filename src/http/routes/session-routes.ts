// The people who are signed in to the console: an owner lists them, and signs them out.
import { Type } from 'typebox'
import { reasonOf } from '../../tokens/errors.ts'
import { BAD_PAGE, readPageRequest } from '../../tokens/model/page.ts'
import type { Permissions } from '../../tokens/model/permissions.ts'
import { endOf, type StoredSession } from '../../tokens/model/session.ts'
import { toTime } from '../../tokens/model/times.ts'
import type { RightsIn } from '../../tokens/sessions.ts'
import { rightsOfPeople } from '../access/session.ts'
import * as schemas from './access-schemas.ts'
import type { AccountRoute, ServerParts } from './route.ts'
import { PageParameters } from './schemas.ts'

const BASE = '/api/v1/apiClient/session'

const shared = { tag: 'Sessions', right: 'manageKeys' } as const

const listSessions = (rightsIn: RightsIn): AccountRoute => ({
  ...shared,
  method: 'GET',
  url: BASE,
  operationId: 'listSessions',
  summary: 'List the people who are signed in to the console and can enter the account, newest first',
  querystring: Type.Object({ ...PageParameters }),
  data: schemas.SessionPage,
  success: { message: 'Found 1 session(s)' },
  failures: { 400: [BAD_PAGE] },
  async answer(registry, { caller, query }) {
    const page = await registry.sessions.list(caller, readPageRequest(query), rightsIn)
    const items = page.items.map((session) => sessionToWire(session, rightsIn(session, caller.accountId)))
    return { message: `Found ${page.total} session(s)`, data: { ...page, items } }
  },
})

const revokeSession = (rightsIn: RightsIn): AccountRoute => ({
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
    const ended = await registry.sessions.revoke(caller, params.id, origin, rightsIn)
    return { data: sessionToWire(ended, rightsIn(ended, caller.accountId)) }
  },
})

export function sessionRoutes({ signIn }: ServerParts): readonly AccountRoute[] {
  const rightsIn = rightsOfPeople(signIn)
  return [listSessions(rightsIn), revokeSession(rightsIn)]
}

function sessionToWire(session: StoredSession, rights: Permissions | undefined): schemas.WireSession {
  const { id, subject, email, createdAt, seenAt, address, userAgent } = session
  return {
    _id: id,
    subject,
    email,
    createdAt: toTime(createdAt),
    lastUsedAt: toTime(seenAt),
    expiresAt: toTime(endOf(session)),
    role: rights?.role ?? null,
    address,
    userAgent,
  }
}
