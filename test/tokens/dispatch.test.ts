// What a process sends to webhooks: nothing to one that was tampered with, and nothing twice when it loses its claim.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { Dispatch } from '../../src/tokens/dispatch.ts'
import type { Message, Receivers } from '../../src/tokens/event-ports.ts'
import { Registry } from '../../src/tokens/registry.ts'
import { examineRows } from '../../src/tokens/upkeep/examination.ts'
import { anAccount, openService, type TestService } from '../support/service.ts'

let service: TestService
before(async () => {
  service = await openService()
})
after(() => service.opened.close())

function dispatch(send: (message: Message) => ReturnType<Receivers['send']>) {
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
