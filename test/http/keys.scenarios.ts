// How long an account key lives that another caller makes.
import assert from 'node:assert/strict'
import type { Estate } from '../support/estate.ts'
import { bearer } from '../support/http.ts'
import { invalid, type Scenario } from './scenario.ts'

const PATH = '/api/v1/apiClient/key'
const [LIMIT, LATER, EARLIER] = ['2040-01-01T00:00:00.000Z', '2040-01-01T00:00:00.001Z', '2039-12-31T23:59:59.999Z']

/** By a key that expires at LIMIT, or never. */
async function asks({ mine, running, secrets }: Estate, isLimited: boolean, fields: object) {
  const { key } = await running.operator.createKey(mine.accountId, 'Maker', isLimited ? Date.parse(LIMIT) : null)
  secrets.add(key)
  const body = { name: 'Made', role: 'viewer', ...fields }
  return { method: 'POST', path: PATH, headers: [bearer(key)], body }
}

const makes = (name: string, isLimited: boolean, fields: object, expiresAt: string | null): Scenario => ({
  name,
  ask: (estate) => asks(estate, isLimited, fields),
  status: 201,
  body: ({ json }, { secrets }) => {
    secrets.add(json.data.key)
    assert.equal(json.data.expiresAt, expiresAt)
  },
})

const refuses = (name: string, expiresAt: string | null): Scenario => ({
  name,
  ask: (estate) => asks(estate, true, { expiresAt }),
  status: 400,
  body: invalid(new RegExp(`^expiresAt .*${LIMIT}`)),
})

export const keyScenarios: readonly Scenario[] = [
  makes('a key that a key with an end makes ends with it', true, {}, LIMIT),
  makes('a key may end with the key that makes it', true, { expiresAt: LIMIT }, LIMIT),
  makes('a key may end before the key that makes it', true, { expiresAt: EARLIER }, EARLIER),
  refuses('a key does not end later than the key that makes it', LATER),
  refuses('a key with an end makes none without one', null),
  makes('a key without an end makes another one without', false, {}, null),
  makes('a key without an end makes one that expires', false, { expiresAt: LATER }, LATER),
]
