// Many callers at once: what must hold under any interleaving, on any engine. Changes of one token, names and pages among many
// changes are in the storage contract.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Engine, openedBefore } from '../support/estate.ts'
import { bearer } from '../support/http.ts'

const TOKEN = '/api/v1/apiClient/token'

export function describeConcurrency(engine: Engine): void {
  describe(`many callers at once on the ${engine.name} store`, () => {
    const estate = openedBefore(engine)

    test('of many creations with the same Idempotency-Key all return the one token', async () => {
      const body = { subAccountId: estate.mine.subAccounts[0].id, name: 'Made once' }
      const headers = [['idempotency-key', 'all-at-once']] as const
      const answers = await Promise.all(
        Array.from({ length: 30 }, () => estate.mineAsks({ method: 'POST', path: TOKEN, body, headers })),
      )
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
      assert.equal(new Set(answers.map(({ json }) => json.data._id)).size, 1)
    })

    test('while an overlap runs, no verification of the former or of the new credential fails', async () => {
      const token = await estate.token()
      const live = new Set([token.credential])
      let looks = 0
      let rotating = true
      const looker = async () => {
        while (rotating) {
          for (const credential of [...live]) {
            const heard = await estate.ask({ path: '/api/v1/verify', headers: [bearer(credential)] })
            assert.equal(heard.status, 204, heard.text)
            looks++
          }
        }
      }
      const lookers = Array.from({ length: 4 }, looker)
      for (let n = 0; n < 25 || (looks <= 100 && n < 100); n++) {
        const path = `${TOKEN}/${token.id}/rotate`
        const heard = await estate.mineAsks({ method: 'POST', path, body: { overlapSeconds: 600 } })
        live.add(heard.json.data.token)
      }
      rotating = false
      await Promise.all(lookers)
      assert.ok(looks > 100)
    })
  })
}
