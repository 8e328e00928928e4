// Which changes verifiers have to confirm: all of them pass the gate. A change that is added to the store has to be added here.
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { after, before, test } from 'node:test'
import type { CHANGES } from '../../src/storage/changes/all.ts'
import type { StoredBulk } from '../../src/tokens/bulk/bulk.ts'
import type { Stamped } from '../../src/tokens/trust/stamp.ts'
import { Confirmation } from '../../src/tokens/verifiers/confirmation.ts'
import { Gate } from '../../src/tokens/verifiers/gate.ts'
import { openEmptySqlite, type TestSqlite } from '../support/sqlite.ts'
import { Estate, FIRST_PAGE } from '../support/store.ts'

let opened: TestSqlite
before(async () => {
  opened = await openEmptySqlite()
})
after(() => opened.close())

test('every change after which verification may decide otherwise passes the gate', async () => {
  const { store } = opened
  const estate = new Estate(opened)
  const account = await estate.account()
  const key = await estate.key(account)
  const subAccount = await estate.subAccount(account)
  const token = await estate.token(subAccount, 'one')
  const origin = estate.origin()
  const [session, portal] = [estate.sessionRecord(account), estate.portalSession(subAccount)]
  const [webhook, verifier] = [estate.webhookRecord(account), estate.verifierRecord(account)]
  const order = estate.bulkRecord(account)
  const running = async () => (await store.listRunningBulk('', 1))[0] as Stamped<StoredBulk>
  const step = async () => {
    const [operation, part] = [await running(), await store.findBulkPart(order.id, 0)]
    return store.advanceBulk(operation, part as NonNullable<typeof part>, origin.at)
  }
  const changes: Record<keyof typeof CHANGES, () => Promise<unknown>> = {
    insertAccount: () => store.insertAccount({ ...account, id: 'acc_2' }, origin),
    updateAccount: () => store.updateAccount(account.id, { name: 'Other' }, origin),
    insertKey: () => store.insertKey({ ...key, id: 'key_2', digest: estate.digest() }, origin),
    revokeKey: () => store.revokeKey(key.id, origin),
    insertSubAccounts: () => store.insertSubAccounts([estate.subAccountRecord(account)], origin),
    insertTokens: () => store.insertTokens([estate.tokenRecord(subAccount, 'two')], origin),
    insertSession: () => store.insertSession(session, origin),
    renewSession: () => store.renewSession(session.id, session.seenAt + 600_000),
    chooseAccount: () => store.chooseAccount(session.id, account.id, origin),
    revokeSession: () => store.revokeSession(account.id, session.id, origin),
    deleteSession: () => store.deleteSession(session.id, origin),
    openPortal: () => store.openPortal(subAccount, portal, origin),
    closePortal: () => store.closePortal(subAccount, portal.id, origin),
    insertWebhook: () => store.insertWebhook(webhook, origin),
    settleDelivery: () =>
      store.settleDelivery(webhook.id, { seq: 1, event: 'x' }, { kind: 'delivered', responseStatus: 200 }, origin.at),
    changeWebhook: () => store.changeWebhook(account.id, webhook.id, { kind: 'delete' }, origin),
    announceExpiry: () =>
      store.announceExpiry(account.id, [{ ...token, endsAt: origin.at + 1 }], { days: 1, ms: 1 }, origin.at),
    insertVerifier: () => store.insertVerifier(verifier, origin),
    evictVerifier: () => store.evictVerifier(account.id, verifier.id, origin),
    endLease: () => store.endLease(verifier.id, verifier.renewal),
    insertBulk: async () => {
      const chosen = await store.chooseBulk(account.id, FIRST_PAGE)
      return store.insertBulk(order, chosen as NonNullable<typeof chosen>, origin)
    },
    advanceBulk: step,
    endBulk: async () => store.endBulk(await running(), null, origin.at),
    undoBulk: () => store.undoBulk(account.id, order.id, null, origin),
    changeToken: () => store.changeToken(account.id, token.id, { kind: 'delete' }, origin),
    updateSubAccount: () => store.updateSubAccount(account.id, subAccount.id, { status: 'suspended' }, origin),
  }
  const deciding: string[] = []
  for (const [name, make] of Object.entries(changes)) {
    const mark = await store.findMark(account.id)
    await make()
    if ((await store.findMark(account.id)) !== mark) deciding.push(name)
  }
  assert.deepEqual(deciding, ['advanceBulk', 'changeToken', 'updateSubAccount'])
  const confirmation = new Confirmation(store, 1, {}, () => 0)
  const gated = new Gate({ confirmation, committed: () => {} }, new AsyncLocalStorage()).over(store)
  const passing = Object.keys(changes) as (keyof typeof changes)[]
  assert.deepEqual(
    deciding.filter((name) => !passing.some((each) => each === name && gated[each] !== store[each])),
    [],
  )
})
