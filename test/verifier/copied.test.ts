// A verifier whose service goes on with a copy of its store, on the other engine.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createVerifier } from '../../client/verifier/verifier.ts'
import { openCopy } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'
import { startServer } from '../../src/serve/serving.ts'
import { copyStore } from '../../src/tokens/upkeep/copy.ts'
import { bearer, closeConnections, send } from '../support/http.ts'
import { emptyDatabase, sharedServer } from '../support/postgres.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'
import { makeTargetsIn } from '../support/targets.ts'

const folder = temporaryFolder()
after(() => removeFolder(folder))

/** The way to a service that moves. */
class Moving {
  url = ''
  #called = Promise.withResolvers<number>()

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const { url } = this
    const path = new URL(String(input)).pathname
    const response = await fetch(`${url}${path}`, init)
    if (path.endsWith('/lease') && url === this.url) this.#called.resolve(response.status)
    return response
  }

  /** Resolves with the status of the first call for the lease there. */
  to(url: string): Promise<number> {
    this.url = url
    this.#called = Promise.withResolvers()
    return this.#called.promise
  }
}

test('a verifier keeps its lease over a copy to PostgreSQL and back, and confirms changes', async () => {
  const server = await sharedServer()
  const shared = { PORT: '0', LATCHKEY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64') }
  const first = { ...shared, LATCHKEY_DATA_DIR: join(folder, 'first') }
  const places = [server.url(await emptyDatabase(server)), join(folder, 'back')]
  const { accountId, key, tokens } = await makeTargetsIn(first, 1)
  const [{ id, credential }] = tokens as [{ id: string; credential: string }]
  let config = readConfig(first)
  let running = await startServer(config)
  const permissions = { role: 'verifier', reveal: false, subAccounts: null } as const
  const verifies = await running.operator.createKey(accountId, 'verifies', null, permissions)
  const way = new Moving()
  void way.to(running.url)
  const options = { baseUrl: 'http://service', key: verifies.key, leaseSeconds: 60, fetch: way.fetch }
  const verifier = await createVerifier(options)
  try {
    for (const [n, place] of places.entries()) {
      await running.stop()
      const { source, target, close } = await openCopy(config, place)
      await copyStore(source, target, () => () => {})
      await close()
      const isPostgres = place.startsWith('postgres')
      const env = isPostgres ? { DATABASE_URL: place, LATCHKEY_DATA_DIR: folder } : { LATCHKEY_DATA_DIR: place }
      config = readConfig({ ...shared, ...env })
      running = await startServer(config)
      assert.equal(await way.to(running.url), 200)
      while ((await verifier.verify(credential)).source !== 'memory') await setImmediate()
      const status = n === 0 ? 'inactive' : 'active'
      const path = `/api/v1/apiClient/token/${id}`
      const heard = await send(running.url, { method: 'PATCH', path, headers: [bearer(key)], body: { status } })
      assert.equal(heard.headers['x-latchkey-confirmed'], '1/1', heard.text)
      assert.equal((await verifier.verify(credential)).accepted, status === 'active')
    }
  } finally {
    await verifier.close()
    closeConnections()
    await running.stop()
  }
})
