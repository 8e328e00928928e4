// Requests that are repeated: what is stored of an idempotency key, for how long, and for whom.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Origin } from '../../../src/tokens/history/history.ts'
import { IDEMPOTENCY_KEYS } from '../../../src/tokens/model/tables.ts'
import type { SubAccount } from '../../../src/tokens/model/token.ts'
import { FORGOTTEN_AT_ONCE, IDEMPOTENCY_MEMORY_MS } from '../../../src/tokens/model/update.ts'
import type { Estate } from '../../support/store.ts'
import type { Part } from '../contract.ts'

const USED = { code: 'idempotency-conflict' }

async function ownedSubAccount(estate: Estate) {
  const account = await estate.account()
  return { account, subAccount: await estate.subAccount(account) }
}

export const describeIdempotency: Part = (estate) => {
  test('the same idempotency key again changes nothing, whatever the change is, and what was stored first can be read', async () => {
    const { account, subAccount } = await ownedSubAccount(estate())
    const { store } = estate()
    const token = await estate().token(subAccount, 'rotated')
    const key = { id: `key_${estate().tick()}`, name: 'k', permissions: null, expiresAt: null, revokedAt: null }
    const rotation = { sealed: token.sealed, digest: estate().digest(), formerUntil: 0 }
    const changes: Record<string, (origin: Origin) => Promise<unknown>> = {
      tokens: (origin) => store.insertTokens([estate().tokenRecord(subAccount, `made at ${origin.at}`)], origin),
      token: (origin) => store.changeToken(account.id, token.id, { kind: 'rotate', rotation }, origin),
      revealed: (origin) => store.changeToken(account.id, token.id, { kind: 'reveal' }, origin, { versions: [2] }),
      subAccounts: (origin) =>
        store.insertSubAccounts([{ ...subAccount, id: `sub_${origin.at}`, createdAt: origin.at }], origin),
      keys: (origin) =>
        store.insertKey(
          { ...key, accountId: account.id, createdAt: 1, lastUsedAt: null, digest: estate().digest() },
          origin,
        ),
    }
    for (const [name, change] of Object.entries(changes)) {
      const origin = estate().origin()
      const once = { accountId: account.id, key: name, requestDigest: name }
      await change({ ...origin, once })
      const [row] = (await store.listHistory(account.id, { page: 1, limit: 1 })).items
      const stored = { ...once, by: origin.by, subject: row?.subject, createdAt: origin.at }
      assert.deepEqual({ ...(await store.findRequest(account.id, origin.by, name)) }, stored)
      for (const other of Object.values(changes)) {
        await assert.rejects(other({ ...estate().origin(), once: { ...once, requestDigest: 'other' } }), USED)
      }
      assert.equal((await store.listHistory(account.id, { page: 1, limit: 1 })).items[0]?.seq, row?.seq)
    }
  })

  const insert = (subAccount: SubAccount, name: string, key: string, origin = estate().origin()) => {
    const once = { accountId: subAccount.accountId, key, requestDigest: name }
    return estate().store.insertTokens([estate().tokenRecord(subAccount, name)], { ...origin, once })
  }

  test('of many changes at once with the same idempotency key one is made', async () => {
    const { account, subAccount } = await ownedSubAccount(estate())
    const tokens = [await estate().token(subAccount, 'one'), await estate().token(subAccount, 'two')]
    const once = { accountId: account.id, key: 'at once', requestDigest: 'd' }
    const origin = { ...estate().origin(), once }
    const made = await Promise.allSettled(
      tokens.map(({ id }) => estate().store.changeToken(account.id, id, { kind: 'reveal' }, origin)),
    )
    assert.deepEqual(made.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  })

  test('idempotency keys older than a day are free again, and removed a few at a time', async () => {
    const { account, subAccount } = await ownedSubAccount(estate())
    const { store } = estate()
    const origin = estate().origin()
    const today = origin.at
    const use = (n: number, at: number) => insert(subAccount, `${n} at ${at}`, `old ${n}`, { ...origin, at })
    const stored = async () => {
      const rows = await store.readRows(IDEMPOTENCY_KEYS, undefined, 1_000)
      return rows.filter(({ accountId }) => accountId === account.id).length
    }
    const used = FORGOTTEN_AT_ONCE + 20
    for (let n = 0; n < used; n++) await use(n, today - IDEMPOTENCY_MEMORY_MS - 1)
    await use(used - 1, today)
    assert.ok((await stored()) >= 20, 'one creation does not remove them all')
    await assert.rejects(use(used - 1, today), USED)
    for (let n = 0; n < 2; n++) await use(n, today)
    assert.equal(await stored(), 3)
  })

  test('two accounts may use the same idempotency key', async () => {
    for (let n = 0; n < 2; n++) await insert((await ownedSubAccount(estate())).subAccount, 'x', 'shared')
  })

  test('two callers of an account may use the same idempotency key, and neither learns of the other', async () => {
    const { subAccount } = await ownedSubAccount(estate())
    for (const by of ['key_one', 'key_two']) await insert(subAccount, by, 'shared', { ...estate().origin(), by })
    for (const by of ['key_one', 'key_two']) {
      await assert.rejects(insert(subAccount, 'three', 'shared', { ...estate().origin(), by }), USED)
      assert.equal((await estate().store.findRequest(subAccount.accountId, by, 'shared'))?.requestDigest, by)
    }
  })

  test('a refused request does not use up its idempotency key', async () => {
    const { subAccount } = await ownedSubAccount(estate())
    await estate().token(subAccount, 'taken')
    await assert.rejects(insert(subAccount, 'taken', 'k1'), { code: 'duplicate-name' })
    await insert(subAccount, 'free', 'k1')
    await assert.rejects(insert(subAccount, 'free', 'k1'), USED)
  })
}
