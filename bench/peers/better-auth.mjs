// better-auth's API-key plugin on the same embedded engine, with the same durability and its limits on use switched off.
// Its verification has no route of its own, so it is called from a bare node:http handler; list and update are its own.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { apiKey } from '@better-auth/api-key'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { toNodeHandler } from 'better-auth/node'
import { bearer, get, withBody } from '../requests.ts'
import { listen, openStore, seedOnce, sha256 } from './store.mjs'

const file = openStore('better-auth')
const auth = betterAuth({
  database: file,
  baseURL: 'http://127.0.0.1',
  secret: sha256('bench'),
  emailAndPassword: { enabled: true },
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  logger: { level: 'error' },
  session: { expiresIn: 365 * 86_400 },
  advanced: { disableCSRFCheck: true, disableOriginCheck: true },
  plugins: [apiKey({ rateLimit: { enabled: false } })],
})

async function makeTables() {
  const { runMigrations } = await getMigrations(auth.options)
  await runMigrations()
}

async function makeAccount(a) {
  const body = { email: `a${a}@x.example`, password: randomUUID(), name: `Account ${a}` }
  const response = await auth.api.signUpEmail({ body, asResponse: true })
  const cookies = response.headers.getSetCookie().map((text) => text.split(';', 1)[0])
  const { user } = await response.json()
  const at = new Date().toISOString()
  const insert = file.prepare(
    `INSERT INTO apikey (id, name, configId, referenceId, "key", start, enabled, rateLimitEnabled, requestCount,
       createdAt, updatedAt)
     VALUES (?, ?, 'default', ?, ?, ?, 1, 0, 0, ?, ?)`,
  )
  const header = `Cookie: ${cookies.join('; ')}`
  const insertToken = (n) => {
    const [keyId, name, key] = [randomUUID(), `Deploy ${n + 1}`, sha256(`${a} ${n}`)]
    insert.run(keyId, name, user.id, sha256(key, 'base64url'), key.slice(0, 6), at, at)
    const update = (change) => withBody('POST', '/api/auth/api-key/update', header, { keyId, ...change })
    return {
      verify: get('/verify', bearer(key)),
      names: [update({ name: `${name} new` }), update({ name })],
      states: [update({ enabled: false }), update({ enabled: true })],
    }
  }
  const list = (page) => get(`/api/auth/api-key/list?limit=10&offset=${10 * page}`, header)
  return { list, insertToken }
}

await seedOnce('better-auth', file, makeTables, makeAccount)
const handle = toNodeHandler(auth)

async function verify(request, response) {
  const key = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
  const { valid } = await auth.api.verifyApiKey({ body: { key } })
  response.writeHead(valid ? 204 : 401).end()
}

listen(
  createServer((request, response) => {
    const answer = request.url === '/verify' ? verify(request, response) : handle(request, response)
    answer.catch(() => response.destroy())
  }),
)
