// How verification tells what a policy requires and leaves.
import type { LimitVerdict } from '../../tokens/limiter.ts'
import { readScopeParameter } from '../../tokens/model/access.ts'
import type { RawQuery } from '../../tokens/model/page.ts'
import { limitName } from '../../wire/verdict.ts'

/** RFC 6750, 3.1: the scopes that would be enough. Only their own characters can be in it. */
export function challengeFor(query: RawQuery): Readonly<Record<string, string>> {
  const scopes = readScopeParameter(query).scopes?.[0] ?? []
  const needed = `error="insufficient_scope", scope="${scopes.join(' ')}"`
  return { 'www-authenticate': `Bearer realm="latchkey", ${needed}` }
}

/** RateLimit and RateLimit-Policy, of draft-ietf-httpapi-ratelimit-headers: one item for each rate and quota. */
export function limitHeaders(left: LimitVerdict['left']): Readonly<Record<string, string>> {
  if (left.length === 0) return {}
  const policies = left.map(({ use }) => `"${limitName(use)}";q=${use.limit.limit}${windowOf(use)}`)
  const remaining = left.map(({ use, left: units, resetSeconds }) => {
    const reset = resetSeconds === null ? '' : `;t=${resetSeconds}`
    return `"${limitName(use)}";r=${units}${reset}`
  })
  return { 'ratelimit-policy': policies.join(', '), ratelimit: remaining.join(', ') }
}

type Use = LimitVerdict['left'][number]['use']

const WINDOWS = { day: ';w=86400', month: ';w=2592000', ever: '' }

function windowOf({ limit }: Use): string {
  return limit.kind === 'rate' ? `;w=${limit.seconds}` : WINDOWS[limit.per]
}
