// Claims, what is due, and which tokens end soon.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { IMPORTED } from '../../../src/tokens/history/history.ts'
import { overviewQuestion } from '../../../src/tokens/model/overview.ts'
import type { Account } from '../../../src/tokens/model/token.ts'
import { FIRST_PAGE } from '../../support/store.ts'
import type { Part } from '../contract.ts'

const DAY = 86_400_000

export const describeWebhookStore: Part = (estate) => {
  const made = async (account: Account, fields = {}) =>
    estate().store.insertWebhook(estate().webhookRecord(account, fields), estate().origin())
  const dueOf = async (id: string, at: number, holder = 'one') =>
    (await estate().store.findDue('', 500, at, holder)).find((each) => each.id === id)?.due

  test('of those who claim at the same time one gets it, until the term is over or it is released', async () => {
    const { store } = estate()
    const claims = await Promise.all(['one', 'two', 'three'].map((holder) => store.claim('work', holder, 60_000)))
    assert.deepEqual(claims.toSorted(), [false, false, true])
    const holder = ['one', 'two', 'three'][claims.indexOf(true)] ?? ''
    assert.equal(await store.claim('work', holder, 60_000), true)
    assert.equal(await store.claim('work', 'other', 60_000), false)
    assert.equal(await store.claim('other work', 'other', 60_000), true)
    await store.releaseClaims(holder)
    assert.equal(await store.claim('work', 'other', 1), true)
    while (!(await store.claim('work', 'one', 60_000))) await pause(1)
    await store.renewClaims('other', 60_000)
    assert.equal(await store.claim('work', 'other', 60_000), false)
  })

  test('a claim that lasts longer than any can, because the clock was set back, is over', async () => {
    const { store } = estate()
    await store.claim('future', 'one', 3_600_000)
    assert.equal(await store.claim('future', 'two', 60_000), true)
  })

  test('a webhook begins after its creation, and is due when the history goes on, unless another process has it', async () => {
    const account = await estate().account()
    const webhook = await made(account)
    assert.equal(await dueOf(webhook.id, 1), null)
    await estate().subAccount(account)
    assert.equal(await dueOf(webhook.id, 1), 'news')
    const { store } = estate()
    await store.claim(webhook.id, 'two', 60_000)
    assert.deepEqual([await dueOf(webhook.id, 1, 'one'), await dueOf(webhook.id, 1, 'two')], [null, 'news'])
    const attempted = { seq: webhook.position + 1, event: 'sub-account.create' }
    await store.settleDelivery(webhook.id, attempted, { kind: 'failed', responseStatus: 500, error: 'x' }, 1_000)
    assert.deepEqual([await dueOf(webhook.id, 1_001, 'two'), await dueOf(webhook.id, 6_000, 'two')], [null, 'attempt'])
    assert.deepEqual(await store.readBehind(webhook), { events: 1, since: (await historyOf(account))[0]?.at })
    await store.settleDelivery(webhook.id, attempted, { kind: 'delivered', responseStatus: 200 }, 2_000)
    const [after] = await store.listWebhooks(account.id)
    assert.deepEqual([after?.position, after?.lastSuccessAt], [attempted.seq, 2_000])
    assert.deepEqual(await store.readBehind(after ?? webhook), { events: 0, since: null })
    // A process that was slow reports a failure of what was delivered meanwhile.
    await store.settleDelivery(webhook.id, attempted, { kind: 'failed', responseStatus: 500, error: 'x' }, 3_000)
    const { items } = await store.listDeliveries(account.id, webhook.id, FIRST_PAGE)
    assert.deepEqual(
      items.map(({ seq, status, attempts }) => [seq, status, attempts]),
      [[attempted.seq, 'delivered', 2]],
    )
    await store.changeWebhook(account.id, webhook.id, { kind: 'delete' }, estate().origin())
    assert.equal(await store.findDelivering(webhook.id), undefined)
    await store.settleDelivery(webhook.id, attempted, { kind: 'delivered', responseStatus: 200 }, 1)
  })

  const historyOf = async ({ id }: Account) => (await estate().store.listHistory(id, { page: 1, limit: 1 })).items

  test('how far a webhook is behind costs no more for a long history: what is far from its position counts without a look', async () => {
    const { store } = estate()
    const account = await estate().account()
    for (let n = 0; n < 3; n++) await estate().key(account)
    const { items } = await store.listHistory(account.id, { page: 1, limit: 10 })
    const atOf = (wanted: number) => items.find(({ seq }) => seq === wanted)?.at ?? assert.fail()
    const behind = (fields: object) => store.readBehind(estate().webhookRecord(account, fields))
    const filter = { events: '["account.create"]' }
    assert.deepEqual(await behind({ position: 0, ...filter }), { events: 1, since: atOf(1) })
    assert.deepEqual(await behind({ position: 1, ...filter }), { events: 0, since: null })
    // As if ten thousand rows were before these.
    assert.deepEqual(await behind({ position: 1 - 10_000, ...filter }), { events: 4, since: atOf(1) })
    assert.deepEqual(await behind({ position: 2 - 10_000, events: '["token.*"]' }), { events: 2, since: atOf(3) })
    assert.deepEqual(await behind({ position: 1 }), { events: 3, since: atOf(2) })
  })

  test('a feed has as many rows as are asked for, the oldest of those that a filter lets through', async () => {
    const { store } = estate()
    const account = await estate().account()
    for (let n = 0; n < 3; n++) {
      await estate().subAccount(account)
      await estate().key(account)
    }
    const actions = ['sub-account.create'] as const
    const read = async (after: number, limit: number) =>
      (await store.readFeed(account.id, { after, upTo: 100, limit }, { subAccounts: null, actions })).map(
        ({ seq }) => seq,
      )
    assert.deepEqual([await read(0, 1), await read(2, 1), await read(0, 10)], [[2], [4], [2, 4, 6]])
    assert.deepEqual(await store.readHeads([account.id, 'acc_none']), new Map([[account.id, 7]]))
  })

  test('tokens that were imported are in the history and not in the feed: no webhook has to take them', async () => {
    const { store } = estate()
    const account = await estate().account()
    const subAccount = await estate().subAccount(account)
    const webhook = await made(account)
    const names = Array.from({ length: 20 }, (_, n) => `imported ${n}`)
    const records = names.map((name) => estate().tokenRecord(subAccount, name))
    await store.insertTokens(records, { ...estate().origin(), reason: IMPORTED })
    const looksAlike = JSON.stringify({ reason: IMPORTED })
    const { name } = await estate().token(subAccount, 'made', { metadata: looksAlike })
    const range = { after: webhook.position, upTo: 1_000, limit: 100 }
    for (const actions of [null, ['token.create']] as const) {
      const rows = await store.readFeed(account.id, range, { subAccounts: null, actions })
      assert.deepEqual(
        rows.map(({ subjectName }) => subjectName),
        [name],
      )
    }
    assert.equal((await store.readBehind(webhook)).events, 1)
    const { items, total } = await store.listHistory(account.id, { page: 1, limit: 2, action: 'token.create' })
    assert.equal(total, 21)
    assert.equal(items[1]?.to.reason, IMPORTED)
  })

  test('another account’s webhook is exactly like a missing one', async () => {
    const [mine, theirs] = [await estate().account(), await estate().account()]
    const { id } = await made(theirs)
    const { store } = estate()
    assert.equal(await store.findWebhook(mine.id, id), undefined)
    assert.equal((await store.listDeliveries(mine.id, id, FIRST_PAGE)).total, 0)
    for (const change of [{ kind: 'delete' }, { kind: 'skip', seq: 1 }] as const) {
      const refused = store.changeWebhook(mine.id, id, change, estate().origin())
      await assert.rejects(refused, { code: 'webhook-not-found' })
    }
    const limit = await Promise.allSettled(Array.from({ length: 25 }, () => made(mine)))
    assert.equal(limit.filter(({ status }) => status === 'fulfilled').length, 20)
  })

  test('tokens that end soon are counted, announced and found by what ends them first: expiry or lifetime', async () => {
    const { store } = estate()
    const account = await estate().account()
    const now = estate().tick()
    const free = await estate().subAccount(account)
    const policy = JSON.stringify({ maxLifetimeSeconds: (10 * DAY) / 1000 })
    const limited = await estate().subAccount(account, { policy, name: 'Limited' })
    const tokens = {
      'by its expiry': [free, { expiresAt: now + 3 * DAY }],
      'by its lifetime': [limited, { createdAt: now - 6 * DAY }],
      'by its lifetime, before its expiry': [limited, { createdAt: now - 7 * DAY, expiresAt: now + 4 * DAY }],
      'by its expiry, before its lifetime': [limited, { createdAt: now - 7 * DAY, expiresAt: now + 2 * DAY }],
      'not soon': [free, { expiresAt: now + 30 * DAY }],
      'not soon, whatever its lifetime': [limited, { createdAt: now }],
      'already ended by its lifetime': [limited, { createdAt: now - 11 * DAY, expiresAt: now + 5 * DAY }],
      'already ended by its expiry': [limited, { createdAt: now - 6 * DAY, expiresAt: now - 1 }],
      off: [free, { expiresAt: now + 3 * DAY, status: 'inactive' }],
    } as const
    for (const [name, [owner, fields]] of Object.entries(tokens)) await estate().token(owner, name, fields)
    const soon = Object.keys(tokens).slice(0, 4).toSorted()
    const range = [now + 1, now + 7 * DAY] as const
    const find = async () =>
      (await store.findUnannounced(...range, 7 * DAY, 1_000)).filter(({ accountId }) => accountId === account.id)
    const found = await find()
    assert.deepEqual(found.map(({ name }) => name).toSorted(), soon)
    assert.deepEqual(
      found.map(({ endsAt }) => endsAt).toSorted((one, other) => one - other),
      [2, 3, 3, 4].map((days) => now + days * DAY),
    )
    assert.equal(await store.countExpiring(now + 2 * DAY + 1, now + 4 * DAY), 2)
    const { expiring } = await store.readOverview(account.id, {
      ...overviewQuestion(now),
      expiringBefore: now + 7 * DAY,
    })
    assert.equal(expiring, 4)
    const window = { days: 7, ms: 7 * DAY }
    await Promise.all([1, 2, 3].map(() => store.announceExpiry(account.id, found, window, now)))
    assert.deepEqual(await find(), [])
    const { items } = await store.listHistory(account.id, { ...FIRST_PAGE, action: 'token.expiring' })
    assert.deepEqual(items.map(({ subjectName }) => subjectName).toSorted(), soon)
    assert.deepEqual(
      items.map(({ by }) => by),
      ['service', 'service', 'service', 'service'],
    )
  })
}
