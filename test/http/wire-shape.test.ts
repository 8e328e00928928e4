// What leaves the service about a token is what its schema lists, and nothing else.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import type { Static } from 'typebox'
import { Type } from 'typebox'
import { schemaOf } from '../../src/http/description/responses.ts'
import { successBody } from '../../src/http/protocol/envelope.ts'
import { tokens } from '../../src/operations/tokens/description.ts'
import { tokenToWire } from '../../src/operations/tokens/document.ts'
import * as schemas from '../../src/operations/tokens/schemas.ts'
import type { Page } from '../../src/tokens/model/page.ts'
import type { Token } from '../../src/tokens/model/token.ts'
import { openedBefore, sqliteEngine } from '../support/estate.ts'

const TOKEN = '/api/v1/apiClient/token'
const SECRET = 'must-not-leave'

const estate = openedBefore(sqliteEngine)

/** Puts fields that no schema lists on everything that the registry returns. */
function withUnlistedFields(token: Token): Token {
  const { subAccount, details, ...rest } = token
  return {
    ...rest,
    ...{ sealed: SECRET },
    subAccount: { ...subAccount, ...{ notes: SECRET } },
    ...(details && { details: { ...details, ...{ address: SECRET } } }),
  }
}

test('a field that the schema does not list never leaves the service, on any route that shows a token', async () => {
  const { registry } = estate.running
  const { listTokens, getToken, updateToken, createToken, rotateToken } = registry
  const { id, subAccount } = await estate.token()
  const single = [getToken, updateToken, createToken, rotateToken]
  Object.assign(registry, {
    listTokens: async (...args: Parameters<typeof listTokens>): Promise<Page<Token>> => {
      const page = await listTokens.apply(registry, args)
      return { ...page, ...{ cursor: SECRET }, items: page.items.map(withUnlistedFields) }
    },
    ...Object.fromEntries(
      single.map((method) => [
        method.name,
        async (...args: never[]) =>
          withUnlistedFields(await (method as (...args: never[]) => Promise<Token>).apply(registry, args)),
      ]),
    ),
  })
  const body = { subAccountId: subAccount.id, name: 'another' }
  const asks = [
    { path: TOKEN },
    { path: `${TOKEN}?include=details` },
    { path: `${TOKEN}/sub-account/${subAccount.id}` },
    { path: `${TOKEN}/${id}` },
    { path: `${TOKEN}/${id}?include=details` },
    { method: 'PUT', path: `${TOKEN}/${id}`, body: { status: 'inactive' } },
    { method: 'POST', path: TOKEN, body },
    { method: 'POST', path: `${TOKEN}/${id}/rotate` },
  ]
  for (const ask of asks) {
    const { status, text, json } = await estate.mineAsks(ask)
    const what = `${ask.method ?? 'GET'} ${ask.path}`
    assert.ok(status === 200 || status === 201, `${what}: ${text}`)
    assert.ok(!text.includes(SECRET), what)
    const [shown] = json.data.items ?? [json.data]
    const fields = Object.keys(schemas.Token.properties).filter(
      (name) => name !== 'details' || ask.path.includes('details'),
    )
    assert.deepEqual(Object.keys(shown), fields, what)
  }
})

test('the schema decides what is written: without a field in it, the field is not written', async () => {
  const token = await estate.token()
  const { name: _, ...others } = schemas.Token.properties
  const server = Fastify()
  const { response } = schemaOf({ ...tokens.getToken, data: Type.Object(others, { title: 'Token' }) })
  const app = { appType: 'api', appVersion: '1' }
  server.get('/', { schema: { response } }, () => successBody(app, '', tokenToWire(token), 0))
  const fields = Object.keys((await server.inject('/')).json().data)
  assert.deepEqual(fields, ['_id', 'token', 'status', 'createdAt', 'subAccount'])
})

test('a field that the schema does not list does not compile', () => {
  const subAccount = { _id: 'sub_1', name: 'One', email: 'a@b', companyName: 'C' }
  const wire: Static<typeof schemas.Token> = {
    _id: 'tok_1',
    name: 'CI',
    token: 'lk_tok_1',
    status: 'active',
    createdAt: '2026-01-31T09:30:00.000Z',
    subAccount,
    // @ts-expect-error: `sealed` is not in the schema
    sealed: SECRET,
  }
  assert.ok(wire)
})
