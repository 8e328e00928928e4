// Bearers of the platform's own identity provider: issue, verify, refuse, follow a rotation.
import assert from 'node:assert/strict'
import { mkdtempSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { Estate, sqliteEngine } from '../support/estate.ts'
import { bearer, closeConnections } from '../support/http.ts'

const ISSUER = 'https://id.platform.example'
const AUDIENCE = 'latchkey'
const LIST = '/api/v1/apiClient/token'

interface SigningKey {
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly jwk: object
}

async function newKey(kid: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256' } }
}

interface SignOptions {
  readonly exp?: string | number
  readonly typ?: unknown
}

function sign(key: SigningKey, claims: JWTPayload, { exp = '5m', typ }: SignOptions = {}): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'ES256', kid: key.kid, ...(typ === undefined ? {} : { typ: typ as string }) })
    .setIssuer(claims.iss ?? ISSUER)
    .setAudience(claims.aud ?? AUDIENCE)
    .setExpirationTime(exp)
    .setSubject(claims.sub ?? 'support@platform.example')
    .sign(key.privateKey)
}

const environment = (jwks: string) => ({
  LATCHKEY_JWT_JWKS: jwks,
  LATCHKEY_JWT_ISSUER: ISSUER,
  LATCHKEY_JWT_AUDIENCE: AUDIENCE,
  LATCHKEY_JWT_ACCOUNT_CLAIM: 'https://platform.example/account',
})
const account = (estate: Estate) => ({ 'https://platform.example/account': estate.mine.accountId })

describe('with a file of grants', () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-grants-'))
  const [jwks, grants] = [join(folder, 'jwks.json'), join(folder, 'grants.json')]
  const grant = (list: readonly object[]) => writeFileSync(grants, JSON.stringify(list))
  let key: SigningKey
  let estate: Estate
  before(async () => {
    key = await newKey('only')
    writeFileSync(jwks, JSON.stringify({ keys: [key.jwk] }))
    grant([])
    estate = await Estate.open(sqliteEngine, { ...environment(jwks), LATCHKEY_JWT_GRANTS: grants })
  })
  after(async () => {
    closeConnections()
    await estate.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const ask = async (claims: JWTPayload, path = LIST, method = 'GET') =>
    estate.ask({ method, path, headers: [bearer(await sign(key, { ...account(estate), ...claims }))] })

  test('a JWT that matches no grant is refused, also one of another account or with a value that only begins so', async () => {
    grant([
      { claim: 'groups', value: 'support', account: estate.theirs.accountId, role: 'owner' },
      { claim: 'groups', value: 'support', account: 'acc_none', role: 'owner' },
      { claim: 'groups', value: 'support desk', account: estate.mine.accountId, role: 'owner' },
    ])
    for (const groups of [undefined, [], 'support', ['support'], ['support desk 2']]) {
      assert.equal((await ask({ groups })).status, 401, JSON.stringify(groups))
    }
  })

  test('one that matches may do what the first grant says, from the next request after a change', async () => {
    await estate.token()
    const { accountId: granted } = estate.mine
    grant([{ claim: 'groups', value: 'support', account: granted, role: 'viewer' }])
    const listed = await ask({ groups: ['x', 'support'] })
    assert.match(listed.json.data.items[0].token, /^lk_tok_…/)
    assert.equal((await ask({ groups: 'support' }, LIST, 'POST')).status, 403)
    grant([
      { claim: 'groups', value: 'support', account: granted, role: 'owner', reveal: true },
      { claim: 'groups', value: 'support', account: granted, role: 'viewer' },
    ])
    assert.doesNotMatch((await ask({ groups: 'support' })).json.data.items[0].token, /…/)
    grant([])
    assert.equal((await ask({ groups: 'support' })).status, 401)
  })

  test('an address that the issuer has not verified matches no grant', async () => {
    const email = 'boss@example.com'
    grant([{ claim: 'email', value: email, account: estate.mine.accountId, role: 'viewer' }])
    for (const verified of [true, 'true']) {
      assert.equal((await ask({ email, email_verified: verified })).status, 200, String(verified))
    }
    for (const unverified of [undefined, false, 'false', 'False', 0, 1, null, 'no', [true]]) {
      assert.equal((await ask({ email, email_verified: unverified })).status, 401, String(unverified))
    }
  })

  test('LATCHKEY_TRUST_EMAIL lets an address count of which the issuer does not say whether it is verified', async (t) => {
    const env = { ...environment(jwks), LATCHKEY_JWT_GRANTS: grants, LATCHKEY_TRUST_EMAIL: 'on' }
    const trusting = await Estate.open(sqliteEngine, env)
    t.after(() => trusting.close())
    const email = 'boss@example.com'
    grant([{ claim: 'email', value: email, account: trusting.mine.accountId, role: 'viewer' }])
    const statusOf = async (claims: JWTPayload) => {
      const jwt = await sign(key, { ...account(trusting), email, ...claims })
      return (await trusting.ask({ path: LIST, headers: [bearer(jwt)] })).status
    }
    assert.deepEqual([await statusOf({}), await statusOf({ email_verified: true })], [200, 200])
    for (const email_verified of [false, 'false', null]) assert.equal(await statusOf({ email_verified }), 401)
  })

  test('a genuine JWT that no grant matches is no guess, a forged one is', async (t) => {
    const env = { ...environment(jwks), LATCHKEY_JWT_GRANTS: grants, LATCHKEY_RATE_LIMIT_FAILED: '1/h' }
    const limited = await Estate.open(sqliteEngine, env)
    t.after(() => limited.close())
    grant([])
    const statusOf = async (by: SigningKey) =>
      (await limited.ask({ path: LIST, headers: [bearer(await sign(by, account(limited)))] })).status
    assert.deepEqual([await statusOf(key), await statusOf(key), await statusOf(key)], [401, 401, 401])
    const forger = await newKey('only')
    assert.deepEqual([await statusOf(forger), await statusOf(forger), await statusOf(key)], [401, 429, 429])
  })

  test('callers without a subject are limited in their own account, not together with those of others', async (t) => {
    const limited = await Estate.open(sqliteEngine, { ...environment(jwks), LATCHKEY_RATE_LIMIT_KEY: '1/h' })
    t.after(() => limited.close())
    const claim = 'https://platform.example/account'
    for (const { accountId } of [limited.mine, limited.theirs]) {
      const headers = [bearer(await sign(key, { [claim]: accountId }))]
      const statuses = [await limited.ask({ path: LIST, headers }), await limited.ask({ path: LIST, headers })]
      assert.deepEqual(
        statuses.map(({ status }) => status),
        [200, 429],
      )
    }
  })

  test('a file that cannot be read lets nobody in, and account keys go on', async () => {
    writeFileSync(grants, '[{"claim":"groups"}]')
    const heard = await ask({ groups: 'support' })
    assert.equal(heard.status, 503)
    assert.equal(heard.headers['x-latchkey-error'], 'unavailable')
    assert.match(heard.json.error.message, /file of grants/)
    assert.equal((await estate.mineAsks({ path: LIST })).status, 200)
  })
})

describe('with the keys of the issuer in a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-jwks-'))
  const file = join(folder, 'jwks.json')
  const publish = (...keys: SigningKey[]) => writeFileSync(file, JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }))
  let first: SigningKey
  let estate: Estate
  before(async () => {
    first = await newKey('first')
    publish(first)
    estate = await Estate.open(sqliteEngine, environment(file))
  })
  after(async () => {
    closeConnections()
    await estate.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const list = (jwt: string) => estate.ask({ path: LIST, headers: [bearer(jwt)] })

  test('a JWT of the issuer is the account named in its claim, and the history shows its subject', async () => {
    const jwt = await sign(first, account(estate))
    assert.equal((await list(jwt)).status, 200)
    const token = await estate.token()
    const path = `${LIST}/${token.id}`
    await estate.ask({ method: 'PUT', path, headers: [bearer(jwt)], body: { status: 'inactive' } })
    const history = await estate.mineAsks({ path: `${path}/history` })
    assert.equal(history.json.data.items[0].by, 'jwt:support@platform.example')
  })

  test('a JWT learns who it is: its account, and its subject as the history shows it', async () => {
    const heard = await estate.ask({
      path: '/api/v1/apiClient/whoami',
      headers: [bearer(await sign(first, account(estate)))],
    })
    assert.deepEqual(heard.json.data, {
      account: { _id: estate.mine.accountId, name: 'Mine' },
      caller: { kind: 'jwt', _id: 'jwt:support@platform.example', name: 'support@platform.example' },
      permissions: { role: 'owner', reveal: true, subAccounts: null },
    })
  })

  test('an account key that a JWT makes does not outlive the JWT', async () => {
    const make = async (exp: number, fields: object) =>
      estate.ask({
        method: 'POST',
        path: '/api/v1/apiClient/key',
        headers: [bearer(await sign(first, account(estate), { exp }))],
        body: { name: 'Made', role: 'viewer', ...fields },
      })
    const exp = Math.floor(Date.now() / 1000) + 300
    const limit = new Date(exp * 1000).toISOString()
    assert.equal((await make(exp + 0.9999, {})).json.data.expiresAt, new Date(exp * 1000 + 999).toISOString())
    assert.equal((await make(exp, { expiresAt: limit })).status, 201)
    assert.equal((await make(exp, { expiresAt: null })).status, 400)
    assert.equal((await make(exp, { expiresAt: '2999-01-01T00:00:00Z' })).status, 400)
    // No time of ours is later.
    assert.equal((await make(1e20, {})).json.data.expiresAt, '9999-12-31T23:59:59.999Z')
  })

  for (const typ of [undefined, 'JWT', 'jwt', 'at+jwt', 'AT+JWT', 'application/jwt', 'application/at+jwt']) {
    test(`the type ${typ ?? 'left out'} is one of an access token`, async () => {
      assert.equal((await list(await sign(first, account(estate), { typ }))).status, 200)
    })
  }

  for (const typ of ['logout+jwt', 'dpop+jwt', 'application/secevent+jwt', 'JWS', 'at+jwt ', '', 5, null, ['JWT']]) {
    test(`the type ${JSON.stringify(typ)} is for another purpose, and invalid here`, async () => {
      const heard = await list(await sign(first, account(estate), { typ }))
      assert.equal(heard.text, '{"code":401,"message":"Invalid token","stack":"AuthenticationError: Invalid token"}')
    })
  }

  test('account keys work beside it', async () => {
    assert.equal((await estate.mineAsks({ path: LIST })).status, 200)
  })

  test('an expired one is told so, with the documented body', async () => {
    const heard = await list(await sign(first, account(estate), { exp: 1_000_000 }))
    assert.equal(heard.text, '{"code":401,"message":"Token expired","stack":"AuthenticationError: Token expired"}')
  })

  test('a key that the issuer adds later is followed without a restart', async () => {
    const second = await newKey('second')
    publish(first, second)
    assert.equal((await list(await sign(second, account(estate)))).status, 200)
  })

  test('a key that the issuer takes away opens nothing more, and a JWT that it has signed is invalid', async () => {
    const [leaked, kept] = [await newKey('leaked'), await newKey('kept')]
    const jwt = await sign(leaked, account(estate))
    publish(first, leaked)
    assert.equal((await list(jwt)).status, 200)
    publish(first)
    assert.equal((await list(jwt)).status, 401)
    // The same length, under the same name, as a deployment puts it there.
    publish(first, leaked)
    assert.equal((await list(jwt)).status, 200)
    const next = join(folder, 'next.json')
    const text = JSON.stringify({ keys: [first.jwk, kept.jwk] })
    writeFileSync(next, text.padEnd(statSync(file).size))
    renameSync(next, file)
    assert.equal((await list(jwt)).status, 401)
    publish(first)
  })

  const unusable: Readonly<Record<string, () => void>> = {
    'is gone': () => rmSync(file),
    'is half written': () => truncateSync(file, 20),
    'holds no key set': () => writeFileSync(file, '{"keys":"none"}'),
  }
  for (const [what, spoil] of Object.entries(unusable)) {
    test(`while the file ${what} nothing is decided, however often it is asked: 503, and account keys still work`, async () => {
      const jwt = await sign(first, account(estate))
      assert.equal((await list(jwt)).status, 200)
      spoil()
      assert.deepEqual([(await list(jwt)).status, (await list(jwt)).status], [503, 503])
      assert.equal((await estate.mineAsks({ path: LIST })).status, 200)
      publish(first)
      assert.equal((await list(jwt)).status, 200)
    })
  }

  test('an imported credential that happens to be a JWT of another issuer works like any other', async () => {
    const other = await sign(first, { iss: 'https://legacy.example' })
    await estate.token({ credential: other })
    assert.equal((await list(other)).status, 403)
    assert.equal((await estate.ask({ path: '/api/v1/verify', headers: [bearer(other)] })).status, 204)
  })

  const forged: Readonly<Record<string, () => Promise<string>>> = {
    'a signature of another key': async () => sign({ ...(await newKey('first')) }, account(estate)),
    'an unknown key id': async () => sign(await newKey('stranger'), account(estate)),
    'another audience': () => sign(first, { ...account(estate), aud: 'someone-else' }),
    'an account that does not exist': () => sign(first, { 'https://platform.example/account': 'acc_none' }),
    'no account': () => sign(first, {}),
    'an account that is no string': () => sign(first, { 'https://platform.example/account': { x: 1 } }),
    'a subject with a NUL in it': () => sign(first, { ...account(estate), sub: 'a\0b' }),
    'a subject that is half a character': () => sign(first, { ...account(estate), sub: '\ud800' }),
    'an empty subject': () => sign(first, { ...account(estate), sub: '' }),
    'a subject of 256 characters': () => sign(first, { ...account(estate), sub: 'x'.repeat(256) }),
    'a payload changed after signing': async () => {
      const [head = '', , signature = ''] = (await sign(first, account(estate))).split('.')
      const claims = { iss: ISSUER, aud: AUDIENCE, exp: 9_999_999_999, ...account(estate) }
      return [head, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.')
    },
    'no signature at all (alg none)': async () => {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const claims = { iss: ISSUER, aud: AUDIENCE, exp: 9_999_999_999, ...account(estate) }
      return `${part({ alg: 'none' })}.${part(claims)}.`
    },
    'a shared secret (HS256) made of the public key': () =>
      new SignJWT(account(estate))
        .setProtectedHeader({ alg: 'HS256', kid: 'first' })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setExpirationTime('5m')
        .sign(Buffer.from(JSON.stringify(first.jwk).padEnd(64, ' '))),
    'no expiry': () =>
      new SignJWT(account(estate))
        .setProtectedHeader({ alg: 'ES256', kid: 'first' })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .sign(first.privateKey),
  }
  for (const [what, make] of Object.entries(forged)) {
    test(`${what} is invalid`, async () => {
      const heard = await list(await make())
      assert.equal(heard.text, '{"code":401,"message":"Invalid token","stack":"AuthenticationError: Invalid token"}')
    })
  }
})

describe('with the keys of the issuer at a URL', () => {
  let key: SigningKey
  let issuer: Server
  let estate: Estate
  before(async () => {
    key = await newKey('remote')
    issuer = createServer((_, answer) => answer.end(JSON.stringify({ keys: [key.jwk] }))).listen(0, '127.0.0.1')
    await new Promise((resolve) => issuer.once('listening', resolve))
    const { port } = issuer.address() as AddressInfo
    estate = await Estate.open(sqliteEngine, environment(`http://127.0.0.1:${port}/jwks`))
  })
  after(async () => {
    closeConnections()
    issuer.close()
    await estate.close()
  })

  test('they are fetched, and while they cannot be, nothing is decided: 503, and account keys still work', async () => {
    const jwt = await sign(key, account(estate))
    const closed = await Estate.open(sqliteEngine, environment('http://127.0.0.1:1/jwks'))
    assert.equal((await closed.ask({ path: LIST, headers: [bearer(jwt)] })).status, 503)
    assert.equal((await closed.mineAsks({ path: LIST })).status, 200)
    await closed.close()
    assert.equal((await estate.ask({ path: LIST, headers: [bearer(jwt)] })).status, 200)
  })
})
