// Accounts take turns with their bulk operations: who comes last with a short one does not wait until the long ones are over.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Latchkey, openLatchkey } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'
import { BulkWork } from '../../src/tokens/bulk/work.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'

/** More than those whose steps are made at the same time. */
const ACCOUNTS = 6
const MANY = 500

const folder = temporaryFolder()
let latchkey: Latchkey
before(async () => {
  latchkey = await openLatchkey(readConfig({ LATCHKEY_DATA_DIR: folder }))
})
after(async () => {
  await latchkey.store.close()
  removeFolder(folder)
})

async function ordered(tokens: number): Promise<string> {
  const { operator, registry } = latchkey
  const { id: accountId } = await operator.createAccount('Acme')
  const [owner] = await operator.createSubAccounts(accountId, [{ name: 'S', email: 's@x.example', companyName: 'C' }])
  const base = { accountId, subAccountId: owner?.id ?? '' }
  await operator.createTokens(Array.from({ length: tokens }, (_, n) => ({ ...base, name: `T${n}` })))
  await registry.bulk.order(operator.actFor(accountId), { action: 'disable', filter: {} }, operator.origin())
  return accountId
}

test('a short operation of the last account is over before the long ones of the accounts before it', async () => {
  const { store, keys, stamps } = latchkey
  for (let n = 1; n < ACCOUNTS; n++) await ordered(MANY)
  const last = await ordered(1)
  const over: string[] = []
  const watched = {
    ...store,
    endBulk: (...[operation, error, at]: Parameters<typeof store.endBulk>) => {
      over.push(operation.accountId)
      return store.endBulk(operation, error, at)
    },
  }
  const failed: unknown[] = []
  const parts = { store: watched, keys, stamps, now: Date.now, onTampered: (found: object) => failed.push(found) }
  const work = new BulkWork(parts, { onChanged: () => {}, onFailed: (_, error) => failed.push(error) })
  while (over.length < ACCOUNTS) {
    await work.begin()
    await work.settled()
  }
  await work.stop()
  assert.deepEqual(failed, [])
  assert.equal(over[0], last)
})
