// Serves the built portal: its page, with a strict Content-Security-Policy, and the component, which pages of any origin load.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { PlainRoute } from '../parts.ts'
import { HttpFailure, routeNotFound } from '../protocol/failures.ts'

const DIST = join(import.meta.dirname, '..', '..', '..', 'portal', 'dist')

const PAGE = 'index.html'
const COMPONENT = 'latchkey-tokens.js'
/** Of the page. Nothing inline, no text turned into markup; the component's styles are no inline ones. */
const OWN = ['page.js', 'page.css']

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const OF_PAGE = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

/** Says nothing of anybody: what it shows, it asks for with a session. */
const OF_COMPONENT = { 'access-control-allow-origin': '*', 'cross-origin-resource-policy': 'cross-origin' }

export function portalFiles() {
  const isBuilt = existsSync(DIST)
  const shared = { method: 'GET', access: 'anyone', schema: { hide: true } } as const

  const portalPages: PlainRoute = {
    ...shared,
    url: '/portal/*',
    async respond(request, reply) {
      if (!isBuilt) throw new HttpFailure(404, 'The portal has not been built; run npm run setup')
      const file = (request.params as { '*': string })['*'] || PAGE
      if (![PAGE, COMPONENT, ...OWN].includes(file)) throw routeNotFound()
      reply.headers(file === COMPONENT ? OF_COMPONENT : OF_PAGE).header('cache-control', 'no-cache')
      return reply.sendFile(file, DIST)
    },
  }

  const portalWithoutSlash: PlainRoute = {
    ...shared,
    url: '/portal',
    respond: async (_request, reply) => reply.redirect('/portal/', 308),
  }

  return { portalPages, portalWithoutSlash }
}
