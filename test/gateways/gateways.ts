// Real gateways with the configuration of docs/gateways, in front of a real Latchkey: off means off through them too.
// Not among the tests of `npm test`: it needs nginx, Caddy and HAProxy on the machine. `npm run test:gateways`
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { bearer, closeConnections, type Heard } from '../support/http.ts'
import { BROWSERS } from './browsers.ts'
import { type Guarantees, type Headers, identityOf, isFailureEnvelope, passed, refused401 } from './checks.ts'
import { arrivedIn, Deployment, identityIn } from './deployment.ts'
import { DOCS, GATEWAYS } from './machine.ts'
import { OPEN_CONNECTIONS, restartEndsThem } from './open-connections.ts'
import { POLICIES } from './policies.ts'
import { REFUSALS } from './refusals.ts'
import { digestOf, type StandIn, standInAnswering, standInResetting } from './servers.ts'

const FLIPS = 200
const ASKED_IN_AN_OUTAGE = 8
const ASKED_IN_A_ROW = 50
/** The longest timeout documented is 2 s, once on an open connection and once on a new one. */
const REFUSED_WITHIN_MS = 5_000

after(closeConnections)

for (const kind of GATEWAYS) {
  test(`${kind.name} lets a request pass when Latchkey says 204, and never otherwise`, async (t) => {
    const deployment = await Deployment.start(kind)
    try {
      for (const [guarantee, check] of Object.entries(GUARANTEES)) {
        await t.test(`${kind.name}: ${guarantee}`, (inner) => check(deployment, inner))
      }
      assert.ok(deployment.gateway.isRunning, 'one and the same process of the gateway went through all of it')
      await t.test(`${kind.name}: a restart ends the WebSockets that are open`, () => restartEndsThem(deployment))
    } catch (error) {
      t.diagnostic(deployment.gateway.said)
      throw error
    } finally {
      await deployment.stop()
    }
  })
}

const GUARANTEES: Guarantees = {
  'an active token passes, and the application sees who it is and not the credential': async (deployment) => {
    const token = await deployment.makeToken('Active')
    const arrived = arrivedIn(await passed(deployment, deployment.ask(token.credential)))
    assert.deepEqual(identityIn(arrived), identityOf(deployment, token, '1'))
    assert.equal(arrived.url, '/orders?page=2')
    assert.equal(arrived.method, 'GET')
    assert.ok(!JSON.stringify(arrived).includes(token.credential))
  },

  'identity headers that a client sends do not reach the application': async (deployment) => {
    const token = await deployment.makeToken('Forger')
    for (const headers of FORGERIES) {
      const arrived = arrivedIn(await passed(deployment, deployment.ask(token.credential, { headers })))
      assert.deepEqual(identityIn(arrived), identityOf(deployment, token, '1'), JSON.stringify(headers))
    }
  },

  'a client cannot have the identity headers dropped by naming them in Connection': async (deployment) => {
    const token = await deployment.makeToken('Hider')
    const headers = [['connection', 'keep-alive, X-Latchkey-Token-Id, x-latchkey-account-id']] as const
    const before = deployment.app.arrivals
    const answer = await deployment.ask(token.credential, { headers })
    if (answer.status !== 200) assert.deepEqual([answer.status, deployment.app.arrivals], [400, before])
    else assert.deepEqual(identityIn(arrivedIn(answer)), identityOf(deployment, token, '1'))
  },

  'no credential, a wrong one and an account key are refused with 401 and a challenge': async (deployment) => {
    const { credential } = await deployment.makeToken('Right')
    const wrong = ['garbage', otherThan(credential), deployment.estate.key.key].map((each) => [bearer(each)])
    for (const headers of [[], [['authorization', 'Basic eDp5']] as const, ...wrong]) {
      await refused401(deployment, deployment.askAs([...headers, ...FORGED]), 'unknown')
    }
  },

  'two credentials are none, whichever comes first': async (deployment) => {
    const { credential } = await deployment.makeToken('Twice')
    const before = deployment.app.arrivals
    const both = [bearer(credential), bearer('garbage')]
    const answers = [await deployment.askAs(both), await deployment.askAs(both.reverse())]
    // nginx does not even ask: to it such a request is malformed.
    for (const { status } of answers) assert.ok(status === 401 || status === 400, String(status))
    assert.equal(deployment.app.arrivals, before)
  },

  [`${FLIPS} times, a status that was changed holds from the very next request on`]: async (deployment, t) => {
    const token = await deployment.makeToken('Flipped')
    const before = deployment.app.arrivals
    const wrong: string[] = []
    for (let flip = 0; flip < FLIPS; flip++) {
      const status = flip % 2 === 0 ? 'inactive' : 'active'
      const version = await deployment.setStatus(token, status)
      const answer = await deployment.ask(token.credential)
      if (answer.status !== (status === 'active' ? 200 : 401)) wrong.push(`${flip}: ${status}, but ${answer.status}`)
      if (answer.status === 200) assert.deepEqual(identityIn(arrivedIn(answer)), identityOf(deployment, token, version))
    }
    assert.deepEqual(wrong, [])
    assert.equal(deployment.app.arrivals - before, FLIPS / 2)
    t.diagnostic(`${FLIPS} flips, ${wrong.length} wrong`)
  },

  'inactive, suspended and deleted are refused from the next request on; resumed passes again': async (deployment) => {
    const token = await deployment.makeToken('Lived')
    const ask = () => deployment.ask(token.credential)
    await passed(deployment, ask())
    await deployment.setStatus(token, 'inactive')
    await refused401(deployment, ask(), 'inactive')
    await deployment.setStatus(token, 'active')
    await deployment.setSubAccountStatus('suspended')
    await refused401(deployment, ask(), 'suspended')
    await deployment.setSubAccountStatus('active')
    await passed(deployment, ask())
    await deployment.deleteToken(token)
    await refused401(deployment, ask(), 'unknown')
  },

  'bodies of any size, with their length or in chunks, reach the application whole': async (deployment) => {
    const { credential } = await deployment.makeToken('Writer')
    for (const [method, bytes] of [
      ['POST', 1],
      ['PUT', 20_000],
      ['PATCH', 700_000],
      ['DELETE', 100],
    ] as const) {
      const body = randomBytes(bytes)
      const arrived = arrivedIn(await passed(deployment, deployment.ask(credential, { method, body })))
      assert.deepEqual([arrived.method, arrived.bodyDigest], [method, digestOf(body)])
      const chunked = await postInChunks(deployment, credential, method, body)
      assert.deepEqual([chunked.method, chunked.bodyDigest], [method, digestOf(body)])
    }
  },

  'requests with bodies are refused like any other': async (deployment) => {
    const token = await deployment.makeToken('Barred')
    await deployment.setStatus(token, 'inactive')
    for (const method of ['POST', 'PUT']) {
      await refused401(deployment, deployment.ask(token.credential, { method, body: randomBytes(20_000) }), 'inactive')
    }
  },

  'while Latchkey is stopped everything is refused, and it passes again once Latchkey is back': async (
    deployment,
    t,
  ) => {
    const answers = await outage(deployment, t, async () => {
      await deployment.killLatchkey()
      return () => deployment.startLatchkey()
    })
    for (const answer of answers) isFailureEnvelope(answer, 'Service unavailable')
  },

  'while Latchkey hangs everything is refused in time, and it passes again once Latchkey goes on': async (
    deployment,
    t,
  ) => {
    const answers = await outage(deployment, t, async () => {
      deployment.hangLatchkey()
      return async () => deployment.resumeLatchkey()
    })
    for (const answer of answers) isFailureEnvelope(answer, 'Service unavailable')
  },

  ...Object.fromEntries(
    [500, 503, 200, 302, 403, 429].map((status) => [
      `what answers ${status} in Latchkey's place, identity headers and all, lets nothing pass`,
      (deployment: Deployment, t: TestContext) => replaced(deployment, t, (port) => standInAnswering(status, port)),
    ]),
  ),

  "what resets connections in Latchkey's place lets nothing pass": (deployment, t) =>
    replaced(deployment, t, standInResetting),

  // Also shows that the stand-ins above were asked where they could have said yes.
  "what answers 204 in Latchkey's place is believed, and asked again and again on open connections": async (
    deployment,
    t,
  ) => {
    await deployment.killLatchkey()
    const standIn = await standInAnswering(204, deployment.ports.latchkey)
    try {
      for (let n = 0; n < ASKED_IN_A_ROW; n++) await passed(deployment, deployment.ask('anything'))
    } finally {
      await standIn.close()
      await deployment.startLatchkey()
    }
    const [asked, connections] = [standIn.asked(), standIn.connections()]
    t.diagnostic(`${asked} verifications on ${connections} connections`)
    assert.equal(asked, ASKED_IN_A_ROW)
    assert.ok(connections <= ASKED_IN_A_ROW / 5, `${connections} connections`)
  },

  ...REFUSALS,
  ...POLICIES,
  ...BROWSERS,
  ...OPEN_CONNECTIONS,
}

const FORGED: Headers = [
  ['X-Latchkey-Token-Id', 'forged'],
  ['X-Latchkey-Sub-Account-Id', 'forged'],
  ['X-Latchkey-Account-Id', 'forged'],
  ['X-Latchkey-Token-Version', '999'],
  ['X-Latchkey-Scopes', 'forged'],
  ['X-Latchkey-Reason', 'forged'],
  ['X-Latchkey-Error', 'forged'],
]

const FORGERIES: readonly Headers[] = [
  FORGED,
  [
    ['x-latchkey-token-id', 'forged'],
    ['X-LATCHKEY-TOKEN-ID', 'forged'],
    ['x-LatchKey-Account-ID', ''],
  ],
  // A server that turns headers into variables reads these as the ones above.
  [
    ['X_Latchkey_Token_Id', 'forged'],
    ['x_latchkey_account_id', 'forged'],
    ['X-Latchkey_Token-Version', '999'],
    ['X_Latchkey_Scopes', 'forged'],
    ['X_Latchkey-Sub_Account-Id', 'forged'],
  ],
]

/** The same shape, and made by nobody. */
const otherThan = (credential: string): string =>
  credential.slice(0, -4) + (credential.endsWith('0000') ? '1111' : '0000')

async function postInChunks(deployment: Deployment, credential: string, method: string, body: Uint8Array) {
  const half = Math.floor(body.length / 2)
  const stream = ReadableStream.from([body.subarray(0, half), body.subarray(half)].filter(({ length }) => length > 0))
  const headers = { authorization: `Bearer ${credential}` }
  const answer = await fetch(deployment.gateway.url, { method, headers, body: stream, duplex: 'half' })
  assert.equal(answer.status, 200)
  return JSON.parse(await answer.text())
}

/** Breaks something, asks with a good credential, counts what reached the application, and mends it again. */
async function outage(deployment: Deployment, t: TestContext, breakIt: () => Promise<() => Promise<void>>) {
  const { credential } = await deployment.makeToken(t.name)
  await passed(deployment, deployment.ask(credential))
  const before = deployment.app.arrivals
  const mend = await breakIt()
  const asked = Array.from({ length: ASKED_IN_AN_OUTAGE }, (_, n) =>
    deployment.ask(credential, n % 2 === 0 ? {} : { method: 'POST', body: randomBytes(2_000) }),
  )
  const { answers, tookMs } = await inTime(asked).finally(mend)
  const statuses = answers.map(({ status }) => status)
  assert.ok(Math.min(...statuses) >= 300, statuses.join(', '))
  assert.equal(deployment.app.arrivals, before)
  await passed(deployment, deployment.ask(credential))
  const distinct = [...new Set(statuses)].join(', ')
  t.diagnostic(`${statuses.length} refused with ${distinct} in ${tookMs} ms, 0 reached the application`)
  return answers
}

/** All answers; a gateway that keeps its clients waiting has no timeout of its own. */
async function inTime(asked: readonly Promise<Heard>[]) {
  const began = performance.now()
  const late = AbortSignal.timeout(REFUSED_WITHIN_MS)
  const never = once(late, 'abort').then(() => {
    throw new Error(`not refused within ${REFUSED_WITHIN_MS} ms`)
  })
  const answers = await Promise.race([Promise.all(asked), never])
  return { answers, tookMs: Math.round(performance.now() - began) }
}

async function replaced(deployment: Deployment, t: TestContext, standIn: (port: number) => Promise<StandIn>) {
  let other: StandIn | undefined
  await outage(deployment, t, async () => {
    await deployment.killLatchkey()
    other = await standIn(deployment.ports.latchkey)
    return async () => {
      await other?.close()
      await deployment.startLatchkey()
    }
  })
  assert.ok((other?.asked() ?? 0) >= ASKED_IN_AN_OUTAGE, 'each request was asked about')
}

test('docs/guides/gateways.md leads to the very files that run here, and they say which do not', () => {
  const page = readFileSync(join(DOCS, 'guides', 'gateways.md'), 'utf8')
  const tested = GATEWAYS.flatMap(({ files }) => files)
  for (const file of readdirSync(join(DOCS, 'gateways'))) {
    const text = readFileSync(join(DOCS, 'gateways', file), 'utf8')
    assert.ok(page.includes(`(../gateways/${file})`), file)
    assert.equal(text.includes('Not tested here'), !tested.includes(file), file)
  }
})
