// Requests whose bodies take long to arrive: a right that the caller loses meanwhile is lost for these requests too.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import type { Headers } from '../support/cookie-browser.ts'
import { type Engine, sqliteEngine } from '../support/estate.ts'
import { type Ask, bearer } from '../support/http.ts'
import { postgresEngine } from '../support/postgres.ts'
import { openSlowly, type RawAnswer } from '../support/raw.ts'
import { API, MINUTE, SESSION_COOKIE, SignInWorld } from '../support/sign-in-world.ts'
import { unauthenticated } from './scenario.ts'

const [ISSUER, AUDIENCE, ACCOUNT] = ['https://id.platform.example', 'latchkey', 'account']

/** What a caller may begin, for a token and a sub-account. */
const CHANGES: Readonly<Record<string, (token: string, subAccount: string) => Ask>> = {
  'makes no account key': () => ({ path: `${API}/key`, body: { name: 'Heir', role: 'owner' } }),
  'creates no token': (_, subAccountId) => ({ path: `${API}/token`, body: { name: 'Late', subAccountId } }),
  'rotates no token': (id) => ({ path: `${API}/token/${id}/rotate`, body: {} }),
  'reveals no credential': (id) => ({ path: `${API}/token/${id}/reveal`, body: {} }),
  'updates no token': (id) => ({ method: 'PUT', path: `${API}/token/${id}`, body: { status: 'inactive' } }),
  'is not answered even where nothing would change': (id) => ({
    method: 'PUT',
    path: `${API}/token/${id}`,
    body: { status: 'active' },
  }),
  'is not told of a token that does not exist': () => ({
    method: 'PUT',
    path: `${API}/token/tok_none`,
    body: { status: 'active' },
  }),
  'patches no token': (id) => ({ method: 'PATCH', path: `${API}/token/${id}`, body: { tags: ['late'] } }),
  'deletes no token': (id) => ({ method: 'DELETE', path: `${API}/token/${id}`, body: {} }),
  'creates no sub-account': () => ({
    path: `${API}/sub-account`,
    body: { name: 'Late', email: 'late@example.com', companyName: 'Late Ltd' },
  }),
  'suspends no sub-account': (_, id) => ({
    method: 'PATCH',
    path: `${API}/sub-account/${id}`,
    body: { status: 'suspended' },
  }),
  'revokes no account key': () => ({ method: 'DELETE', path: `${API}/key/key_none`, body: {} }),
}

const INVALID = JSON.stringify(unauthenticated('Invalid token'))
const EXPIRED = JSON.stringify(unauthenticated('Token expired'))

function describeSlowBodies(engine: Engine): void {
  describe(`bodies that take long, on the ${engine.name} store`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-slow-'))
    let world: SignInWorld
    let signJwt: (expiresAt: number) => Promise<string>
    before(async () => {
      const { privateKey, publicKey } = await generateKeyPair('ES256')
      const jwks = join(folder, 'jwks.json')
      writeFileSync(jwks, JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256' }] }))
      world = await SignInWorld.open(engine, {
        LATCHKEY_JWT_JWKS: jwks,
        LATCHKEY_JWT_ISSUER: ISSUER,
        LATCHKEY_JWT_AUDIENCE: AUDIENCE,
        LATCHKEY_JWT_ACCOUNT_CLAIM: ACCOUNT,
      })
      signJwt = (expiresAt) =>
        new SignJWT({ [ACCOUNT]: world.estate.mine.accountId })
          .setProtectedHeader({ alg: 'ES256' })
          .setIssuer(ISSUER)
          .setAudience(AUDIENCE)
          .setSubject('robot')
          .setExpirationTime(expiresAt / 1000)
          .sign(privateKey)
    })
    after(async () => {
      await world.close()
      rmSync(folder, { recursive: true, force: true })
    })
    beforeEach(() => world.nextDay())

    const newKey = (expiresAt: number | null = null) =>
      world.estate.running.operator.createKey(world.estate.mine.accountId, 'Soon revoked', expiresAt)
    const revoke = async (id: string) =>
      assert.equal((await world.estate.mineAsks({ method: 'DELETE', path: `${API}/key/${id}` })).status, 200)
    /** Resolves after a later request of the same caller was answered: this one is then waiting for its body. */
    const begin = async (ask: Ask, headers: Headers) => {
      const finish = await openSlowly(world.url, { ...ask, headers })
      await world.estate.ask({ path: `${API}/whoami`, headers })
      return finish
    }
    const pass = async (ms: number) => {
      world.clock.now += ms
    }
    const lastChange = async () => (await world.estate.mineAsks({ path: `${API}/history?limit=1` })).json.data.total
    const cookieOf = async (): Promise<Headers> => [
      ...world.own,
      ['cookie', `${SESSION_COOKIE}=${(await world.signedIn()).cookie}`],
    ]

    function assertRefused(answer: RawAnswer | undefined, body: string): void {
      assert.deepEqual([answer?.status, answer?.body], [401, body])
    }

    /** All changes, begun before the right is lost and completed after it; `lose` makes `rows` rows of history. */
    async function assertAllRefused(headers: Headers, lose: () => Promise<unknown>, rows: number, body: string) {
      const { id, subAccount } = await world.estate.token()
      const begun = []
      for (const [name, ask] of Object.entries(CHANGES)) {
        begun.push({ name, finish: await begin(ask(id, subAccount.id), headers) })
      }
      const before = await lastChange()
      await lose()
      for (const { name, finish } of begun) {
        const answer = await finish()
        assert.deepEqual([name, answer?.status, answer?.body], [name, 401, body])
      }
      assert.equal(await lastChange(), before + rows)
    }

    for (const [what, ask] of Object.entries(CHANGES)) {
      test(`a key that is revoked before its request is complete ${what}`, async () => {
        const { id, subAccount } = await world.estate.token()
        const key = await newKey()
        const finish = await begin(ask(id, subAccount.id), [bearer(key.key)])
        await revoke(key.id)
        const before = await lastChange()
        assertRefused(await finish(), INVALID)
        assert.equal(await lastChange(), before)
      })
    }

    test('a key that expires before its requests are complete changes nothing', async () => {
      const key = await newKey(world.clock.now + MINUTE)
      const lose = () => pass(MINUTE)
      await assertAllRefused([bearer(key.key)], lose, 0, EXPIRED)
    })

    test('a JWT that expires before its requests are complete changes nothing', async () => {
      const jwt = await signJwt(world.clock.now + MINUTE)
      const lose = () => pass(2 * MINUTE)
      await assertAllRefused([bearer(jwt)], lose, 0, EXPIRED)
    })

    test('a person whose session is ended before the requests are complete changes nothing', async () => {
      const headers = await cookieOf()
      const lose = async () => {
        const { items } = (await world.estate.mineAsks({ path: `${API}/session` })).json.data
        const path = `${API}/session/${items[0]._id}`
        assert.equal((await world.estate.mineAsks({ method: 'DELETE', path })).status, 200)
      }
      await assertAllRefused(headers, lose, 1, INVALID)
    })

    test('a person whose session expires before the requests are complete changes nothing', async () => {
      const headers = await cookieOf()
      const lose = () => pass(31 * MINUTE)
      await assertAllRefused(headers, lose, 0, EXPIRED)
    })

    test('a person whose grant is reduced before the request is complete has what is left of it', async () => {
      const headers = await cookieOf()
      const { id } = await world.estate.token()
      const ask = { method: 'PUT', path: `${API}/token/${id}`, body: { status: 'inactive' } }
      const reduced = await begin(ask, headers)
      world.provider.grant(world.grantFor('support', { role: 'viewer' }))
      assert.equal((await reduced())?.status, 403)
      world.provider.grant(world.grantFor('support'))
      const removed = await begin(ask, headers)
      world.provider.grant()
      assert.equal((await removed())?.status, 401)
      const { status } = (await world.estate.mineAsks({ path: `${API}/token/${id}` })).json.data
      assert.equal(status, 'active')
    })

    test('a key that is revoked before its form is complete learns nothing about a credential', async () => {
      const { credential } = await world.estate.token()
      const key = await newKey()
      const form = `token=${credential}`
      const basic = Buffer.from(`client:${key.key}`).toString('base64')
      const begun = [
        await begin({ path: '/oauth2/introspect', body: form }, [bearer(key.key)]),
        await begin({ path: '/oauth2/introspect', body: form }, [['authorization', `Basic ${basic}`]]),
        await begin({ path: '/oauth2/introspect', body: `client_secret=${key.key}&${form}` }, []),
      ]
      await revoke(key.id)
      for (const finish of begun) assertRefused(await finish(), INVALID)
    })

    test('a key that keeps its rights is served, however long the body takes', async () => {
      const { id } = await world.estate.token()
      const ask = { method: 'PUT', path: `${API}/token/${id}`, body: { status: 'inactive' } }
      const finish = await begin(ask, [bearer((await newKey()).key)])
      world.clock.now += MINUTE
      assert.equal((await finish())?.status, 200)
    })
  })
}

describeSlowBodies(sqliteEngine)
describeSlowBodies(postgresEngine)
