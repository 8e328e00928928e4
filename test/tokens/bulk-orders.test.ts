// Orders of bulk operations: one that is refused is no work for the writer, and what happens between the choice of the tokens and
// the order counts when it is each token's turn.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Latchkey, openLatchkey } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'
import { MAX_RUNNING, type StoredBulk } from '../../src/tokens/bulk/bulk.ts'
import { Bulk } from '../../src/tokens/bulk/orders.ts'
import { BulkWork } from '../../src/tokens/bulk/work.ts'
import type { Caller } from '../../src/tokens/model/permissions.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'

const folder = temporaryFolder()
let latchkey: Latchkey
let caller: Caller
let ids: readonly string[]
/** Called before an order reaches the store. */
let onOrder: () => Promise<unknown>
let bulk: Bulk
let work: BulkWork

before(async () => {
  latchkey = await openLatchkey(readConfig({ LATCHKEY_DATA_DIR: folder }))
  const { operator, store, keys, stamps } = latchkey
  const watched = {
    ...store,
    insertBulk: async (...asked: Parameters<typeof store.insertBulk>) => {
      await onOrder()
      return store.insertBulk(...asked)
    },
  }
  const onTampered = () => assert.fail('nothing was altered')
  const parts = { store: watched, keys, stamps, now: Date.now, onTampered }
  bulk = new Bulk(parts)
  work = new BulkWork(parts, { onChanged: () => {}, onFailed: (_, error) => assert.fail(error as Error) })
  caller = operator.actFor((await operator.createAccount('Acme')).id)
})
after(async () => {
  await work.stop()
  await latchkey.store.close()
  removeFolder(folder)
})

/** Three tokens with this tag, and no others in the way. */
async function begin(tag: string, status: 'active' | 'inactive'): Promise<void> {
  onOrder = async () => {}
  const { operator } = latchkey
  const [owner] = await operator.createSubAccounts(caller.accountId, [
    { name: tag, email: 's@x.example', companyName: 'C' },
  ])
  const base = { accountId: caller.accountId, subAccountId: owner?.id ?? '', tags: [tag], status }
  const made = await operator.createTokens(['a', 'b', 'c'].map((name) => ({ ...base, name })))
  ids = made.map(({ id }) => id)
}

const order = (request: Parameters<Bulk['order']>[1], key?: string) =>
  bulk.order(caller, request, latchkey.operator.origin(), key)
const change = (id: string | undefined, update: object) =>
  latchkey.registry.updateToken(caller, id ?? '', update, latchkey.operator.origin())
const statuses = () =>
  Array.fromAsync(ids, async (id) => (await latchkey.store.findToken(caller.accountId, id))?.token.status)

async function over({ id }: StoredBulk): Promise<StoredBulk> {
  await work.begin()
  await work.settled()
  return bulk.get(caller, id)
}

test('an order that is refused does not reach the writer', async () => {
  await begin('refused', 'active')
  onOrder = () => assert.fail('it has reached the writer')
  const filter = { tag: 'refused' }
  await assert.rejects(order({ action: 'disable', filter, expectedTotal: 2 }), { code: 'bulk-total-differs' })
  await assert.rejects(order({ action: 'disable', filter: { subAccountId: 'sub_x' } }), {
    code: 'sub-account-forbidden',
  })
  onOrder = async () => {}
  const running = await Promise.all(Array.from({ length: MAX_RUNNING }, () => order({ action: 'disable', filter })))
  onOrder = () => assert.fail('it has reached the writer')
  await assert.rejects(order({ action: 'disable', filter }), { code: 'too-many-bulk' })
  for (const operation of running) await over(operation)
})

test('a retry of what is done is the same operation, though its filter matches nothing any more', async () => {
  await begin('retried', 'active')
  const request = { action: 'disable', filter: { tag: 'retried', status: 'active' }, expectedTotal: 3 } as const
  const first = await order(request, 'key')
  assert.equal((await over(first)).done, 3)
  assert.equal((await order(request, 'key')).id, first.id)
  await assert.rejects(order({ ...request, expectedTotal: 2 }, 'key'), { code: 'idempotency-conflict' })
  await assert.rejects(order(request, 'another key'), { code: 'bulk-total-differs' })
})

test('what stops matching after the choice is not changed, and what begins to match neither', async () => {
  await begin('moved', 'active')
  const [first, , last] = ids
  await change(last, { tags: ['other'] })
  onOrder = async () => {
    await change(first, { tags: ['other'] })
    await change(last, { tags: ['moved'] })
  }
  const operation = await order({ action: 'disable', filter: { tag: 'moved' }, expectedTotal: 2 })
  const { total, done, skipped } = await over(operation)
  assert.deepEqual([total, done, skipped], [2, 1, 1])
  assert.deepEqual(await statuses(), ['active', 'inactive', 'active'])
})

test('what is switched off after the choice is not enabled', async () => {
  await begin('enabled', 'inactive')
  const [first] = ids
  onOrder = async () => {
    await change(first, { status: 'active' })
    await change(first, { status: 'inactive' })
  }
  const { done, skipped } = await over(await order({ action: 'enable', filter: { tag: 'enabled' } }))
  assert.deepEqual([done, skipped], [2, 1])
  assert.deepEqual(await statuses(), ['inactive', 'active', 'active'])
})
