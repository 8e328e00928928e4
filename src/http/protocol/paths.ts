// What a path means beside the route that it leads to: whether it belongs to the API, and which methods it allows.
import type { RouteOptions } from 'fastify'

const API = /^\/(api|oauth2)\//

/** Everything below these paths needs a caller, and is never cached: also where a proxy could read it so. */
export function isApi(url: string): boolean {
  return API.test(url) || (url.includes('%') && API.test(decode(decodeURIComponent, pathOf(url)) ?? ''))
}

/** A part that cannot be decoded stands for itself: an id that is unknown, a path that leads nowhere. */
export function decodable(url: string): string {
  const [path = '', ...query] = url.split('?')
  const isReadable = (part: string) => decode(decodeURIComponent, part) !== undefined
  const readable = path.split('/').map((part) => (isReadable(part) ? part : part.replaceAll('%', '%25')))
  return [readable.join('/'), ...query].join('?')
}

/** Read as the router does: an escaped slash (%2F) stays escaped, it does not separate parts. */
export function allowedMethods(known: readonly RouteOptions[], url: string): readonly string[] {
  const path = decode(decodeURI, pathOf(url)) ?? ''
  const methods = known.filter((route) => patternOf(route.url).test(path)).flatMap((route) => route.method)
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

/** The router takes an empty part for an id too. */
function patternOf(url: string): RegExp {
  return new RegExp(`^${url.replace('*', '.*').replace(/:[A-Za-z]+/g, '[^/]*')}$`)
}
