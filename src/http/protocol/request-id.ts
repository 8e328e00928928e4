// The id that ties an answer, its log line and its history row together.
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const start = randomBytes(6).toString('hex')
let count = 0

/** A caller's own id is kept where it is harmless: it is logged and stored. */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const given = request.headers['x-request-id']
  if (typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) && !given.includes('lk_')) return given
  return `req-${start}-${(++count).toString(36)}`
}
