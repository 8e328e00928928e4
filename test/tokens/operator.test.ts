// What the operator does, on a real store.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { anAccount, openService, type TestService } from '../support/service.ts'
import { FIRST_PAGE, START } from '../support/store.ts'

let service: TestService
before(async () => {
  service = await openService()
})
after(() => service.opened.close())

test('an account that does not exist has no keys and gets none', async () => {
  const { operator } = service
  await assert.rejects(operator.getAccount('acc_nothing'), { code: 'account-not-found' })
  await assert.rejects(operator.createKey('acc_nothing', 'n', null), { code: 'account-not-found' })
  await assert.rejects(operator.listKeys('acc_nothing'), { code: 'account-not-found' })
  await assert.rejects(operator.createSubAccounts('acc_nothing', []), { code: 'account-not-found' })
  await assert.rejects(operator.revokeKey('key_nothing'), { code: 'key-not-found' })
})

test('a key is shown once, when it is made, and nowhere kept', async () => {
  const { operator, opened } = service
  const { account, key } = await anAccount(service)
  assert.match(key.key, /^lk_key_/)
  const listed = await operator.listKeys(account.id)
  assert.equal(JSON.stringify(listed).includes(key.key), false)
  for (const file of [opened.path, `${opened.path}-wal`]) assert.equal(readFileSync(file).includes(key.key), false)
})

test('a key may be made that has expired already', async () => {
  const { account } = await anAccount(service)
  const { key } = await service.operator.createKey(account.id, 'past', START - 1)
  await assert.rejects(service.registry.authenticate(key), { code: 'token-expired' })
})

test('an imported credential of any make works like the others', async () => {
  const { account, caller, subAccount } = await anAccount(service)
  const base = { accountId: account.id, subAccountId: subAccount.id }
  const [old] = await service.operator.createTokens([
    { ...base, name: 'old', credential: 'sk_live_51H!~', createdAt: START - 1_000 },
    { ...base, name: 'new' },
  ])
  assert.ok(old)
  const verdict = await service.registry.verification.verify('sk_live_51H!~')
  assert.equal(verdict.accepted && verdict.token.id, old.id)
  assert.equal((await service.registry.getToken(caller, old.id)).credential, 'sk_live_51H!~')
  const { items } = await service.registry.listTokens(caller, FIRST_PAGE)
  assert.deepEqual(
    items.map(({ name }) => name),
    ['new', 'old'],
  )
  assert.equal((await service.operator.findByCredential('sk_live_51H!~'))?.id, old.id)
  assert.equal(await service.operator.findByCredential('sk_live_other'), undefined)
})

test('of many tokens, one that cannot be made keeps all of them out', async () => {
  const { account, caller, subAccount } = await anAccount(service)
  const base = { accountId: account.id, subAccountId: subAccount.id }
  const list = ['a', 'b', 'a'].map((name) => ({ ...base, name }))
  await assert.rejects(service.operator.createTokens(list), { code: 'duplicate-name' })
  assert.equal((await service.registry.listTokens(caller, FIRST_PAGE)).total, 0)
})

test('what the operator does stands in the history as done by the operator', async () => {
  const { caller } = await anAccount(service)
  const { items } = await service.registry.listHistory(caller, FIRST_PAGE)
  assert.deepEqual(
    items.map(({ action, by }) => `${action} by ${by}`),
    ['sub-account.create by operator', 'key.create by operator', 'account.create by operator'],
  )
})
