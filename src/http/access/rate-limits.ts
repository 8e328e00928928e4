// Rate limits: per account key, per address, and per address for failed authentication. None unless configured.
import type { FastifyRequest } from 'fastify'
import { Failure } from '../../tokens/errors.ts'
import { formatAddress, parseAddress } from '../../tokens/model/addresses.ts'
import type { Caller } from '../../tokens/model/permissions.ts'
import type { RateLimiter, RateLimitRules } from '../../tokens/trust/rate-limit.ts'
import { answerTo, HttpFailure } from '../protocol/failures.ts'
import { type Admit, callerOf } from './caller.ts'

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
    const address = networkOf(request.ip)
    if (failedPerAddress) refuse(await this.#limiter.wait(`failed ${address}`, failedPerAddress))
    if (perAddress) refuse(await this.#limiter.take(`address ${address}`, perAddress))
  }

  /** Called for an invalid credential. Beyond the limit the response is 429 instead of 401. */
  async countFailure(request: FastifyRequest): Promise<void> {
    const { failedPerAddress } = this.#rules
    if (failedPerAddress) refuse(await this.#limiter.take(`failed ${networkOf(request.ip)}`, failedPerAddress))
  }

  async countKey(request: FastifyRequest): Promise<void> {
    const { perKey } = this.#rules
    if (!perKey) return
    // By account too: subjects of JWTs are the same in different accounts.
    const { accountId, by } = callerOf(request)
    refuse(await this.#limiter.take(`key ${accountId} ${by}`, perKey))
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
      if (rateLimits !== undefined && isFailedAttempt(error)) await rateLimits.countFailure(request)
      throw error
    }
    if (!isFirst) return
    request.admittedAt = performance.now()
    request.wasComplete = request.raw.complete
    await rateLimits?.countKey(request)
  }
}

/** A request without a credential is not counted as an attempt. */
function isFailedAttempt(error: unknown): boolean {
  return error instanceof Failure && error.code !== 'authentication-required' && answerTo(error).status === 401
}

function refuse(waitMs: number): void {
  if (waitMs === 0) return
  throw new HttpFailure(429, undefined, { 'retry-after': String(Math.ceil(waitMs / 1000)) })
}

/** The /64 network of an IPv6 address: one caller usually has all 2⁶⁴ addresses of it. */
export function networkOf(text: string): string {
  const address = parseAddress(text.replace(/%.*/, ''))
  if (address === undefined) return text
  return address.length === 1 ? formatAddress(address) : `${formatAddress([...address.slice(0, 2), 0, 0])}/64`
}
