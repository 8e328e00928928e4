// Paths: whether a path belongs to the API, and which methods it allows.
import type { RouteOptions } from 'fastify'

const API = /^\/(api|oauth2)\//

/** Paths whose responses are never cached; an unknown one needs a caller. Encoded paths count: a proxy may decode them. */
export function isApi(url: string): boolean {
  return API.test(url) || (url.includes('%') && API.test(decode(decodeURIComponent, pathOf(url)) ?? ''))
}

/** Takes invalid percent escapes literally: they then name an unknown id or route. */
export function decodable(url: string): string {
  const [path = '', ...query] = url.split('?')
  const isValid = (part: string) => decode(decodeURIComponent, part) !== undefined
  const parts = path.split('/').map((part) => (isValid(part) ? part : part.replaceAll('%', '%25')))
  return [parts.join('/'), ...query].join('?')
}

/** Decodes as the router does: an escaped slash (%2F) does not separate parts. */
export function allowedMethods(routes: readonly RouteOptions[], url: string): readonly string[] {
  const path = decode(decodeURI, pathOf(url)) ?? ''
  const methods = routes.filter((route) => patternOf(route.url).test(path)).flatMap((route) => route.method)
  return [...new Set(methods.flatMap((method) => (method === 'HEAD' ? ['GET', 'HEAD'] : [method])))]
}

function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? ''
}

function decode(by: (text: string) => string, text: string): string | undefined {
  try {
    return by(text)
  } catch {
    return undefined
  }
}

/** `*` and not `+`: the router accepts an empty id. */
function patternOf(url: string): RegExp {
  const escaped = url.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replace('*', '.*').replace(/:[A-Za-z]+/g, '[^/]*')}$`)
}
