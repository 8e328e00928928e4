// A store that is put back to an earlier state, with verifiers that have begun since: changes wait for those that it does not know, and
// none of them goes on with what this store never had.
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, beforeEach, describe, test } from 'node:test'
import { createVerifier, type Verifier } from '../../client/verifier/verifier.ts'
import { acceptLoss, backUp, type Latchkey, openLatchkey, restore } from '../../src/compose.ts'
import { type Config, readConfig } from '../../src/config.ts'
import { type RunningServer, startServer } from '../../src/serve/serving.ts'
import { ALL_ACCOUNTS } from '../../src/tokens/model/permissions.ts'
import { bearer, closeConnections, send } from '../support/http.ts'
import { postgresEngine } from '../support/postgres.ts'

const VERIFIES = { role: 'verifier', reveal: false, subAccounts: null } as const
const SHORT = { leaseSeconds: 2 }

after(closeConnections)

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

describe('an embedded store that is put back', () => {
  let folder: string
  let config: Config
  let running: RunningServer & Latchkey
  let accountId: string
  let [ownerKey, verifierKey, subAccountId, tokenId] = ['', '', '', '']
  let verifier: Verifier | undefined

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'latchkey-test-'))
    const LATCHKEY_REVOCATION_JOURNAL = join(folder, 'elsewhere', 'revocations.log')
    const port = String(await freePort())
    config = readConfig({ PORT: port, LATCHKEY_DATA_DIR: join(folder, 'data'), LATCHKEY_REVOCATION_JOURNAL })
    running = await startServer(config)
    const { operator } = running
    accountId = (await operator.createAccount('Mine')).id
    ownerKey = (await operator.createKey(accountId, 'owner', null)).key
    verifierKey = (await operator.createKey(accountId, 'verifies', null, VERIFIES)).key
    const subAccount = await ask('POST', 'sub-account', { name: 'S', email: 's@s.example', companyName: 'S' })
    subAccountId = subAccount._id
    tokenId = (await create())._id
  })
  afterEach(async () => {
    await verifier?.close()
    verifier = undefined
    await running.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const asked = (method: string, path: string, body: object, key = ownerKey) =>
    send(running.url, { method, path: `/api/v1/apiClient/${path}`, headers: [bearer(key)], body })
  const ask = async (...args: Parameters<typeof asked>) => (await asked(...args)).json.data
  const create = () => ask('POST', 'token', { subAccountId, name: crypto.randomUUID() })
  const begin = () => ask('POST', 'verifier/lease', SHORT, verifierKey)
  const off = () => asked('PUT', `token/${tokenId}`, { status: 'inactive' })

  const stopped = async (work: () => Promise<void> | void) => {
    await running.stop()
    await work()
    running = await startServer(config)
  }
  const copied = () => stopped(() => cpSync(config.dataDir, join(folder, 'copy'), { recursive: true }))
  const putBack = () =>
    stopped(() => {
      rmSync(config.dataDir, { recursive: true })
      cpSync(join(folder, 'copy'), config.dataDir, { recursive: true })
    })

  test('waits for verifiers that it does not know, by its journal', async () => {
    await copied()
    await begin()
    await putBack()
    const changed = await off()
    assert.deepEqual([changed.status, changed.headers['x-latchkey-confirmed']], [200, '0/1'])
  })

  test('waits for them where `latchkey restore` was interrupted before its end', async () => {
    const backup = join(folder, 'backup')
    await backUp(config, backup, () => {})
    await begin()
    await stopped(() =>
      restore(config, backup, { replace: true, acceptRevocationLoss: false }, () => {}).then(() => {}),
    )
    const changed = await off()
    assert.deepEqual([changed.status, changed.headers['x-latchkey-confirmed']], [200, '0/2'])
  })

  test('waits for all verifiers that may hold a lease where the journal is lost', async () => {
    await copied()
    await begin()
    await running.stop()
    rmSync(join(folder, 'elsewhere'), { recursive: true })
    running = await startServer(config)
    assert.equal((await off()).status, 503)
    await running.stop()
    const accepted = await openLatchkey(config, { acceptRevocationLoss: true })
    await accepted.store.close()
    running = await startServer(config)
    const held = await running.store.listVerifiers({ accountIds: [ALL_ACCOUNTS] })
    assert.deepEqual(
      held.map(({ state, termMs }) => [state, termMs]),
      [['held', 60_000]],
    )
  })

  test('no verifier accepts a token from memory that the store does not have', async () => {
    await copied()
    verifier = await createVerifier({ baseUrl: running.url, key: verifierKey, ...SHORT })
    const { token: credential } = await create()
    while (!(await verifier.verify(credential)).accepted);
    assert.equal((await verifier.verify(credential)).source, 'memory')
    await putBack()
    // It has its lease on for as long as it was promised, and then it asks.
    let verdict = await verifier.verify(credential)
    while (verdict.accepted || verdict.reason === 'unavailable') {
      await new Promise((resolve) => setTimeout(resolve, 20))
      verdict = await verifier.verify(credential)
    }
    assert.equal(verdict.source, 'service')
    while (verifier.state.lease !== 'held') await new Promise((resolve) => setTimeout(resolve, 20))
    assert.equal((await verifier.verify(credential)).accepted, false)
  })
})

test('a PostgreSQL whose loss is accepted waits for all verifiers that may hold a lease', async () => {
  const prepared = await postgresEngine.prepare()
  const config = readConfig({ PORT: '0', ...prepared.env })
  const first = await openLatchkey(config)
  await first.store.close()
  assert.ok(config.databaseUrl)
  await acceptLoss({ ...config, databaseUrl: config.databaseUrl })
  const opened = await openLatchkey(config)
  const held = await opened.store.listVerifiers({ accountIds: [ALL_ACCOUNTS] })
  assert.deepEqual(
    held.map(({ state, termMs }) => [state, termMs]),
    [['held', 60_000]],
  )
  await opened.store.close()
  await prepared.dispose()
})
