// Sessions of the portal: a caller makes one for a sub-account's own developers, and owners end it.
import { readPageRequest } from '../../tokens/model/page.ts'
import { toTime } from '../../tokens/model/times.ts'
import { readPortalRequest } from '../../tokens/portal/session.ts'
import { type Input, listed, type RunningService, type Service } from '../operation.ts'
import { portalSessionToWire } from './document.ts'

/** Of the service; http/plain/portal-files.ts serves it. */
export const PORTAL_PAGE = '/portal/'

export async function createPortalSession(service: RunningService, { caller, body, origin }: Input) {
  const { registry, publicUrl = '' } = service
  const { session, code } = await registry.portal.create(caller, readPortalRequest(body), origin)
  const url = `${publicUrl}${PORTAL_PAGE}#code=${code}`
  return { data: { code, url, expiresAt: toTime(session.expiresAt) } }
}

export async function listPortalSessions({ registry: { portal } }: Service, { caller, query }: Input) {
  return listed(await portal.list(caller, readPageRequest(query)), 'portal session(s)', portalSessionToWire)
}

export async function endPortalSession({ registry: { portal } }: Service, { caller, params, origin }: Input) {
  return { data: portalSessionToWire(await portal.end(caller, params.id, origin)) }
}
