// What a process sends to webhooks: nothing to one that was tampered with, and nothing twice when it loses its claim.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { Registry } from '../../src/tokens/service/registry.ts'
import { examineRows } from '../../src/tokens/upkeep/examination.ts'
import type { Outcome } from '../../src/tokens/webhooks/delivery.ts'
import { Dispatch, RENEW_EVERY_MS } from '../../src/tokens/webhooks/dispatch.ts'
import type { Message, Receivers } from '../../src/tokens/webhooks/ports.ts'
import type { StoredWebhook } from '../../src/tokens/webhooks/webhook.ts'
import { anAccount, openService, type TestService } from '../support/service.ts'

let service: TestService
before(async () => {
  service = await openService()
})
after(() => service.opened.close())

function dispatch(send: Receivers['send']) {
  const { opened, clock, tampered } = service
  const parts = {
    ...{ store: opened.store, keys: opened.keys, stamps: opened.stamps },
    now: () => clock.now,
    onTampered: ({ id }: { id: string }) => void tampered.push(id),
  }
  const receivers: Receivers = { findObstacle: async () => undefined, send }
  const failed: unknown[] = []
  const events = { onOutcome: () => {}, onFailed: (_id: string, error: unknown) => void failed.push(error) }
  return { registry: new Registry(parts, receivers), own: new Dispatch(parts, receivers, events), failed, parts }
}

const delivered = { kind: 'delivered', responseStatus: 200 } as const

/** A receiver that never answers, until the request is abandoned. */
const hang = (signal: AbortSignal) =>
  new Promise<Outcome>((resolve) => {
    const failed = { kind: 'failed', responseStatus: null, error: 'interrupted' } as const
    signal.addEventListener('abort', () => resolve(failed))
    if (signal.aborted) resolve(failed)
  })

const until = async (isDone: () => boolean) => {
  while (!isDone()) await new Promise((resolve) => setImmediate(resolve))
}

test('nothing is sent to an address that was put into the database, and the examination names the webhook', async () => {
  const sent: Message[] = []
  const { registry, own, failed, parts } = dispatch(async (message) => {
    sent.push(message)
    return delivered
  })
  const { caller } = await anAccount(service)
  const { webhook } = await registry.webhooks.create(caller, { url: 'https://example.com/' }, service.operator.origin())
  const db = new DatabaseSync(service.opened.path)
  db.prepare('UPDATE webhooks SET url = ? WHERE id = ?').run('https://attacker.example/', webhook.id)
  db.close()
  await service.operator.createKey(caller.accountId, 'An event', null)
  await own.begin()
  while (failed.length === 0) await new Promise((resolve) => setImmediate(resolve))
  await own.stop()
  assert.deepEqual([sent.length, failed.length, service.tampered.includes(webhook.id)], [0, 1, true])
  const { problems } = await examineRows(parts, () => () => {})
  assert.deepEqual(
    problems.map(({ kind, id }) => [kind, id]),
    [['webhook', webhook.id]],
  )
  await registry.webhooks.delete(caller, webhook.id, service.operator.origin())
})

test('a process that is stopped abandons what it sends, and the next one sends it again, in order', async () => {
  const sent: number[] = []
  const slow = dispatch((message) => {
    sent.push(message.row.seq)
    return new Promise(() => {})
  })
  const { caller } = await anAccount(service)
  await slow.registry.webhooks.create(caller, { url: 'https://example.com/' }, service.operator.origin())
  for (const name of ['One', 'Two']) await service.operator.createKey(caller.accountId, name, null)
  await slow.own.begin()
  while (sent.length === 0) await new Promise((resolve) => setImmediate(resolve))
  // Not waited for: what it sends is never answered.
  void slow.own.stop()
  await service.opened.store.releaseClaims(slow.own.holder)
  const quick = dispatch(async (message) => {
    sent.push(message.row.seq)
    return delivered
  })
  await quick.own.begin()
  while (sent.length < 3) await new Promise((resolve) => setImmediate(resolve))
  const [first = 0] = sent
  assert.deepEqual(sent, [first, first, first + 1])
  await quick.own.stop()
})

/** As a server does, with the claims that it holds. */
function keepClaims(own: Dispatch): () => Promise<void> {
  const timer = setInterval(() => void own.renew(), RENEW_EVERY_MS)
  return async () => {
    clearInterval(timer)
    await own.stop()
  }
}

test('receivers of forty accounts that never answer keep no other account waiting', async () => {
  const sent = new Map<string, number>()
  const { registry, own } = dispatch((message, signal) => {
    sent.set(message.accountId, (sent.get(message.accountId) ?? 0) + 1)
    return message.url.includes('silent') ? hang(signal) : Promise.resolve(delivered)
  })
  const withWebhooks = async (name: string, count: number) => {
    const { caller } = await anAccount(service)
    const making = Array.from({ length: count }, (_, n) =>
      registry.webhooks.create(caller, { url: `https://${name}.example/${n}` }, service.operator.origin()),
    )
    await Promise.all(making)
    await service.operator.createKey(caller.accountId, 'An event', null)
    return caller.accountId
  }
  const silent = await Promise.all(Array.from({ length: 40 }, () => withWebhooks('silent', 9)))
  const quick = await withWebhooks('quick', 1)
  const stop = keepClaims(own)
  await own.begin()
  await until(() => sent.has(quick))
  await until(() => silent.every((accountId) => sent.has(accountId)))
  assert.ok(silent.every((accountId) => (sent.get(accountId) ?? 0) <= 8))
  await stop()
  const { store } = service.opened
  const all = await Promise.all([...silent, quick].map((accountId) => store.listWebhooks(accountId)))
  const remove = ({ id, accountId }: StoredWebhook) =>
    store.changeWebhook(accountId, id, { kind: 'delete' }, service.operator.origin())
  await Promise.all(all.flat().map(remove))
})

test('without an order, events that take long hold up no other; they are recorded when they end, and are not sent twice meanwhile', async () => {
  const sent: number[] = []
  const slow = new Map<number, (outcome: Outcome) => void>()
  const { caller } = await anAccount(service)
  const { registry, own } = dispatch((message, signal) => {
    const { seq } = message.row
    if (message.accountId !== caller.accountId) return Promise.resolve(delivered)
    sent.push(seq)
    if (seq % 2 === 0 || slow.size === 2) return Promise.resolve(delivered)
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    slow.set(seq, resolve)
    return Promise.race([promise, hang(signal)])
  })
  const { id } = (
    await registry.webhooks.create(caller, { url: 'https://example.com/', order: 'none' }, service.operator.origin())
  ).webhook
  const { store } = service.opened
  for (let n = 0; n < 6; n++) await service.operator.createKey(caller.accountId, `${n}`, null)
  const statuses = async () => {
    const { items } = await store.listDeliveries(caller.accountId, id, { page: 1, limit: 10 })
    return items.map(({ seq, status, attempts }) => [seq, status, attempts]).toReversed()
  }
  const stop = keepClaims(own)
  await own.begin()
  await until(() => sent.length === 6)
  const [first = 0] = sent
  assert.deepEqual(
    sent,
    Array.from({ length: 6 }, (_, n) => first + n),
  )
  const asTheyAre = sent.map((seq) => (slow.has(seq) ? [seq, 'waiting', 0] : [seq, 'delivered', 1]))
  while (!isDeepStrictEqual(await statuses(), asTheyAre)) await new Promise((resolve) => setImmediate(resolve))
  // One more event, beside those that are still under way.
  await service.operator.createKey(caller.accountId, 'Another', null)
  await own.begin()
  await until(() => sent.length === 7)
  assert.equal(sent.at(-1), first + 6)
  const [one, other] = [...slow]
  one?.[1](delivered)
  other?.[1]({ kind: 'failed', responseStatus: 500, error: 'HTTP 500' })
  const expected = [
    [one?.[0], 'delivered', 1],
    [other?.[0], 'waiting', 1],
  ]
  const ofSlow = async () => (await statuses()).filter(([seq]) => slow.has(Number(seq)))
  while (!isDeepStrictEqual(await ofSlow(), expected)) await new Promise((resolve) => setImmediate(resolve))
  await stop()
  await registry.webhooks.delete(caller, id, service.operator.origin())
})
