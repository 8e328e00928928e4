// Pages on other origins: their preflights are answered without a credential, and they can read what they are answered.
import assert from 'node:assert/strict'
import { bearer } from '../support/http.ts'
import { type Guarantees, type Headers, passed, refused401 } from './checks.ts'

/** As in docs/gateways. */
const ALLOWED_ORIGIN = 'https://www.example.com'
const READABLE = [
  'WWW-Authenticate',
  'X-Latchkey-Reason',
  'X-Latchkey-Error',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
]
const OTHER_ORIGINS = ['https://www.example.com.evil.example', 'https://evil.example', 'http://www.example.com', 'null']

const from = (origin: string): Headers => [['origin', origin]]
const preflightFrom = (origin: string): Headers => [
  ...from(origin),
  ['access-control-request-method', 'PUT'],
  ['access-control-request-headers', 'authorization,content-type'],
]

export const BROWSERS: Guarantees = {
  'a preflight, which has no credential, is answered by the gateway and reaches nothing behind it': async (
    deployment,
  ) => {
    const before = deployment.app.arrivals
    const { status, headers } = await deployment.askAs(preflightFrom(ALLOWED_ORIGIN), { method: 'OPTIONS' })
    assert.equal(status, 204)
    assert.equal(headers['access-control-allow-origin'], ALLOWED_ORIGIN)
    assert.match(String(headers['access-control-allow-methods']), /\bPUT\b/)
    assert.match(String(headers['access-control-allow-headers']), /\bauthorization\b/i)
    assert.match(String(headers.vary), /\borigin\b/i)
    assert.equal(deployment.app.arrivals, before)
  },

  'OPTIONS without Access-Control-Request-Method is no preflight: it is verified': async (deployment) => {
    const { credential } = await deployment.makeToken('Optional')
    const ask = (headers: Headers) => deployment.askAs([...headers, ...from(ALLOWED_ORIGIN)], { method: 'OPTIONS' })
    await refused401(deployment, ask([]), 'unknown')
    await passed(deployment, ask([bearer(credential)]))
  },

  'other methods are verified, whatever headers of a preflight they have': async (deployment) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      await refused401(deployment, deployment.askAs(preflightFrom(ALLOWED_ORIGIN), { method }), 'unknown')
    }
  },

  'a page on an allowed origin can read every answer, refusals included': async (deployment) => {
    const { credential } = await deployment.makeToken('Page')
    const ask = (headers: Headers) => deployment.askAs([...headers, ...from(ALLOWED_ORIGIN)])
    const good = await passed(deployment, ask([bearer(credential)]))
    const bad = await ask([])
    await deployment.killLatchkey()
    const broken = await ask([bearer(credential)]).finally(() => deployment.startLatchkey())
    assert.deepEqual([bad.status, broken.status >= 500], [401, true])
    for (const { headers } of [good, bad, broken]) {
      // Once: the application of this test also says "*", and a browser refuses two.
      assert.equal(headers['access-control-allow-origin'], ALLOWED_ORIGIN)
      const exposed = String(headers['access-control-expose-headers']).split(', ')
      assert.deepEqual(exposed, READABLE)
    }
  },

  'a page on any other origin can read nothing': async (deployment) => {
    const { credential } = await deployment.makeToken('Foreign page')
    for (const origin of OTHER_ORIGINS) {
      const preflight = await deployment.askAs(preflightFrom(origin), { method: 'OPTIONS' })
      const good = await passed(deployment, deployment.askAs([bearer(credential), ...from(origin)]))
      const bad = await deployment.askAs(from(origin))
      for (const { headers } of [preflight, good, bad]) {
        assert.equal(headers['access-control-allow-origin'], undefined, origin)
      }
    }
  },
}
