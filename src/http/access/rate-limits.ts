// Limits of requests: by account key, by address, and by address where authentication failed. None unless configured.
import type { FastifyRequest } from 'fastify'
import { Failure } from '../../tokens/errors.ts'
import type { Limiter, RateLimitRules } from '../../tokens/trust/rate-limit.ts'
import { answerTo, HttpFailure } from '../protocol/failures.ts'
import { type Admit, callerOf } from './caller.ts'

/** A supervisor that is refused would end the process. They cost next to nothing: `/readyz` asks the store once at a time. */
const PROBES: ReadonlySet<string | undefined> = new Set(['/healthz', '/readyz'])

export class RateLimits {
  readonly #rules: RateLimitRules
  readonly #limiter: Limiter

  constructor(rules: RateLimitRules, limiter: Limiter) {
    this.#rules = rules
    this.#limiter = limiter
  }

  /** For every request, before anything else is done for it: an address that has failed too often is refused, whatever it sends. */
  async arriving(request: FastifyRequest): Promise<void> {
    if (PROBES.has(request.routeOptions.url)) return
    const { perAddress, failedPerAddress } = this.#rules
    const address = networkOf(request.ip)
    if (failedPerAddress) refuse(await this.#limiter.wait(`failed ${address}`, failedPerAddress))
    if (perAddress) refuse(await this.#limiter.take(`address ${address}`, perAddress))
  }

  /** For a credential that is not valid. Beyond the limit the answer does not even say so. */
  async failed(request: FastifyRequest): Promise<void> {
    const { failedPerAddress } = this.#rules
    if (failedPerAddress) refuse(await this.#limiter.take(`failed ${networkOf(request.ip)}`, failedPerAddress))
  }

  around(admit: Admit): Admit {
    const { perKey } = this.#rules
    return async (request) => {
      try {
        await admit(request)
      } catch (error) {
        if (isFailedAttempt(error)) await this.failed(request)
        throw error
      }
      if (perKey) refuse(await this.#limiter.take(`key ${callerOf(request).by}`, perKey))
    }
  }
}

/** A request without a credential is no attempt. */
function isFailedAttempt(error: unknown): boolean {
  return error instanceof Failure && error.code !== 'authentication-required' && answerTo(error).status === 401
}

function refuse(waitMs: number): void {
  if (waitMs === 0) return
  throw new HttpFailure(429, undefined, { 'retry-after': String(Math.ceil(waitMs / 1000)) })
}

/** A caller with one address of IPv6 has all 2⁶⁴ of its network. */
export function networkOf(address: string): string {
  const v4 = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  if (v4 !== undefined || !address.includes(':')) return v4 ?? address
  const [start = '', end = ''] = address.replace(/%.*/, '').split('::')
  const [left, right] = [groupsOf(start), groupsOf(end)]
  const zeros = Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0')
  return `${[...left, ...zeros, ...right].slice(0, 4).join(':')}::/64`
}

function groupsOf(part: string): string[] {
  return part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16).toString(16))
}
