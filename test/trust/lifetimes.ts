// Tokens that are older than their sub-account's policy lets them become: refused, and counted and listed as what they are.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Engine, Estate } from '../support/estate.ts'
import { bearer, closeConnections } from '../support/http.ts'

const API = '/api/v1/apiClient'
const DAY_MS = 86_400_000

export function describeLifetimes(engine: Engine): void {
  describe(`lifetimes, on the ${engine.name} store`, () => {
    test('a token beyond the lifetime of its sub-account is expired everywhere, and comes back with another policy', async () => {
      const estate = await Estate.open(engine)
      const [limited, free] = estate.mine.subAccounts
      const now = Date.now()
      const make = (subAccountId: string, days: number, more = {}) =>
        estate.token({ subAccountId, createdAt: now - days * DAY_MS, ...more })
      const old = await make(limited.id, 40)
      const young = await make(limited.id, 10)
      const oldElsewhere = await make(free.id, 40)
      const expired = await make(free.id, 5, { expiresAt: now - 1 })
      await make(limited.id, 50, { status: 'inactive' })
      const set = (policy: object | null) =>
        estate.mineAsks({ method: 'PATCH', path: `${API}/sub-account/${limited.id}`, body: { policy } })
      const ids = async (status: string) => {
        const { json } = await estate.mineAsks({ path: `${API}/token?effectiveStatus=${status}` })
        return new Set(json.data.items.map(({ _id }: { _id: string }) => _id))
      }
      const verify = async (credential: string) => {
        const { status, headers } = await estate.ask({ path: '/api/v1/verify', headers: [bearer(credential)] })
        return [status, headers['x-latchkey-reason']]
      }
      const counts = async () => (await estate.mineAsks({ path: `${API}/overview` })).json.data.tokens
      assert.equal((await set({ maxLifetimeSeconds: (30 * DAY_MS) / 1000 })).status, 200)
      assert.deepEqual(await ids('expired'), new Set([old.id, expired.id]))
      assert.deepEqual(await ids('active'), new Set([young.id, oldElsewhere.id]))
      assert.deepEqual(await verify(old.credential), [401, 'expired'])
      assert.deepEqual(await verify(young.credential), [204, undefined])
      const { json } = await estate.mineAsks({ path: `${API}/token/${old.id}?include=details` })
      const { effectiveStatus, blockedBy } = json.data.details
      assert.deepEqual([effectiveStatus, blockedBy], ['expired', 'sub-account'])
      assert.equal((await counts()).expired, 2)
      const suspend = { method: 'PATCH', path: `${API}/sub-account/${limited.id}`, body: { status: 'suspended' } }
      await estate.mineAsks(suspend)
      assert.deepEqual(await ids('suspended'), new Set([young.id]))
      assert.equal((await counts()).suspended, 1)
      await estate.mineAsks({ ...suspend, body: { status: 'active' } })
      await set({ maxLifetimeSeconds: null })
      assert.deepEqual(await verify(old.credential), [204, undefined])
      assert.deepEqual(await ids('expired'), new Set([expired.id]))
      closeConnections()
      await estate.close()
    })
  })
}
