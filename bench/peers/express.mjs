// A service of the usual shape: Express, a query builder, COUNT and OFFSET. It implements the documented list and PUT on
// the same embedded engine, with the same durability. It stores credentials as they are, logs nothing, keeps no history.
import { createHash, randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import express from 'express'
import { Kysely, SqliteDialect } from 'kysely'

const [folder, accounts, subAccounts, tokens] = process.argv.slice(2)
const sha256 = (text) => createHash('sha256').update(text).digest('hex')
const SAMPLED = 10_000

const file = new DatabaseSync(`${folder}/express.db`)
file.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
if (file.prepare('PRAGMA user_version').get().user_version === 0) seed()

function seed() {
  file.exec(`
    CREATE TABLE accounts (id TEXT PRIMARY KEY, key_hash TEXT NOT NULL UNIQUE);
    CREATE TABLE sub_accounts (id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id),
      name TEXT NOT NULL, email TEXT NOT NULL, company_name TEXT NOT NULL);
    CREATE TABLE tokens (id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id),
      sub_account_id TEXT NOT NULL REFERENCES sub_accounts (id), name TEXT NOT NULL, token TEXT NOT NULL UNIQUE,
      status TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE (sub_account_id, name));
    CREATE INDEX tokens_by_account ON tokens (account_id, created_at);
    CREATE INDEX tokens_by_sub_account ON tokens (sub_account_id, created_at);
    BEGIN`)
  const insertAccount = file.prepare('INSERT INTO accounts VALUES (?, ?)')
  const insertSubAccount = file.prepare('INSERT INTO sub_accounts VALUES (?, ?, ?, ?, ?)')
  const insertToken = file.prepare('INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?)')
  const sample = []
  for (let a = 0; a < Number(accounts); a++) {
    const [id, key] = [randomUUID(), `key_${sha256(`key ${a}`)}`]
    insertAccount.run(id, sha256(key))
    const subs = Array.from({ length: Number(subAccounts) }, (_, s) => {
      const sub = randomUUID()
      insertSubAccount.run(
        sub,
        id,
        `Sub-account ${s + 1}`,
        `ops@tenant-${a}-${s + 1}.example`,
        `Tenant ${a}-${s + 1} Ltd`,
      )
      return sub
    })
    const items = []
    for (let n = 0; n < Number(tokens); n++) {
      const token = randomUUID()
      const created = new Date(1_700_000_000_000 + 1000 * n).toISOString()
      const status = n % 10 === 3 ? 'inactive' : 'active'
      insertToken.run(
        token,
        id,
        subs[n % subs.length],
        `Deploy staging ${n + 1}`,
        `tok_${sha256(`${a} ${n}`)}`,
        status,
        created,
      )
      if (n < SAMPLED) items.push({ id: token, name: `Deploy staging ${n + 1}`, status })
    }
    sample.push({ key, items })
  }
  file.exec('PRAGMA user_version = 1; COMMIT; ANALYZE')
  writeFileSync(`${folder}/express.json`, JSON.stringify(sample))
}

/** What the query builder's dialect asks of a driver. */
const driver = {
  close: () => file.close(),
  prepare(sql) {
    const statement = prepared(sql)
    return {
      reader: statement.columns().length > 0,
      all: (values) => statement.all(...values),
      run: (values) => statement.run(...values),
      iterate: (values) => statement.iterate(...values),
    }
  },
}
const statements = new Map()
function prepared(sql) {
  let statement = statements.get(sql)
  if (statement === undefined) {
    statement = file.prepare(sql)
    statements.set(sql, statement)
  }
  return statement
}
const db = new Kysely({ dialect: new SqliteDialect({ database: driver }) })

const success = (message, data, show) => ({
  app_type: 'api',
  app_version: '1.0.0',
  maintainence: 0,
  new_version: 0,
  force_update: 0,
  invalid_token: 0,
  refresh_token: '',
  show_message: show,
  is_enc: false,
  status: true,
  message,
  message_type: 'success',
  data,
  error: {},
})
const failure = (message, reason) => ({
  status: false,
  message,
  message_type: 'error',
  data: {},
  error: { message: reason },
})

const COLUMNS = [
  ...['tokens.id', 'tokens.name', 'tokens.token', 'tokens.status', 'tokens.created_at', 'sub_accounts.id as s_id'],
  ...['sub_accounts.name as s_name', 'sub_accounts.email as s_email', 'sub_accounts.company_name as s_company_name'],
]
const joined = () => db.selectFrom('tokens').innerJoin('sub_accounts', 'sub_accounts.id', 'tokens.sub_account_id')
const toWire = (row) => ({
  _id: row.id,
  name: row.name,
  token: row.token,
  status: row.status,
  createdAt: row.created_at,
  subAccount: { _id: row.s_id, name: row.s_name, email: row.s_email, companyName: row.s_company_name },
})

async function authenticate(request, response, next) {
  const key = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  const account =
    key && (await db.selectFrom('accounts').select('id').where('key_hash', '=', sha256(key)).executeTakeFirst())
  if (!account) return response.status(401).json({ code: 401, message: 'Invalid token', stack: '' })
  request.accountId = account.id
  next()
}

async function listTokens(request, response) {
  const { subAccountId, status, search } = request.query
  const [page, limit] = [Number(request.query.page ?? 1), Number(request.query.limit ?? 10)]
  if (!Number.isInteger(page) || page < 1 || !Number.isInteger(limit) || limit < 1 || limit > 100) {
    return response.status(400).json(failure('Validation error', 'page and limit must be whole numbers'))
  }
  const matching = (query) => {
    let matches = query.where('tokens.account_id', '=', request.accountId)
    if (subAccountId) matches = matches.where('tokens.sub_account_id', '=', subAccountId)
    if (status) matches = matches.where('tokens.status', '=', status)
    if (search) matches = matches.where('tokens.name', 'like', `%${search}%`)
    return matches
  }
  const { total } = await matching(db.selectFrom('tokens'))
    .select((each) => each.fn.countAll().as('total'))
    .executeTakeFirstOrThrow()
  const items = await matching(joined())
    .select(COLUMNS)
    .orderBy('tokens.created_at', 'desc')
    .limit(limit)
    .offset((page - 1) * limit)
    .execute()
  const totalPages = Math.ceil(total / limit)
  const data = {
    items: items.map(toWire),
    total,
    page,
    limit,
    totalPages,
    hasNextPage: page < totalPages,
    hasPrevPage: page > 1,
  }
  response.json(success(`Found ${total} API token(s)`, data, 0))
}

async function updateToken(request, response) {
  const { name, status } = request.body ?? {}
  const change = { ...(typeof name === 'string' && name !== '' && { name }), ...(status && { status }) }
  if (Object.keys(change).length === 0) {
    return response.status(400).json(failure('Validation error', 'No valid fields to update'))
  }
  const one = () =>
    joined()
      .select([...COLUMNS, 'tokens.sub_account_id'])
      .where('tokens.id', '=', request.params.id)
      .where('tokens.account_id', '=', request.accountId)
      .executeTakeFirst()
  const found = await one()
  if (!found) return response.status(404).json(failure('Not found', 'API token not found'))
  if (change.name !== undefined && change.name !== found.name) {
    const same = await db
      .selectFrom('tokens')
      .select('id')
      .where('sub_account_id', '=', found.sub_account_id)
      .where('name', '=', change.name)
      .executeTakeFirst()
    if (same) return response.status(400).json(failure('Validation error', 'Token name already exists'))
  }
  await db.updateTable('tokens').set(change).where('id', '=', found.id).execute()
  response.json(success('API token updated successfully', toWire(await one()), 1))
}

const app = express()
app.disable('x-powered-by')
const router = express.Router()
router.get('/token', listTokens)
router.put('/token/:id', express.json(), updateToken)
app.use('/api/v1/apiClient', authenticate, router)
const server = app.listen(0, '127.0.0.1', () => console.log(`ready at http://127.0.0.1:${server.address().port}`))
process.once('SIGTERM', () => process.exit(0))
