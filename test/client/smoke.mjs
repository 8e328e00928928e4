// What a program does with the installed package, in any runtime with fetch: run as `smoke.mjs URL KEY`, and prints "ok".
import { createClient, LatchkeyError, NotFoundError, UnavailableError } from 'latchkey-client'
import { latchkey as forExpress } from 'latchkey-client/express'
import { latchkey as forFastify } from 'latchkey-client/fastify'
import { latchkey } from 'latchkey-client/fetch'

const args = globalThis.process?.argv.slice(2) ?? globalThis.Deno.args
const [baseUrl, accountKey] = args
const attempts = []
const client = createClient({ baseUrl, accountKey, retries: 0, onAttempt: (attempt) => attempts.push(attempt) })

function require(truth, what) {
  if (!truth) throw new Error(`not so: ${what}`)
}

const body = { name: 'Berlin', email: 'ops@berlin.example', companyName: 'Berlin' }
const { _id: subAccountId } = await client.createSubAccount({ body })
const policy = { scopes: ['orders:read'] }
const { _id: id, token } = await client.createToken({ body: { subAccountId, name: 'smoke', policy } })
const names = []
for await (const { name } of client.listTokens({ subAccountId, limit: 1 })) names.push(name)
require(names.join() === 'smoke', 'a list is walked through')

const verdict = await client.verify(token, { scope: ['items:read', 'orders:read'] })
require(verdict.accepted &&
  verdict.tokenId === id &&
  verdict.scopes.join() === 'orders:read', 'one of two scopes is enough')
require((await client.verify(token, { scope: 'items:read' })).reason === 'scope', 'a missing scope is refused')
await client.verify(token, { scope: [] }).then(
  () => require(false, 'an empty scope is refused'),
  (error) => require(error.code === 'invalid-request', 'an empty scope is a mistake'),
)

const check = latchkey({ verify: client, scope: 'orders:read' })
const request = new Request('http://localhost/orders', { headers: { authorization: `Bearer ${token}` } })
require((await check(request)) === undefined && request.latchkey.tokenId === id, 'a request passes')
require((await check(new Request('http://localhost/orders'))).status === 401, 'a request without a credential does not')
require(typeof forExpress({ verify: client }) === 'function', 'express')
require(typeof forFastify({ verify: client }) === 'function', 'fastify')

// Of Node.js only.
if (globalThis.Deno === undefined && globalThis.Bun === undefined) {
  const { createVerifier } = await import('latchkey-client/verifier')
  const verifier = await createVerifier({ baseUrl, key: accountKey })
  const sources = []
  for (const _ of [1, 2]) sources.push((await verifier.verify(token)).source)
  require(sources.join() === 'service,memory', 'a verifier remembers')
  // Reports what it has verified.
  await verifier.close()
}

const missing = await client.getToken({ id: 'tok_none' }).catch((error) => error)
require(missing instanceof NotFoundError && missing instanceof LatchkeyError, 'errors can be told apart')
require(missing.code === 'token-not-found' &&
  missing.status === 404 &&
  missing.requestId !== undefined, 'errors say more')
const gone = await createClient({ baseUrl: 'http://127.0.0.1:9', retries: 0 })
  .verify(token)
  .catch((error) => error)
require(gone instanceof UnavailableError && gone.code === 'unreachable', 'no answer is no verdict')

await client.updateToken({ id, body: { status: 'inactive' } })
require((await client.verify(token)).reason === 'inactive', 'off is off')
require(attempts.length > 8 && attempts.every(({ status }) => status > 0), 'attempts are reported')
require(!JSON.stringify(attempts).includes(token), 'attempts have no credential')
console.log('ok')
