// A store that has lost its record of revocations: no caller is answered by any route, however the caller is known.
import assert from 'node:assert/strict'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { examine } from '../../src/cli/store/doctor.ts'
import { Estate, sqliteEngine } from '../support/estate.ts'
import { type Ask, bearer, closeConnections } from '../support/http.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'
import { updateToken } from '../support/store.ts'
import { LOOPBACK } from '../support/webhook-receiver.ts'
import { guarded } from '../trust/nobody-in.ts'

const [ISSUER, AUDIENCE, CLAIM] = ['https://id.platform.example', 'latchkey', 'account']
const folder = temporaryFolder()
let estate: Estate
let journal: string
/** By the way in which the caller is known. */
let bearers: Readonly<Record<string, string>>

before(async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const jwks = join(folder, 'jwks.json')
  writeFileSync(jwks, JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' }] }))
  estate = await Estate.open(sqliteEngine, {
    LATCHKEY_JWT_JWKS: jwks,
    LATCHKEY_JWT_ISSUER: ISSUER,
    LATCHKEY_JWT_AUDIENCE: AUDIENCE,
    LATCHKEY_JWT_ACCOUNT_CLAIM: CLAIM,
    ...LOOPBACK,
  })
  journal = join(estate.config.dataDir, 'revocations.log')
  const jwt = await new SignJWT({ [CLAIM]: estate.mine.accountId })
    .setProtectedHeader({ alg: 'ES256', kid: 'k' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setSubject('support')
    .setExpirationTime('5m')
    .sign(privateKey)
  bearers = { 'a JWT': jwt, 'an account key': estate.mine.key }
})
after(async () => {
  closeConnections()
  await estate.close()
  removeFolder(folder)
})

const statusOf = async (ask: Ask, credential: string) =>
  (await estate.ask({ ...ask, headers: [...(ask.headers ?? []), bearer(credential)] })).status

test('every route refuses every caller with 503 until the journal is put back', async () => {
  const asks = await Promise.all(
    Object.entries(guarded).map(async ([route, { ask }]) => ({ ...(await ask(estate)), method: route.split(' ')[0] })),
  )
  const list = { path: '/api/v1/apiClient/token' }
  const routes: Ask[] = [
    ...asks,
    { path: '/api/v1/apiClient/token?search=name' },
    { path: '/api/v1/apiClient/token?include=details' },
    { path: '/api/v1/nowhere' },
  ] as Ask[]
  const token = await estate.token()
  for (const credential of Object.values(bearers)) assert.equal(await statusOf(list, credential), 200)
  assert.equal(await statusOf({ path: '/api/v1/verify' }, token.credential), 204)

  renameSync(journal, `${journal}.aside`)
  const disable = { method: 'PUT', path: `${list.path}/${token.id}`, body: { status: 'inactive' } }
  assert.equal(await statusOf(disable, estate.mine.key), 503)
  for (const [caller, credential] of Object.entries(bearers)) {
    for (const ask of routes) assert.equal(await statusOf(ask, credential), 503, `${ask.method} ${ask.path}, ${caller}`)
  }
  assert.equal(await statusOf({ path: '/api/v1/verify' }, token.credential), 503)
  assert.equal((await estate.ask({ path: '/healthz' })).status, 200)
  assert.equal((await estate.ask({ path: '/metrics' })).status, 200)
  const { checks } = await examine(estate.running)
  assert.match(checks.find(({ check }) => check === 'revocations')?.result ?? '', /--accept-revocation-loss/)
  assert.match(checks.find(({ check }) => check === 'totals')?.result ?? '', /as counted/)

  renameSync(`${journal}.aside`, journal)
  while ((await estate.ask({ path: '/readyz' })).status !== 200) await pause(10)
  for (const credential of Object.values(bearers)) assert.equal(await statusOf(list, credential), 200)
})

test('a request that is let in before the loss reads nothing after it', async () => {
  const { store } = estate.running
  const token = await estate.token()
  const { accountId } = estate.mine
  renameSync(journal, `${journal}.aside`)
  const disable = { status: 'inactive' } as const
  const origin = estate.running.operator.origin()
  await assert.rejects(updateToken(store, accountId, token.id, disable, origin), { code: 'revocations-unknown' })
  const reads: Readonly<Record<string, () => Promise<unknown>>> = {
    findToken: () => store.findToken(accountId, token.id),
    listTokens: () => store.listTokens(accountId, { page: 1, limit: 10 }),
    search: () => store.listTokens(accountId, { page: 1, limit: 10, search: 'name' }),
    findSubAccount: () => store.findSubAccount(accountId, token.subAccount.id),
    listSubAccounts: () => store.listSubAccounts(accountId, { page: 1, limit: 10 }),
    listHistory: () => store.listHistory(accountId, { page: 1, limit: 10 }),
    findLastUses: () => store.findActivity([token.id], 0),
    findNames: () => store.findNames(accountId, [token.id]),
    findOwners: () => store.findOwners(accountId, [token.id]),
  }
  for (const [name, read] of Object.entries(reads)) {
    const inRequest = async () => store.during?.({ waitedMs: 0, isGone: () => false }, read)
    await assert.rejects(inRequest(), { code: 'revocations-unknown' }, name)
    // The operator’s own look.
    await read()
  }
  renameSync(`${journal}.aside`, journal)
})
