// Too many requests: by account key, by address, and by address where authentication failed. Only there when configured.
import type { FastifyRequest } from 'fastify'
import { Failure } from '../tokens/errors.ts'
import type { Limiter, RateLimitRules } from '../tokens/rate-limit.ts'
import { type Admit, callerOf } from './caller.ts'
import { answerTo, HttpFailure } from './failures.ts'

export class RateLimits {
  readonly #rules: RateLimitRules
  readonly #limiter: Limiter

  constructor(rules: RateLimitRules, limiter: Limiter) {
    this.#rules = rules
    this.#limiter = limiter
  }

  /** Before anybody is asked who it is: an address that has failed too often is not heard, whatever it brings. */
  async arriving(request: FastifyRequest): Promise<void> {
    const { perAddress, failedPerAddress } = this.#rules
    const address = networkOf(request.ip)
    if (failedPerAddress) refuse(await this.#limiter.wait(`failed ${address}`, failedPerAddress))
    if (perAddress) refuse(await this.#limiter.take(`address ${address}`, perAddress))
  }

  /** A credential that was sent and is no good. Past the limit the caller is not even told so. */
  async failed(request: FastifyRequest): Promise<void> {
    const { failedPerAddress } = this.#rules
    if (failedPerAddress) refuse(await this.#limiter.take(`failed ${networkOf(request.ip)}`, failedPerAddress))
  }

  around(admit: Admit): Admit {
    const { perKey } = this.#rules
    return async (request) => {
      await this.arriving(request)
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

/** Who sends nothing attempts nothing. */
function isFailedAttempt(error: unknown): boolean {
  return error instanceof Failure && error.code !== 'authentication-required' && answerTo(error).status === 401
}

function refuse(waitMs: number): void {
  if (waitMs === 0) return
  throw new HttpFailure(429, undefined, { 'retry-after': String(Math.ceil(waitMs / 1000)) })
}

/** Whoever has one address of IPv6 has the 2⁶⁴ of its network. */
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
