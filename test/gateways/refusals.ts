// What a client reads when it is refused: JSON with Latchkey's words, whichever program answers.
import assert from 'node:assert/strict'
import { bearer, type Heard } from '../support/http.ts'
import { type Guarantees, isFailureEnvelope } from './checks.ts'
import type { Deployment } from './deployment.ts'
import { type Refusal, standInAnswering } from './servers.ts'

/** A proxy that guesses the type of an answer from the path takes this for a page. */
const LOOKS_LIKE_A_PAGE = '/orders.html'

const OTHER_REFUSALS = [
  {
    status: 403,
    message: 'Forbidden',
    headers: {
      'x-latchkey-reason': 'scope',
      'x-latchkey-error': 'forbidden',
      'www-authenticate': 'Bearer realm="latchkey", error="insufficient_scope", scope="orders:read"',
    },
  },
  {
    status: 429,
    message: 'Too many requests',
    headers: { 'x-latchkey-reason': 'rate', 'x-latchkey-error': 'rate-limited', 'retry-after': '7' },
  },
]

export const REFUSALS: Guarantees = {
  'a 401 has the very body that Latchkey gave, as JSON': async (deployment) => {
    const inactive = await deployment.makeToken('Inactive')
    await deployment.setStatus(inactive, 'inactive')
    await sameBody(deployment, [bearer(inactive.credential)], 'Token inactive')
    const expiring = await deployment.makeToken('Expiring', { expiresAt: new Date(Date.now() + 300).toISOString() })
    await deployment.untilRefused(expiring)
    await sameBody(deployment, [bearer(expiring.credential)], 'Token expired')
    await sameBody(deployment, [bearer('garbage')], 'Invalid token')
    await sameBody(deployment, [], 'Authentication required')
    await sameBody(deployment, [['authorization', 'Basic eDp5']], 'Authentication required')
    const suspended = await deployment.makeToken('Suspended')
    await deployment.setSubAccountStatus('suspended')
    try {
      await sameBody(deployment, [bearer(suspended.credential)], 'Token inactive')
    } finally {
      await deployment.setSubAccountStatus('active')
    }
  },

  'a 403 and a 429 of Latchkey reach the client as such, with what they say': async (deployment) => {
    for (const { status, message, headers } of OTHER_REFUSALS) {
      const body = { status: false, message, message_type: 'error', data: {}, error: { message } }
      const answer = await answeredBy(deployment, status, { headers, body })
      assert.equal(answer.status, status)
      for (const [name, value] of Object.entries(headers)) assert.equal(answer.headers[name], value, name)
      isFailureEnvelope(answer, message)
    }
  },

  'an application that does not answer is reported as JSON': async (deployment) => {
    const { credential } = await deployment.makeToken('Waiting')
    await deployment.app.close()
    try {
      const answer = await deployment.ask(credential, { path: LOOKS_LIKE_A_PAGE })
      assert.ok(answer.status === 502 || answer.status === 503, String(answer.status))
      isFailureEnvelope(answer, 'Service unavailable')
    } finally {
      await deployment.app.listen(deployment.ports.app)
    }
  },
}

async function sameBody(deployment: Deployment, headers: Parameters<Deployment['askAs']>[0], message: string) {
  const direct = await deployment.askLatchkey(headers)
  const through = await deployment.askAs(headers, { path: LOOKS_LIKE_A_PAGE })
  assert.deepEqual([direct.status, direct.json.message], [401, message])
  assert.deepEqual([through.status, through.json], [401, direct.json])
  assert.match(String(through.headers['content-type']), /^application\/json\b/)
  for (const name of ['www-authenticate', 'x-latchkey-reason', 'x-latchkey-error']) {
    assert.equal(through.headers[name], direct.headers[name], name)
  }
}

async function answeredBy(deployment: Deployment, status: number, refusal: Refusal): Promise<Heard> {
  await deployment.killLatchkey()
  const standIn = await standInAnswering(status, deployment.ports.latchkey, refusal)
  try {
    return await deployment.ask('anything', { path: LOOKS_LIKE_A_PAGE })
  } finally {
    await standIn.close()
    await deployment.startLatchkey()
  }
}
