// How verification says what is left of rates and quotas.

import type { LimitVerdict } from '../../tokens/limits/limiter.ts'
import { limitName } from './document.ts'

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
