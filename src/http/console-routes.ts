// Serves the built console from memory: a few files, under a policy that lets nothing else in.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { HttpFailure, routeNotFound } from './failures.ts'
import type { PlainRoute } from './route.ts'

const DIST = join(import.meta.dirname, '..', '..', 'console', 'dist')

/** Own files and own requests only. Nothing inline, no eval, no way to turn text into markup. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const HEADERS = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

interface ConsoleFile {
  readonly type: string
  readonly plain: Buffer
  /** By content coding, best first. */
  readonly compressed: readonly (readonly [string, Buffer])[]
  /** The name of an asset holds the hash of what is in it: it never changes. */
  readonly immutable: boolean
}

type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

function readFiles(folder: string): ConsoleFiles {
  const names = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []
  const files = new Map<string, ConsoleFile>()
  for (const name of names.map((each) => each.replaceAll('\\', '/'))) {
    const type = MEDIA_TYPES[extname(name)]
    if (type === undefined) continue
    const codings = [['br', '.br'] as const, ['gzip', '.gz'] as const].filter(([, end]) => names.includes(name + end))
    files.set(name, {
      type,
      plain: readFileSync(join(folder, name)),
      compressed: codings.map(([coding, end]) => [coding, readFileSync(join(folder, name + end))]),
      immutable: name.startsWith('assets/'),
    })
  }
  return files
}

export function consoleRoutes() {
  const files = readFiles(DIST)
  const shared = { method: 'GET', access: 'anyone', schema: { hide: true } } as const

  const pages: PlainRoute = {
    ...shared,
    url: '/console/*',
    async respond(request, reply) {
      const path = (request.params as { '*': string })['*']
      // A view is an address of the one page; only assets have names of their own.
      const file = files.get(path) ?? (path.includes('.') ? undefined : files.get('index.html'))
      if (file !== undefined) return sendFile(request, reply, file)
      if (files.size > 0) throw routeNotFound()
      throw new HttpFailure(404, 'The console has not been built; run npm run setup')
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

function sendFile(request: FastifyRequest, reply: FastifyReply, file: ConsoleFile) {
  const [coding, body] = file.compressed.find(([name]) => accepts(request, name)) ?? ['identity', file.plain]
  if (coding !== 'identity') reply.header('content-encoding', coding)
  return reply
    .headers(HEADERS)
    .header('vary', 'accept-encoding')
    .header('cache-control', file.immutable ? 'public, max-age=31536000, immutable' : 'no-cache')
    .type(file.type)
    .send(body)
}

function accepts(request: FastifyRequest, coding: string): boolean {
  const offered = String(request.headers['accept-encoding'] ?? '').split(',')
  return offered.some((each) => {
    const [name = '', quality = ''] = each.trim().split(';')
    return name.trim().toLowerCase() === coding && !/^\s*q=0(\.0*)?\s*$/.test(quality)
  })
}
