// Serves the built console, with a strict Content-Security-Policy.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyStaticOptions } from '@fastify/static'
import type { PlainRoute } from '../parts.ts'
import { HttpFailure, routeNotFound } from '../protocol/failures.ts'
import { pageHeaders } from './page-headers.ts'

const DIST = join(import.meta.dirname, '..', '..', '..', 'console', 'dist')

const HEADERS = pageHeaders("img-src 'self'", "font-src 'self'")

/** The names of built files. No other name reaches the file system. */
const FILE = /^(index\.html|assets\/[\w-]+\.(js|css|svg|woff2))$/

/** Options for `reply.sendFile`, also with the folder of the portal. */
export const STATIC_FILES: FastifyStaticOptions = {
  root: DIST,
  serve: false,
  preCompressed: true,
  cacheControl: false,
  acceptRanges: false,
}

export function consoleRoutes() {
  const isBuilt = existsSync(DIST)
  const shared = { method: 'GET', access: 'anyone', schema: { hide: true } } as const

  const pages: PlainRoute = {
    ...shared,
    url: '/console/*',
    async respond(request, reply) {
      if (!isBuilt) throw new HttpFailure(404, 'The console has not been built; run npm run setup')
      const path = (request.params as { '*': string })['*']
      // Views of the single page have no dot in their path; files do.
      const file = path.includes('.') ? path : 'index.html'
      if (!FILE.test(file)) throw routeNotFound()
      // An asset's name contains the hash of its content.
      const isAsset = file.startsWith('assets/')
      reply.headers(HEADERS).header('cache-control', isAsset ? 'public, max-age=31536000, immutable' : 'no-cache')
      return reply.sendFile(file)
    },
  }

  const withoutSlash: PlainRoute = {
    ...shared,
    url: '/console',
    respond: async (_request, reply) => reply.redirect('/console/', 308),
  }

  const root: PlainRoute = {
    ...shared,
    url: '/',
    async respond(request, reply) {
      if (request.headers.accept?.includes('text/html')) return reply.redirect('/console/', 302)
      throw routeNotFound()
    },
  }

  return { pages, withoutSlash, root }
}
