// Sessions of the portal in requests, which browsers send from the pages of other origins: who is asking, and what a browser lets
// such a page read.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../tokens/model/permissions.ts'
import type { RightsIn } from '../../tokens/people/sessions.ts'
import type { Portal } from '../../tokens/portal/portal.ts'
import type { PortalSession } from '../../tokens/portal/session.ts'
import { HttpFailure } from '../protocol/failures.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The origin whose pages may read the response, if they are not this service's own. */
    allowedOrigin: string | undefined
  }
}

/** Pages of other origins send these requests, and no others. */
const PATHS = /^\/api\/v1\/(apiClient\/|portal\/session$)/
const PREFLIGHT = {
  'access-control-allow-methods': 'GET, POST, PUT',
  'access-control-allow-headers': 'authorization, content-type, if-match, idempotency-key',
  'access-control-max-age': '600',
}
const EXPOSED = 'ETag, Retry-After, X-Latchkey-Error, X-Request-Id'

/** A session that has ended still says which pages may learn of that. */
export async function callerInPortal(
  portal: Portal,
  rightsIn: RightsIn,
  request: FastifyRequest,
  presented: string,
): Promise<Caller> {
  const session = await portal.open('session', presented)
  requirePortalOrigin(request, session)
  return portal.admit(session, rightsIn)
}

/** Refuses what a page of another origin has a browser send. Programs name no origin. */
export function requirePortalOrigin(request: FastifyRequest, { origin }: PortalSession): void {
  const { origin: sent, host, 'sec-fetch-site': site } = request.headers
  if (origin === null || (sent === undefined && site === undefined)) return
  // A browser names no origin where a page of this service only reads from it.
  const isFromThere = sent === undefined ? site === 'same-origin' && new URL(origin).host === host : sent === origin
  if (!isFromThere) throw new HttpFailure(403, `This session is accepted only from ${origin}`)
  request.allowedOrigin = origin
}

/**
 * Asked by a browser before it sends such a request. It does not say which session that is about, so any origin may ask: browsers
 * may send no cookie then, and the response to the request itself is for the origin of its session.
 */
export function answerPreflight(request: FastifyRequest, reply: FastifyReply): boolean {
  const { origin, 'access-control-request-method': method } = request.headers
  const [path = ''] = request.url.split('?', 1)
  const isPreflight = request.method === 'OPTIONS' && origin !== undefined && method !== undefined && PATHS.test(path)
  if (!isPreflight) return false
  request.allowedOrigin = origin
  reply.code(204).headers(PREFLIGHT).send()
  return true
}

export function setCorsHeaders({ allowedOrigin }: FastifyRequest, reply: FastifyReply): void {
  if (allowedOrigin === undefined) return
  reply.headers({
    'access-control-allow-origin': allowedOrigin,
    'access-control-expose-headers': EXPOSED,
    vary: 'Origin',
  })
}
