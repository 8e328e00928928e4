// PATCH: everything about a token that the service document does not name, as a JSON merge patch.
import assert from 'node:assert/strict'
import type { Estate } from '../support/estate.ts'
import { type Ask, bearer, type Heard } from '../support/http.ts'
import { invalidFields, type Scenario } from './scenario.ts'

const TOKEN = '/api/v1/apiClient/token'
const JSON_TYPE = ['content-type', 'application/json'] as const

type Header = readonly [string, string]

/** Text is sent as it is. */
function patch(estate: Estate, id: string, body: object | string, ...headers: readonly Header[]): Ask {
  const hasType = headers.some(([name]) => name === 'content-type')
  return {
    method: 'PATCH',
    path: `${TOKEN}/${id}`,
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: [bearer(estate.mine.key), ...(hasType ? [] : [JSON_TYPE]), ...headers],
  }
}

const metadataOf = (heard: Heard) => heard.json.data.details.metadata

/** A body that is refused, and changes nothing. */
function refused(name: string, body: object | string, reason: RegExp): Scenario {
  let id = ''
  return {
    name: `a patch with ${name} is refused, and nothing changes`,
    async ask(estate) {
      id = (await estate.token({ metadata: { kept: 1 } })).id
      return patch(estate, id, body)
    },
    status: 400,
    async body(heard, estate) {
      invalidFields(reason)(heard)
      const { data } = (await estate.mineAsks({ path: `${TOKEN}/${id}?include=details` })).json
      assert.deepEqual([data.details.version, data.details.metadata], [1, { kept: 1 }])
    },
  }
}

const TOO_LONG = /^metadata .*4096 bytes/
const deep = (levels: number): object => (levels === 0 ? {} : { a: deep(levels - 1) })

let patched = { id: '', body: {} }

export const patchScenarios: readonly Scenario[] = [
  {
    name: 'a patch changes any of the fields and answers with details; history has one row with what was changed',
    async ask(estate) {
      const { id } = await estate.token()
      const body = { name: 'Patched', status: 'inactive', expiresAt: '2100-01-01T00:00:00Z', metadata: { team: 'a' } }
      patched = { id, body }
      return patch(estate, id, body, ['content-type', 'application/merge-patch+json'])
    },
    status: 200,
    async body(heard, estate) {
      const { id, body } = patched
      const { items } = (await estate.mineAsks({ path: `${TOKEN}/${id}/history` })).json.data
      assert.deepEqual(
        items.map((item: { action: string }) => item.action),
        ['token.update', 'token.create'],
      )
      assert.deepEqual(items[0].to, { ...body, expiresAt: '2100-01-01T00:00:00.000Z' })
      assert.deepEqual(items[0].from, { name: items[1].to.name, status: 'active', expiresAt: null, metadata: null })
      const { name, status, details } = heard.json.data
      assert.deepEqual([name, status, details.expiresAt], ['Patched', 'inactive', '2100-01-01T00:00:00.000Z'])
      assert.deepEqual([details.metadata, details.version], [{ team: 'a' }, 2])
      assert.equal(heard.headers.etag, '"2"')
    },
  },
  {
    name: 'metadata is merged: members are replaced, nested ones too, and null removes them',
    async ask(estate) {
      const { id } = await estate.token({ metadata: { a: 1, b: { c: 2, d: [3] }, e: 'x' } })
      return patch(estate, id, { metadata: { a: null, b: { c: 9 }, __proto__x: 1 } })
    },
    status: 200,
    body: (heard) => assert.deepEqual(metadataOf(heard), { b: { c: 9, d: [3] }, e: 'x', __proto__x: 1 }),
  },
  {
    name: 'a member called __proto__ is a member like any other',
    async ask(estate) {
      const { id } = await estate.token()
      return patch(estate, id, '{"metadata":{"__proto__":{"a":1}}}')
    },
    status: 200,
    body(heard) {
      assert.equal(JSON.stringify(metadataOf(heard)), '{"__proto__":{"a":1}}')
      assert.equal(({} as { a?: number }).a, undefined)
    },
  },
  {
    name: 'null removes all metadata, and an expiry',
    async ask(estate) {
      const { id } = await estate.token({ metadata: { a: 1 }, expiresAt: 9e12 })
      return patch(estate, id, { metadata: null, expiresAt: null })
    },
    status: 200,
    body: (heard) => assert.deepEqual([metadataOf(heard), heard.json.data.details.expiresAt], [null, null]),
  },
  {
    name: 'a patch that changes nothing counts as no change',
    async ask(estate) {
      const { id } = await estate.token({ metadata: { a: 1 } })
      return patch(estate, id, { metadata: { a: 1 } })
    },
    status: 200,
    body: (heard) => assert.equal(heard.json.data.details.version, 1),
  },
  {
    name: 'an expiry that has come refuses the token at once, and a later one accepts it again',
    async ask(estate) {
      const { id, credential } = await estate.token()
      const verify = async () => (await estate.ask({ path: '/api/v1/verify', headers: [bearer(credential)] })).status
      await estate.ask(patch(estate, id, { expiresAt: '2000-01-01T00:00:00Z' }))
      assert.equal(await verify(), 401)
      await estate.ask(patch(estate, id, { expiresAt: null }))
      return { path: '/api/v1/verify', headers: [bearer(credential)] }
    },
    status: 204,
  },
  {
    name: 'a creation stores metadata, and the same Idempotency-Key with other metadata is a conflict',
    async ask(estate) {
      const creation = (metadata: object): Ask => ({
        method: 'POST',
        path: TOKEN,
        headers: [bearer(estate.mine.key), ['idempotency-key', 'with metadata']],
        body: { subAccountId: estate.mine.subAccounts[0].id, name: 'With metadata', metadata },
      })
      const { _id } = (await estate.ask(creation({ a: 1 }))).json.data
      const stored = await estate.mineAsks({ path: `${TOKEN}/${_id}?include=details` })
      assert.deepEqual(metadataOf(stored), { a: 1 })
      assert.equal((await estate.ask(creation({ a: 1 }))).json.data._id, _id)
      return creation({ a: 2 })
    },
    status: 409,
  },
  {
    name: 'a patch for another version is refused',
    async ask(estate) {
      return patch(estate, (await estate.token()).id, { metadata: { a: 1 } }, ['if-match', '"7"'])
    },
    status: 412,
  },
  {
    name: "another account's token is patched exactly like a missing one",
    async ask(estate) {
      return patch(estate, (await estate.token({}, estate.theirs)).id, { metadata: { a: 1 } })
    },
    status: 404,
  },
  refused('nothing', {}, /^No valid fields to update$/),
  refused('a list for a body', '[]', /body .*object/),
  refused(
    'an unknown field',
    { expires_at: 1 },
    /"expires_at"; allowed: name, status, expiresAt, tags, metadata, policy$/,
  ),
  refused('one good and one bad field', { name: 'Good', status: 'paused' }, /^status .*active or inactive/),
  refused('null for a name', { name: null }, /^name .*string/),
  refused('a time without a zone', { expiresAt: '2100-01-01T00:00:00' }, /^expiresAt .*2030-01-31T12:00:00Z$/),
  refused('a list for metadata', { metadata: [1] }, /^metadata .*object/),
  // What the patch makes of the metadata that is there.
  { ...refused('too much metadata', { metadata: { a: 'x'.repeat(4_096) } }, TOO_LONG), asksEngine: true },
  { ...refused('too much metadata in bytes', { metadata: { a: 'ü'.repeat(2_100) } }, TOO_LONG), asksEngine: true },
  refused('far too much metadata', { metadata: { a: 'x'.repeat(20_000) } }, /^metadata .*too large/),
  refused('metadata that is nested very deeply', { metadata: deep(3_500) }, /^metadata .*too large/),
]
