// Serves the built portal: its page, with a strict Content-Security-Policy, and the component, which pages of any origin load.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { PlainRoute } from '../parts.ts'
import { HttpFailure, routeNotFound } from '../protocol/failures.ts'
import { pageHeaders } from './page-headers.ts'

const DIST = join(import.meta.dirname, '..', '..', '..', 'portal', 'dist')

const PAGE = 'index.html'
const COMPONENT = 'latchkey-tokens.js'
/** Of the page. The component's styles are no inline ones. */
const OWN = ['page.js', 'page.css']

const OF_PAGE = pageHeaders()

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
