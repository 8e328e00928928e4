// A service of the usual shape: Express, a query builder, COUNT and OFFSET. It implements the documented list, without its
// filters, and PUT on the same embedded engine. It stores credentials as they are, logs nothing, keeps no history.
import { randomUUID } from 'node:crypto'
import express from 'express'
import { Kysely, SqliteDialect } from 'kysely'
import { bearer, get, withBody } from '../requests.ts'
import { listen, openStore, seedOnce, sha256, subAccounts } from './store.mjs'

const ROUTE = '/api/v1/apiClient'
const file = openStore('express')

function makeTables() {
  file.exec(`
    CREATE TABLE accounts (id TEXT PRIMARY KEY, key_hash TEXT NOT NULL UNIQUE);
    CREATE TABLE sub_accounts (id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id),
      name TEXT NOT NULL, email TEXT NOT NULL, company_name TEXT NOT NULL);
    CREATE TABLE tokens (id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id),
      sub_account_id TEXT NOT NULL REFERENCES sub_accounts (id), name TEXT NOT NULL, token TEXT NOT NULL UNIQUE,
      status TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE (sub_account_id, name));
    CREATE INDEX tokens_by_account ON tokens (account_id, created_at);
    CREATE INDEX tokens_by_sub_account ON tokens (sub_account_id, created_at)`)
}

function makeAccount(a) {
  const [id, key] = [randomUUID(), `key_${sha256(`key ${a}`)}`]
  file.prepare('INSERT INTO accounts VALUES (?, ?)').run(id, sha256(key))
  const insertSubAccount = file.prepare('INSERT INTO sub_accounts VALUES (?, ?, ?, ?, ?)')
  const subs = Array.from({ length: subAccounts }, (_, s) => {
    const [sub, tenant] = [randomUUID(), `${a}-${s + 1}`]
    insertSubAccount.run(sub, id, `Sub-account ${s + 1}`, `ops@tenant-${tenant}.example`, `Tenant ${tenant} Ltd`)
    return sub
  })
  const insert = file.prepare('INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?)')
  const insertToken = (n) => {
    const [token, name] = [randomUUID(), `Deploy staging ${n + 1}`]
    const created = new Date(1_700_000_000_000 + 1000 * n).toISOString()
    const status = n % 10 === 3 ? 'inactive' : 'active'
    insert.run(token, id, subs[n % subs.length], name, `tok_${sha256(`${a} ${n}`)}`, status, created)
    const put = (change) => withBody('PUT', `${ROUTE}/token/${token}`, bearer(key), change)
    return {
      names: [put({ name: `${name} renamed` }), put({ name })],
      states: [put({ status: 'inactive' }), put({ status: 'active' })],
    }
  }
  const list = (page) => get(`${ROUTE}/token?page=${page + 1}&limit=10`, bearer(key))
  return { list, insertToken }
}

await seedOnce('express', file, makeTables, makeAccount)

/** What the query builder's dialect asks of a driver; each statement is prepared once. */
const statements = new Map()
function prepare(sql) {
  if (!statements.has(sql)) {
    const statement = file.prepare(sql)
    const run = (values) => statement.run(...values)
    const all = (values) => statement.all(...values)
    statements.set(sql, { reader: statement.columns().length > 0, all, run })
  }
  return statements.get(sql)
}
const db = new Kysely({ dialect: new SqliteDialect({ database: { prepare, close: () => file.close() } }) })

const success = (message, data, show) => ({
  ...{ app_type: 'api', app_version: '1.0.0', maintainence: 0, new_version: 0, force_update: 0, invalid_token: 0 },
  ...{ refresh_token: '', show_message: show, is_enc: false, status: true, message, message_type: 'success' },
  ...{ data, error: {} },
})
const fail = (response, status, message) =>
  response.status(status).json({ status: false, message, message_type: 'error', data: {}, error: { message } })

const COLUMNS = [
  ...['tokens.id', 'tokens.name', 'tokens.token', 'tokens.status', 'tokens.created_at', 'sub_accounts.id as s_id'],
  ...['sub_accounts.name as s_name', 'sub_accounts.email as s_email', 'sub_accounts.company_name as s_company_name'],
]
const joined = () => db.selectFrom('tokens').innerJoin('sub_accounts', 'sub_accounts.id', 'tokens.sub_account_id')
const toWire = (row) => ({
  ...{ _id: row.id, name: row.name, token: row.token, status: row.status, createdAt: row.created_at },
  subAccount: { _id: row.s_id, name: row.s_name, email: row.s_email, companyName: row.s_company_name },
})

async function authenticate(request, response, next) {
  const key = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  const account =
    key && (await db.selectFrom('accounts').select('id').where('key_hash', '=', sha256(key)).executeTakeFirst())
  if (!account) return fail(response, 401, 'Invalid token')
  request.accountId = account.id
  next()
}

async function listTokens(request, response) {
  const [page, limit] = [Number(request.query.page ?? 1), Number(request.query.limit ?? 10)]
  if (!Number.isInteger(page) || page < 1 || !Number.isInteger(limit) || limit < 1 || limit > 100) {
    return fail(response, 400, 'page and limit must be whole numbers')
  }
  const own = (query) => query.where('tokens.account_id', '=', request.accountId)
  const { total } = await own(db.selectFrom('tokens'))
    .select((each) => each.fn.countAll().as('total'))
    .executeTakeFirstOrThrow()
  const rows = await own(joined())
    .select(COLUMNS)
    .orderBy('tokens.created_at', 'desc')
    .limit(limit)
    .offset((page - 1) * limit)
    .execute()
  const totalPages = Math.ceil(total / limit)
  const ends = { hasNextPage: page < totalPages, hasPrevPage: page > 1 }
  const data = { items: rows.map(toWire), total, page, limit, totalPages, ...ends }
  response.json(success(`Found ${total} API token(s)`, data, 0))
}

async function updateToken(request, response) {
  const { name, status } = request.body ?? {}
  const change = { ...(typeof name === 'string' && name !== '' && { name }), ...(status && { status }) }
  if (Object.keys(change).length === 0) return fail(response, 400, 'No valid fields to update')
  const one = () =>
    joined()
      .select([...COLUMNS, 'tokens.sub_account_id'])
      .where('tokens.id', '=', request.params.id)
      .where('tokens.account_id', '=', request.accountId)
      .executeTakeFirst()
  const found = await one()
  if (!found) return fail(response, 404, 'API token not found')
  if (change.name !== undefined && change.name !== found.name) {
    const same = await db
      .selectFrom('tokens')
      .select('id')
      .where('sub_account_id', '=', found.sub_account_id)
      .where('name', '=', change.name)
      .executeTakeFirst()
    if (same) return fail(response, 400, 'Token name already exists')
  }
  await db.updateTable('tokens').set(change).where('id', '=', found.id).execute()
  response.json(success('API token updated successfully', toWire(await one()), 1))
}

const app = express()
app.disable('x-powered-by')
const router = express.Router()
router.get('/token', listTokens)
router.put('/token/:id', express.json(), updateToken)
app.use(ROUTE, authenticate, router)
listen(app)
