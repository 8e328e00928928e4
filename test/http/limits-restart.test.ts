// What is left of rates and quotas outlives the process that counts, and a restart loses nothing of it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { startServer } from '../../src/serve/serving.ts'
import { type Engine, sqliteEngine } from '../support/estate.ts'
import { bearer, closeConnections, send } from '../support/http.ts'
import { postgresEngine } from '../support/postgres.ts'

const POLICY = { rate: { limit: 2_000, seconds: 86_400 }, quota: { limit: 5_000, per: 'ever' } }

async function survivesRestarts(engine: Engine): Promise<void> {
  const { env, dispose } = await engine.prepare()
  const config = readConfig({ PORT: '0', LOG_LEVEL: 'fatal', ...env })
  let server = await startServer(config)
  try {
    const { operator, registry } = server
    const { id: accountId } = await operator.createAccount('Restarted')
    const { key } = await operator.createKey(accountId, 'works', null)
    const owner = { name: 'S', email: 's@x.example', companyName: 'S' }
    const [subAccount] = await operator.createSubAccounts(accountId, [owner])
    const fields = { accountId, subAccountId: subAccount?.id ?? '', name: 'T', policy: POLICY }
    const [{ id } = { id: '' }] = await operator.createTokens([fields])
    const { credential } = await registry.getToken(operator.actFor(accountId), id)
    for (let used = 20; used <= 60; used += 20) {
      const verify = () => send(server.url, { path: '/api/v1/verify', headers: [bearer(credential)] })
      for (let n = 0; n < 20; n++) assert.equal((await verify()).status, 204)
      closeConnections()
      await server.stop()
      server = await startServer(config)
      const asked = { path: `/api/v1/apiClient/token/${id}/explain`, headers: [bearer(key)] }
      const { rate, quota } = (await send(server.url, asked)).json.data.effective
      assert.deepEqual([rate.left, quota.left], [2_000 - used, 5_000 - used])
    }
  } finally {
    closeConnections()
    await server.stop()
    await dispose()
  }
}

for (const engine of [sqliteEngine, postgresEngine]) {
  test(`a restart gives nothing back that was used and takes nothing else (${engine.name})`, () =>
    survivesRestarts(engine))
}
