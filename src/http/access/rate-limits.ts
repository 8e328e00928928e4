// Rate limits: per account key, per address, and per address for failed authentication. None unless configured.
import type { FastifyRequest } from 'fastify'
import { Failure } from '../../tokens/model/errors.ts'
import type { Caller } from '../../tokens/model/permissions.ts'
import type { RateLimiter, RateLimitRules } from '../../tokens/trust/rate-limit.ts'
import { HttpFailure } from '../protocol/failures.ts'
import { type Admit, callerOf } from './caller.ts'
import { addressOf, networkOf } from './client-address.ts'

/** Not limited: a supervisor would restart the process on a 429. They cost little. */
const PROBES: ReadonlySet<string | undefined> = new Set(['/healthz', '/readyz'])

export class RateLimits {
  readonly #rules: RateLimitRules
  readonly #limiter: RateLimiter

  constructor(rules: RateLimitRules, limiter: RateLimiter) {
    this.#rules = rules
    this.#limiter = limiter
  }

  /** Called first for every request: an address with too many failures is refused, whatever it sends. */
  async checkAddress(request: FastifyRequest): Promise<void> {
    if (PROBES.has(request.routeOptions.url)) return
    const { perAddress, failedPerAddress } = this.#rules
    const address = networkOf(addressOf(request))
    if (failedPerAddress) refuse(request, 'failed', await this.#limiter.wait(`failed ${address}`, failedPerAddress))
    if (perAddress) refuse(request, 'address', await this.#limiter.take(`address ${address}`, perAddress))
  }

  /** Called for a guess: a credential that is not known at all. Beyond the limit the response is 429 instead of 401. */
  async countFailure(request: FastifyRequest): Promise<void> {
    const { failedPerAddress } = this.#rules
    if (failedPerAddress === undefined) return
    refuse(request, 'failed', await this.#limiter.take(`failed ${networkOf(addressOf(request))}`, failedPerAddress))
  }

  async countKey(request: FastifyRequest): Promise<void> {
    const { perKey } = this.#rules
    if (!perKey) return
    // By account too: subjects of JWTs are the same in different accounts.
    const { accountId, by } = callerOf(request)
    refuse(request, 'key', await this.#limiter.take(`key ${accountId} ${by}`, perKey))
  }
}

/** Authenticates a request within the rate limits. */
export function admitWithin(
  authenticate: (request: FastifyRequest) => Promise<Caller>,
  rateLimits: RateLimits | undefined,
): Admit {
  return async (request) => {
    const isFirst = request.caller === undefined
    try {
      request.caller = await authenticate(request)
    } catch (error) {
      if (rateLimits !== undefined && isGuess(error)) await rateLimits.countFailure(request)
      throw error
    }
    if (!isFirst) return
    request.admittedAt = performance.now()
    request.wasComplete = request.raw.complete
    await rateLimits?.countKey(request)
  }
}

/**
 * What is known is no guess: an expired key or a disabled token is sent by a program that was not told, often through the same
 * gateway as all others. A `token-invalid` with a cause refuses something that is genuine.
 */
function isGuess(error: unknown): boolean {
  return error instanceof Failure && error.code === 'token-invalid' && error.cause === undefined
}

function refuse(request: FastifyRequest, limit: 'key' | 'address' | 'failed', waitMs: number): void {
  if (waitMs === 0) return
  request.reason = `${limit}-limit`
  throw new HttpFailure(429, undefined, { 'retry-after': String(Math.ceil(waitMs / 1000)) })
}
