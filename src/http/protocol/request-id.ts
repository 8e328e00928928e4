// The id that links a response, its log line and its history row.
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

const prefix = randomBytes(6).toString('hex')
let count = 0

/** A caller's own id is logged and stored, so it is used only if it is short, plain and not a credential. */
export function requestIdOf(request: Pick<IncomingMessage, 'headers'>): string {
  const id = request.headers['x-request-id']
  if (typeof id === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(id) && !id.includes('lk_')) return id
  return `req-${prefix}-${(++count).toString(36)}`
}
