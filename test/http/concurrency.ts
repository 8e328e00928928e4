// Many callers at once: what must hold under any interleaving, on any engine.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Engine, openedBefore } from '../support/estate.ts'
import { bearer } from '../support/http.ts'
import { runs } from '../support/runs.ts'

const TOKEN = '/api/v1/apiClient/token'
const CALLERS = 100
const ROUNDS = runs(3, 50)

export function describeConcurrency(engine: Engine): void {
  describe(`many callers at once on the ${engine.name} store`, () => {
    const estate = openedBefore(engine)
    const put = (id: string, body: object, headers: readonly (readonly [string, string])[] = []) =>
      estate.mineAsks({ method: 'PUT', path: `${TOKEN}/${id}`, body, headers })
    /** On a busy machine a change may be refused at its deadline, with nothing done; its caller asks again. */
    const putUntilAnswered: typeof put = async (...args) => {
      const answer = await put(...args)
      return answer.status === 503 ? putUntilAnswered(...args) : answer
    }
    const tokens = async (count: number) => Promise.all(Array.from({ length: count }, () => estate.token()))

    test(`of ${CALLERS} simultaneous renames to one name exactly one succeeds, ${ROUNDS} times`, async () => {
      const all = await tokens(CALLERS)
      for (let round = 0; round < ROUNDS; round++) {
        const answers = await Promise.all(all.map(({ id }) => putUntilAnswered(id, { name: `Wanted ${round}` })))
        const outcomes = answers.map(({ status, json }) => (status === 200 ? 'renamed' : json.error.message))
        assert.equal(outcomes.filter((outcome) => outcome === 'renamed').length, 1)
        assert.equal(
          outcomes.filter((outcome) => outcome === 'Token name already exists for this sub-account').length,
          CALLERS - 1,
        )
      }
    })

    test('simultaneous changes to the name and the status of one token are both kept', async () => {
      for (const token of await tokens(ROUNDS)) {
        await Promise.all([put(token.id, { name: `${token.name} renamed` }), put(token.id, { status: 'inactive' })])
        const { data } = (await estate.mineAsks({ path: `${TOKEN}/${token.id}?include=details` })).json
        assert.deepEqual([data.name, data.status, data.details.version], [`${token.name} renamed`, 'inactive', 3])
      }
    })

    test('of many updates with the same If-Match exactly one succeeds', async () => {
      for (const token of await tokens(10)) {
        const answers = await Promise.all(
          Array.from({ length: 30 }, (_, n) => put(token.id, { name: `${token.name} by ${n}` }, [['if-match', '"1"']])),
        )
        const statuses = answers.map(({ status }) => status)
        assert.deepEqual(
          [statuses.filter((each) => each === 200).length, statuses.filter((each) => each === 412).length],
          [1, 29],
        )
      }
    })

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

    test('a page never contradicts its own total while tokens come and go', async () => {
      const subAccountId = estate.mine.subAccounts[1].id
      let changing = true
      const changer = async () => {
        while (changing) {
          const token = await estate.token({ subAccountId })
          await estate.mineAsks({ method: 'DELETE', path: `${TOKEN}/${token.id}` })
        }
      }
      const changers = Array.from({ length: 3 }, changer)
      for (let n = 0; n < 80; n++) {
        const { data, message } = (await estate.mineAsks({ path: `${TOKEN}?subAccountId=${subAccountId}&limit=100` }))
          .json
        assert.equal(data.items.length, data.total)
        assert.equal(message, `Found ${data.total} API token(s)`)
      }
      changing = false
      await Promise.all(changers)
    })
  })
}
