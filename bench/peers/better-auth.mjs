// better-auth's API-key plugin on the same embedded engine, with the same durability and its limits on use switched off.
// Its verification has no route of its own, so it is called from a bare node:http handler; list and update are its own.
import { createHash, randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { apiKey } from '@better-auth/api-key'
import { betterAuth } from 'better-auth'
import { getMigrations } from 'better-auth/db/migration'
import { toNodeHandler } from 'better-auth/node'

const [folder, accounts, tokens] = process.argv.slice(2)
const SAMPLED = 10_000
const file = new DatabaseSync(`${folder}/better-auth.db`)
file.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
const fresh = file.prepare('PRAGMA user_version').get().user_version === 0

const auth = betterAuth({
  database: file,
  baseURL: 'http://127.0.0.1',
  secret: createHash('sha256').update('bench').digest('hex'),
  emailAndPassword: { enabled: true },
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  logger: { level: 'error' },
  session: { expiresIn: 365 * 86_400 },
  advanced: { disableCSRFCheck: true, disableOriginCheck: true },
  plugins: [apiKey({ rateLimit: { enabled: false } })],
})

if (fresh) {
  const { runMigrations } = await getMigrations(auth.options)
  await runMigrations()
  await seed()
}

async function seed() {
  const columns = file
    .prepare('PRAGMA table_info(apikey)')
    .all()
    .map(({ name }) => name)
  const insert = file.prepare(
    `INSERT INTO apikey (${columns.map((name) => `"${name}"`).join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
  )
  const sample = []
  for (let a = 0; a < Number(accounts); a++) {
    const response = await auth.api.signUpEmail({
      body: { email: `a${a}@x.example`, password: randomUUID(), name: `Account ${a}` },
      asResponse: true,
    })
    const cookie = response.headers
      .getSetCookie()
      .map((text) => text.split(';', 1)[0])
      .join('; ')
    const { user } = await response.json()
    const items = []
    const at = new Date().toISOString()
    file.exec('BEGIN')
    for (let n = 0; n < Number(tokens); n++) {
      const id = randomUUID()
      const key = createHash('sha256').update(`${a} ${n}`).digest('hex')
      const name = `Deploy ${n + 1}`
      const given = {
        id,
        name,
        configId: 'default',
        referenceId: user.id,
        key: createHash('sha256').update(key).digest('base64url'),
        start: key.slice(0, 6),
        enabled: 1,
        rateLimitEnabled: 0,
        requestCount: 0,
        createdAt: at,
        updatedAt: at,
      }
      insert.run(...columns.map((column) => given[column] ?? null))
      if (n < SAMPLED) items.push({ id, key, name })
    }
    file.exec('COMMIT')
    sample.push({ cookie, items })
  }
  file.exec('PRAGMA user_version = 1; ANALYZE')
  writeFileSync(`${folder}/better-auth.json`, JSON.stringify(sample))
}

const handle = toNodeHandler(auth)

async function verify(request, response) {
  const key = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
  const { valid } = await auth.api.verifyApiKey({ body: { key } })
  response.writeHead(valid ? 204 : 401).end()
}

const server = createServer((request, response) => {
  const answer = request.url === '/verify' ? verify(request, response) : handle(request, response)
  answer.catch(() => response.destroy())
})
server.listen(0, '127.0.0.1', () => console.log(`ready at http://127.0.0.1:${server.address().port}`))
process.once('SIGTERM', () => process.exit(0))
