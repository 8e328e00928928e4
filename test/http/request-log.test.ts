// The log has one line per request, and tells which token it was about.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Estate, openedBefore, sqliteEngine } from '../support/estate.ts'
import { type Ask, bearer } from '../support/http.ts'

const FORM = 'application/x-www-form-urlencoded'
const TOKEN = '/api/v1/apiClient/token'
const estate = openedBefore(sqliteEngine)

/** The line of this request, without what differs every time. */
async function lineOf(ask: Ask, on = estate) {
  const askedAt = performance.now()
  const { headers } = await on.ask(ask)
  const heardAfter = performance.now() - askedAt
  const lines = on.logged.flatMap((chunk) => chunk.split('\n').filter((line) => line.includes('"msg":"request"')))
  const own = lines.map((line) => JSON.parse(line)).filter(({ reqId }) => reqId === headers['x-request-id'])
  assert.equal(own.length, 1)
  const { time, pid, hostname, ms, reqId, ...rest } = own[0]
  assert.equal(typeof time, 'number')
  assert.ok(ms > 0 && ms <= Math.ceil(heardAfter), `${ms} ms of ${heardAfter}`)
  return rest
}

const asMine = (ask: Ask): Ask => ({ ...ask, headers: [bearer(estate.mine.key), ...(ask.headers ?? [])] })

test('a line says who asked for what from where, how it was answered and how long that took', async () => {
  const by = (await estate.running.registry.authenticate(estate.mine.key)).by
  assert.deepEqual(await lineOf(asMine({ path: `${TOKEN}?search=secret` })), {
    level: 30,
    method: 'GET',
    route: TOKEN,
    status: 200,
    by,
    address: '127.0.0.1',
    msg: 'request',
  })
})

test("a line names the caller's trace, and nothing that is no trace", async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const traceOf = async (traceparent: string) =>
    (await lineOf(asMine({ path: TOKEN, headers: [['traceparent', traceparent]] }))).traceId
  assert.equal(await traceOf(`00-${traceId}-b7ad6b7169203331-01`), traceId)
  assert.equal(await traceOf('anything else'), undefined)
})

test('a verification is logged with the id of the token, also where it is refused', async () => {
  for (const [status, code] of [['active', 204] as const, ['inactive', 401] as const]) {
    const { id, credential } = await estate.token({ status })
    const line = await lineOf({ path: '/api/v1/verify', headers: [bearer(credential)] })
    assert.deepEqual([line.status, line.tokenId], [code, id])
  }
  const line = await lineOf({ path: '/api/v1/verify', headers: [bearer('lk_tok_unknown')] })
  assert.equal('tokenId' in line, false)
})

test('a refused verification is logged with its reason, for the operator also that a row was altered or a limit reached', async (t) => {
  const limited = { LATCHKEY_RATE_LIMIT_FAILED: '2/h' }
  const strict = await Estate.open(sqliteEngine, limited)
  t.after(() => strict.close())
  const reasonOf = async (credential: string | undefined, query = '', on = estate) => {
    const headers = credential === undefined ? [] : [bearer(credential)]
    return (await lineOf({ path: `/api/v1/verify${query}`, headers }, on)).reason
  }
  const made = async (fields: object) => (await estate.token(fields)).credential
  const [, suspended] = estate.mine.subAccounts
  const inSuspended = await made({ subAccountId: suspended.id })
  const body = { status: 'suspended' }
  await estate.mineAsks({ method: 'PATCH', path: `/api/v1/apiClient/sub-account/${suspended.id}`, body })
  const rows: readonly (readonly [string | undefined, string | undefined, string?])[] = [
    [undefined, await made({})],
    ['missing', undefined],
    ['unknown', 'lk_tok_unknown'],
    ['inactive', await made({ status: 'inactive' })],
    ['expired', await made({ expiresAt: 1 })],
    ['suspended', inSuspended],
    ['address', await made({ policy: { addresses: ['203.0.113.7'] } })],
    ['scope', await made({ policy: { scopes: ['a'] } }), '?scope=b'],
  ]
  for (const [reason, credential, query] of rows) assert.equal(await reasonOf(credential, query), reason)
  const once = await made({ policy: { rate: { limit: 1, seconds: 86_400 } } })
  assert.deepEqual([await reasonOf(once), await reasonOf(once)], [undefined, 'rate'])
  const never = await made({ policy: { quota: { limit: 1, per: 'ever' } } })
  assert.deepEqual([await reasonOf(never), await reasonOf(never)], [undefined, 'quota'])
  const guesses = [1, 2, 3].map((n) => () => reasonOf(`lk_tok_guess${n}`, '', strict))
  const heard = []
  for (const guess of guesses) heard.push(await guess())
  assert.deepEqual(heard, ['unknown', 'unknown', 'failed-limit'])
  const introspect = { method: 'POST', path: '/oauth2/introspect', headers: [['content-type', FORM]] as const }
  const dead = await made({ status: 'inactive' })
  assert.equal((await lineOf(asMine({ ...introspect, body: `token=${dead}` }))).reason, 'inactive')
  assert.deepEqual(await estate.whereSecretsLie(), [])
})

test('a change is logged with the id of the token', async () => {
  const body = { subAccountId: estate.mine.subAccounts[0].id, name: 'logged' }
  const made = await lineOf(asMine({ method: 'POST', path: TOKEN, body }))
  assert.match(made.tokenId, /^tok_/)
  const path = `${TOKEN}/${made.tokenId}`
  const changes: readonly Ask[] = [
    { method: 'PUT', path, body: { status: 'inactive' } },
    { method: 'POST', path: `${path}/rotate` },
    { method: 'DELETE', path },
  ]
  for (const change of changes)
    assert.equal((await lineOf(asMine(change))).tokenId, made.tokenId, String(change.method))
})

test('an id that names no token is not logged: a caller can write anything there', async () => {
  const line = await lineOf(asMine({ method: 'DELETE', path: `${TOKEN}/anything` }))
  assert.deepEqual([line.status, 'tokenId' in line], [404, false])
})
