// No answer is stale: what any process has changed is in the next answer.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { type Latchkey, openLatchkey } from '../../src/compose.ts'
import { readTokenQuery } from '../../src/tokens/model/page.ts'
import type { Token } from '../../src/tokens/model/token.ts'
import { Estate, sqliteEngine } from '../support/estate.ts'
import { bearer, closeConnections } from '../support/http.ts'

const NOW = Date.UTC(2030, 0, 1)

const TOKEN = '/api/v1/apiClient/token'
let estate: Estate
/** Opens the same store with connections of its own, as another process does. */
let other: Latchkey
before(async () => {
  estate = await Estate.open(sqliteEngine)
  other = await openLatchkey(estate.config)
})
after(async () => {
  closeConnections()
  await other.store.close()
  await estate.close()
})

const paths = () => [
  TOKEN,
  `${TOKEN}?status=active&limit=100`,
  `${TOKEN}?search=watched`,
  `${TOKEN}?subAccountId=${estate.mine.subAccounts[0].id}`,
  `${TOKEN}/sub-account/${estate.mine.subAccounts[0].id}`,
]
const listAll = async () => {
  const heard = []
  for (const path of paths()) heard.push((await estate.mineAsks({ path })).text)
  return heard
}

type Change = (by: Latchkey, token: Token) => Promise<unknown>
const caller = () => other.operator.actFor(estate.mine.accountId)
const changes: Readonly<Record<string, Change>> = {
  'a rename': ({ registry, operator }, { id }) =>
    registry.updateToken(caller(), id, { name: `watched ${estate.freshName()}` }, operator.origin()),
  'a change of status': ({ registry, operator }, { id }) =>
    registry.updateToken(caller(), id, { status: 'inactive' }, operator.origin()),
  'a rotation': ({ registry, operator }, { id }) => registry.rotateToken(caller(), id, 0, operator.origin()),
  'a deletion': ({ registry, operator }, { id }) => registry.deleteToken(caller(), id, operator.origin()),
  'a creation': ({ operator }) =>
    operator.createTokens([
      {
        accountId: estate.mine.accountId,
        subAccountId: estate.mine.subAccounts[0].id,
        name: `watched ${estate.freshName()}`,
      },
    ]),
  'another name of the sub-account': ({ registry, operator }) =>
    registry.updateSubAccount(caller(), estate.mine.subAccounts[0].id, { name: estate.freshName() }, operator.origin()),
}

for (const [who, by] of [
  ['this process', () => estate.running],
  ['another process', () => other],
] as const) {
  describe(`changed by ${who}`, () => {
    for (const [what, change] of Object.entries(changes)) {
      test(`${what} is in the next list, every time`, async () => {
        for (let round = 0; round < 5; round++) {
          const token = await estate.token({ name: `watched ${estate.freshName()}` })
          const before = await listAll()
          assert.deepEqual(await listAll(), before)
          await change(by(), token)
          const changed = await listAll()
          for (const [index, text] of changed.entries()) assert.notEqual(text, before[index], paths()[index] ?? '')
        }
      })
    }

    test('a verdict follows each flip, and an account key its revocation', async () => {
      const { registry, operator } = by()
      const token = await estate.token()
      const verify = async () =>
        (await estate.ask({ path: '/api/v1/verify', headers: [bearer(token.credential)] })).status
      for (let round = 0; round < 20; round++) {
        assert.equal(await verify(), 204)
        await registry.updateToken(caller(), token.id, { status: 'inactive' }, operator.origin())
        assert.equal(await verify(), 401)
        await registry.updateToken(caller(), token.id, { status: 'active' }, operator.origin())
      }
      const { id, key } = await operator.createKey(estate.mine.accountId, 'short-lived', null)
      const list = async () => (await estate.ask({ path: TOKEN, headers: [bearer(key)] })).status
      assert.deepEqual([await list(), await list()], [200, 200])
      await operator.revokeKey(id)
      assert.equal(await list(), 401)
    })
  })
}

test('a row of the history that makes no sense, written by hand, leads neither to a stale answer nor to none', async () => {
  const token = await estate.token({ name: 'before' })
  const path = `${TOKEN}/${token.id}`
  const nameOf = async () => ((await estate.mineAsks({ path })).json as { data: Shown }).data.name
  assert.deepEqual([await nameOf(), await nameOf()], ['before', 'before'])
  const db = new DatabaseSync(join(estate.config.dataDir, 'latchkey.db'))
  db.exec('BEGIN')
  db.prepare('UPDATE tokens SET name = ? WHERE id = ?').run('by hand', token.id)
  db.exec(`INSERT INTO history (account_id, seq, at, by, action, subject, token_id, from_facts, to_facts, stamp)
    SELECT account_id, seq + 1000000, at, by, action, subject, token_id, from_facts, 'nonsense', stamp
    FROM history ORDER BY no DESC LIMIT 1`)
  db.exec('COMMIT')
  assert.equal(await nameOf(), 'by hand')
  assert.equal(await nameOf(), 'by hand')
  db.exec('DELETE FROM history WHERE seq > 1000000')
  db.close()
})

interface Shown {
  readonly _id: string
  readonly name: string
  readonly status: string
}

test('after any change, also of tokens that a page does not show, every page is what a process without a cache answers', async () => {
  const subAccountId = estate.mine.subAccounts[1].id
  const tokens: Token[] = []
  for (let n = 0; n < 12; n++) tokens.push(await estate.token({ subAccountId, name: `kept ${estate.freshName()}` }))
  const filters = ['', '&status=active', '&status=inactive', '&search=kept', '&search=kept&status=active']
  const asked = filters.flatMap((filter) =>
    [1, 2, 3].map((page) => `${TOKEN}?subAccountId=${subAccountId}&limit=3&page=${page}${filter}`),
  )
  const { registry, operator } = other
  const made = [
    (id: string) => registry.updateToken(caller(), id, { status: 'inactive' }, operator.origin()),
    (id: string) => registry.updateToken(caller(), id, { name: estate.freshName() }, operator.origin()),
    (id: string) => registry.deleteToken(caller(), id, operator.origin()),
  ]
  for (const [round, { id }] of tokens.toSorted((a, b) => (a.credential < b.credential ? -1 : 1)).entries()) {
    await made[round % made.length]?.(id)
    const uncached = await openLatchkey(estate.config)
    for (const path of asked) {
      const { data } = (await estate.mineAsks({ path })).json as { data: { items: Shown[]; total: number } }
      const query = Object.fromEntries(new URL(path, 'http://x').searchParams)
      const expected = await uncached.registry.listTokens(caller(), readTokenQuery(query, NOW))
      assert.deepEqual(
        [data.total, ...data.items.map(({ _id, name, status }) => [_id, name, status])],
        [expected.total, ...expected.items.map(({ id, name, status }) => [id, name, status])],
        `${path} in round ${round}`,
      )
    }
    await uncached.store.close()
  }
})

test('one account’s answers are never another’s', async () => {
  const mine = await estate.mineAsks({ path: TOKEN })
  const theirs = await estate.ask({ path: TOKEN, headers: [bearer(estate.theirs.key)] })
  assert.notEqual(mine.text, theirs.text)
  assert.ok(!theirs.text.includes(estate.mine.subAccounts[0].id))
})

test('a use of a token is in the next answer that shows or filters by the last use', async () => {
  const token = await estate.token({ name: 'just used' })
  const asks = [`${TOKEN}?search=just%20used&include=details`, `${TOKEN}?search=just%20used&used=never`]
  const listed = async () => {
    const heard = []
    for (const path of asks) heard.push((await estate.mineAsks({ path })).text)
    return heard
  }
  const before = await listed()
  // Twice, since a cache may keep only what was asked for more than once.
  assert.deepEqual(await listed(), before)
  await estate.ask({ path: '/api/v1/verify', headers: [bearer(token.credential)] })
  await estate.running.registry.verification.uses.flush()
  for (const [index, text] of (await listed()).entries()) assert.notEqual(text, before[index], asks[index] ?? '')
})
