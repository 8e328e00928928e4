// Changes that wait for verifiers, on a real store whose answers are late when a test wants them to be.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { FORGOTTEN_AFTER } from '../../src/tokens/history/actions.ts'
import { Failure } from '../../src/tokens/model/errors.ts'
import type { Caller } from '../../src/tokens/model/permissions.ts'
import type { Account, TokenRecord } from '../../src/tokens/model/token.ts'
import type { Store } from '../../src/tokens/service/store.ts'
import { Confirmation } from '../../src/tokens/verifiers/confirmation.ts'
import type { Verifier } from '../../src/tokens/verifiers/lease.ts'
import { Verifiers } from '../../src/tokens/verifiers/verifiers.ts'
import { openEmptySqlite, type TestSqlite } from '../support/sqlite.ts'
import { Estate, updateToken } from '../support/store.ts'

let opened: TestSqlite
let estate: Estate
let account: Account
let token: TokenRecord
before(async () => {
  opened = await openEmptySqlite()
  estate = new Estate(opened)
})
after(() => opened.close())

const begin = async (fields: Partial<Verifier> = {}) => {
  account = await estate.account()
  token = await estate.token(await estate.subAccount(account), 'One')
  const record = estate.verifierRecord(account, fields)
  await opened.store.insertVerifier(record, estate.origin())
  return record
}
const change = (scope: string) =>
  updateToken(opened.store, account.id, token.id, { policy: { scopes: [scope] } }, estate.origin())
const renew = async ({ id }: { readonly id: string }, acked: string | undefined) => {
  const [renewed] = await opened.store.renewVerifiers([{ id, accountId: account.id, acked, at: 1 }])
  return renewed as Verifier
}
const confirm = async (verifier: { readonly id: string }) =>
  renew(verifier, (await opened.store.findNews(undefined, FORGOTTEN_AFTER, 1)).position)

/** The store, whose answers about verifiers by their ids come when `release` is called. */
function delayed(store: Store) {
  const { promise: asked, resolve: onAsked } = Promise.withResolvers<void>()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const listVerifiers: Store['listVerifiers'] = async (query) => {
    const found = await store.listVerifiers(query)
    if (query.ids === undefined) return found
    onAsked()
    await released
    return found
  }
  return { store: { ...store, listVerifiers }, asked, release }
}

test('a change that begins to wait while the store is asked for others is not answered by what was asked before', async () => {
  const verifier = await begin()
  const { store, asked, release } = delayed(opened.store)
  const confirmation = new Confirmation(store, 1, {}, () => performance.now())
  await change('First')
  const first = confirmation.confirmed(account.id)
  await asked
  // Not covered by anything that was read so far, and of a verifier that nobody has asked for.
  const owner = account
  const other = await begin()
  await change('Second')
  let isAnswered = false
  const second = confirmation.confirmed(account.id).finally(() => {
    isAnswered = true
  })
  await opened.store.findAccount(account.id)
  release()
  const { position } = await opened.store.findNews(undefined, FORGOTTEN_AFTER, 1)
  await opened.store.renewVerifiers([{ id: verifier.id, accountId: owner.id, acked: position, at: 1 }])
  assert.deepEqual(await first, { confirmed: 1, of: 1 })
  assert.equal(isAnswered, false)
  await confirm(other)
  assert.deepEqual(await second, { confirmed: 1, of: 1 })
  confirmation.close()
})

test('a verifier that has called this process is not read to see what it has confirmed', async () => {
  const verifier = await begin()
  const { store, asked, release } = delayed(opened.store)
  const confirmation = new Confirmation(store, 1, {}, () => performance.now())
  await change('First')
  const answered = confirmation.confirmed(account.id)
  await asked
  confirmation.called(await renew(verifier, undefined))
  const isAnswered = await Promise.race([answered.then(() => true), new Promise((resolve) => setImmediate(resolve))])
  assert.equal(isAnswered, undefined, 'as it was before the change')
  confirmation.called(await confirm(verifier))
  assert.deepEqual(await answered, { confirmed: 1, of: 1 })
  release()
  confirmation.close()
})

test('a change that has waited for a lease to run out leaves nothing that the next one has to wait for', async () => {
  const verifier = await begin()
  let now = 0
  const ranOut: string[] = []
  const events = { onRanOut: ({ id }: Verifier) => void ranOut.push(id) }
  const confirmation = new Confirmation(opened.store, 1, events, () => {
    now += 5_000
    return now
  })
  await change('First')
  assert.deepEqual(await confirmation.confirmed(account.id), { confirmed: 0, of: 1 })
  assert.deepEqual(ranOut, [verifier.id])
  assert.equal(await confirmation.confirmed(account.id), undefined)
  confirmation.close()
})

test('a lease that has run out and cannot be removed, since the store is cut off, ends neither the wait for others nor the process', async () => {
  const verifier = await begin({ termMs: 1_000 })
  await opened.store.insertVerifier(estate.verifierRecord(account, { termMs: 10_000 }), estate.origin())
  const asked = Promise.withResolvers<void>()
  const endLease: Store['endLease'] = async (id) => {
    if (id === verifier.id) asked.resolve()
    throw new Failure('unavailable')
  }
  let now = 0
  const confirmation = new Confirmation({ ...opened.store, endLease }, 1, {}, () => now)
  await change('First')
  const answered = confirmation.confirmed(account.id)
  await opened.store.findAccount(account.id)
  now = 1_200
  await asked.promise
  await new Promise((resolve) => setTimeout(resolve, 0))
  now = 10_200
  assert.deepEqual(await answered, { confirmed: 0, of: 2 })
  confirmation.close()
})

test('a verifier that calls and calls but confirms nothing delays a change by one term, and keeps its lease', async () => {
  const verifier = await begin()
  let now = 0
  const confirmation = new Confirmation(opened.store, 1, {}, () => now)
  await change('First')
  const answered = confirmation.confirmed(account.id)
  for (const at of [4_000, 8_000, 10_100]) {
    await opened.store.renewVerifiers([{ id: verifier.id, accountId: account.id, acked: undefined, at }])
    now = at
  }
  now = 10_200
  assert.deepEqual(await answered, { confirmed: 0, of: 1 })
  const [kept] = await opened.store.listVerifiers({ ids: [verifier.id] })
  assert.equal(kept?.renewal, 4)
  confirmation.close()
})

test('a verifier that ends its lease ends it also when a call that it gave up is carried out meanwhile', async () => {
  const { id } = await begin()
  const { store, asked, release } = delayed(opened.store)
  const { stamps } = opened
  const verifiers = new Verifiers({ store, stamps, now: () => 1, monotonic: () => 1, pollMs: 1, events: {} })
  const caller = { accountId: account.id } as Caller
  const ending = verifiers.end(caller, id, stamps.seal('/1', `position of ${id}`))
  await asked
  await confirm({ id })
  release()
  await ending
  assert.deepEqual(await opened.store.listVerifiers({ ids: [id] }), [])
  verifiers.release()
})
