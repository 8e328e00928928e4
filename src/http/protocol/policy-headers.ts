// How verification is asked for scopes, and how it tells what a policy requires and leaves.
import { Failure } from '../../tokens/errors.ts'
import type { LimitVerdict } from '../../tokens/limiter.ts'
import type { RawQuery } from '../../tokens/model/page.ts'
import { type Access, readScopes } from '../../tokens/verify/policy.ts'

export function readScopeParameter({ scope }: RawQuery): Pick<Access, 'scopes'> {
  if (scope === undefined) return {}
  const read = readScopes(scope)
  if ('problem' in read) throw new Failure('invalid-request', read.problem)
  return read
}

/** RFC 6750, 3.1: the scopes that would be enough. Only their own characters can be in it. */
export function challengeFor(query: RawQuery): Readonly<Record<string, string>> {
  const scopes = readScopeParameter(query).scopes?.[0] ?? []
  const needed = `error="insufficient_scope", scope="${scopes.join(' ')}"`
  return { 'www-authenticate': `Bearer realm="latchkey", ${needed}` }
}

/** RateLimit and RateLimit-Policy, of draft-ietf-httpapi-ratelimit-headers: one item for each rate and quota. */
export function limitHeaders(left: LimitVerdict['left']): Readonly<Record<string, string>> {
  if (left.length === 0) return {}
  const policies = left.map(({ use }) => `${nameOf(use)};q=${use.limit.limit}${windowOf(use)}`)
  const remaining = left.map(({ use, left: units, resetSeconds }) => {
    const reset = resetSeconds === null ? '' : `;t=${resetSeconds}`
    return `${nameOf(use)};r=${units}${reset}`
  })
  return { 'ratelimit-policy': policies.join(', '), ratelimit: remaining.join(', ') }
}

type Use = LimitVerdict['left'][number]['use']

const nameOf = ({ owner, limit }: Use) => (owner === 'token' ? `"${limit.kind}"` : `"sub-account-${limit.kind}"`)

const WINDOWS = { day: ';w=86400', month: ';w=2592000', ever: '' }

function windowOf({ limit }: Use): string {
  return limit.kind === 'rate' ? `;w=${limit.seconds}` : WINDOWS[limit.per]
}
