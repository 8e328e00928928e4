// What every group of guarantees about a gateway asserts in the same way.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Heard } from '../support/http.ts'
import type { Deployment, MadeToken } from './deployment.ts'

export type Check = (deployment: Deployment, t: TestContext) => Promise<void>

/** By the name of the guarantee. */
export type Guarantees = Readonly<Record<string, Check>>

export type Headers = readonly (readonly [name: string, value: string])[]

/** What the application must see of a token's identity. */
export function identityOf(deployment: Deployment, token: MadeToken, version: string): Record<string, string[]> {
  return {
    'x-latchkey-token-id': [token.id],
    'x-latchkey-sub-account-id': [deployment.estate.subAccount._id],
    'x-latchkey-account-id': [deployment.estate.account._id],
    'x-latchkey-token-version': [version],
  }
}

export async function passed(deployment: Deployment, asked: Promise<Heard>): Promise<Heard> {
  const answer = await asked
  assert.equal(answer.status, 200, deployment.gateway.said)
  return answer
}

export async function refused401(deployment: Deployment, asked: Promise<Heard>, reason: string): Promise<void> {
  const before = deployment.app.arrivals
  const { status, headers } = await asked
  assert.equal(status, 401)
  assert.match(String(headers['www-authenticate']), /^Bearer realm="latchkey"/)
  assert.equal(headers['x-latchkey-reason'], reason)
  assert.equal(deployment.app.arrivals, before)
}

/** A failure envelope, as Latchkey's own answers have it, and not the page of a proxy. */
export function isFailureEnvelope({ status, headers, text, json }: Heard, message: string): void {
  assert.match(String(headers['content-type']), /^application\/json\b/, text)
  const { error, ...envelope } = json
  assert.deepEqual(envelope, { status: false, message, message_type: 'error', data: {} }, String(status))
  assert.equal(typeof error.message, 'string')
}
