// What those who wait for changes are told, on a real store that is changed while it is asked.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { FORGOTTEN_AFTER } from '../../src/tokens/history/actions.ts'
import type { Account, TokenRecord } from '../../src/tokens/model/token.ts'
import type { Store } from '../../src/tokens/service/store.ts'
import { covers } from '../../src/tokens/verifiers/lease.ts'
import { Feed } from '../../src/tokens/verifiers/news.ts'
import { openEmptySqlite, type TestSqlite } from '../support/sqlite.ts'
import { Estate, updateToken } from '../support/store.ts'

let opened: TestSqlite
let estate: Estate
let account: Account
let token: TokenRecord
before(async () => {
  opened = await openEmptySqlite()
  estate = new Estate(opened)
  account = await estate.account()
  token = await estate.token(await estate.subAccount(account), 'One')
})
after(() => opened.close())

const change = (name: string) => updateToken(opened.store, account.id, token.id, { name }, estate.origin())
const feedOn = (store: Store) =>
  new Feed(
    store,
    1,
    () => {},
    () => false,
  )
const mark = async () => await opened.store.findMark(account.id)

test('a position that another process has handed out is answered with one that covers all that is told', async () => {
  const { position } = await opened.store.findNews(undefined, FORGOTTEN_AFTER, 1)
  // Committed after the look of this process, and before the question for that one position.
  const findNews: Store['findNews'] = async (since, ...rest) => {
    if (since === position) await change('Between')
    return opened.store.findNews(since, ...rest)
  }
  const feed = feedOn({ ...opened.store, findNews })
  await change('Before')
  await feed.look()
  const unseen = await feed.since(position)
  assert.deepEqual(
    unseen.changes?.map(({ subject }) => subject),
    [token.id, token.id],
  )
  assert.equal(covers(unseen.position, await mark()), true)
})

test('a look that is asked for while another one is under way begins after it', async () => {
  const feed = feedOn(opened.store)
  await feed.look()
  const { position } = await feed.since(undefined)
  const underway = feed.look()
  await change('Meanwhile')
  await Promise.all([underway, feed.look()])
  const { changes } = await feed.since(position)
  assert.equal(changes?.length, 1)
})

test('a wait ends at once where the change was seen already, and by the next look where it was not', async () => {
  const feed = feedOn(opened.store)
  await feed.look()
  const { position } = await feed.since(undefined)
  await change('Seen')
  await feed.look()
  await feed.wait(position, () => true, 600_000)
  const { position: later } = await feed.since(position)
  const waiting = feed.wait(later, ({ accountId }) => accountId === account.id, 600_000)
  await change('Not seen yet')
  await waiting
  assert.equal((await feed.since(later)).changes?.length, 1)
  feed.stop()
})
