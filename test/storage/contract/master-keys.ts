// Master keys: one of them seals, nothing is stored that another has sealed, and a rotation may end at any step.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { EVERYTHING } from '../../../src/tokens/model/permissions.ts'
import { TOKENS } from '../../../src/tokens/model/tables.ts'
import type { TokenRecord } from '../../../src/tokens/model/token.ts'
import { Operator } from '../../../src/tokens/service/operator.ts'
import { Registry } from '../../../src/tokens/service/registry.ts'
import type { Store } from '../../../src/tokens/service/store.ts'
import { KeyRing } from '../../../src/tokens/trust/key-ring.ts'
import { holdsText, keyIdOf, MasterKey, STORE_SECRET_CONTEXT } from '../../../src/tokens/trust/vault.ts'
import { rotateMasterKey } from '../../../src/tokens/upkeep/master-key-rotation.ts'
import { deleteToken, Estate, FIRST_PAGE, type OpenEmptyStore, rotateToken } from '../../support/store.ts'

const newKey = () => new MasterKey(randomBytes(32))
const namedKeys = async (store: Store) => [
  ...new Set((await store.readRows(TOKENS, undefined, 10_000)).map(({ sealed }) => keyIdOf(sealed as Uint8Array))),
]

async function withStoreOf(open: OpenEmptyStore, work: (estate: Estate) => Promise<void>): Promise<void> {
  const opened = await open()
  try {
    await work(new Estate(opened))
  } finally {
    await opened.close()
  }
}

/** Puts another key to use, as a rotation does first. */
async function change({ store, opened: { keys } }: Estate, to = newKey()): Promise<MasterKey> {
  const [row] = await store.readVault()
  const secret = keys.open(row?.sealedSecret ?? new Uint8Array(), STORE_SECRET_CONTEXT)
  const sealedSecret = to.seal(secret, STORE_SECRET_CONTEXT)
  await store.changeMasterKey({ from: row?.keyId ?? '', to: to.id, sealedSecret, at: 5 })
  return to
}

/** By its id alone, in whichever partition it is. */
export function describeResealing(open: OpenEmptyStore): void {
  test('a credential is sealed again only where it is still as before, and nothing else of the token changes', () =>
    withStoreOf(open, async (estate) => {
      const { store } = estate
      const account = await estate.account()
      const subAccount = await estate.subAccount(account)
      const [first, second] = [await estate.token(subAccount, 'a'), await estate.token(subAccount, 'b')]
      const look = async () => ({
        history: await store.listHistory(account.id, FIRST_PAGE),
        rows: (await store.readRows(TOKENS, undefined, 10)).map(({ sealed: _, ...rest }) => rest),
      })
      const before = await look()
      const key = await change(estate)
      const after = key.seal('again', 'nowhere')
      const replaced = await store.resealTokens([
        { id: first.id, before: first.sealed, after },
        { id: second.id, before: first.sealed, after },
        { id: 'tok_none', before: first.sealed, after },
      ])
      assert.equal(replaced, 1)
      const sealed = (await store.readRows(TOKENS, undefined, 10)).map((row) => Buffer.from(row.sealed as Uint8Array))
      assert.deepEqual(sealed, [after, second.sealed])
      assert.deepEqual(await look(), before)
    }))
}

export function describeMasterKeys(open: OpenEmptyStore): void {
  const withStore = (work: (estate: Estate) => Promise<void>) => withStoreOf(open, work)

  describeResealing(open)

  test('a credential is stored only if it is sealed with the key that seals', () =>
    withStore(async (estate) => {
      const { store } = estate
      const account = await estate.account()
      const subAccount = await estate.subAccount(account)
      const token = await estate.token(subAccount, 'before')
      const key = await change(estate)
      const former = estate.sealed()
      const refused = { code: 'master-key-superseded' }
      const rotation = { sealed: former, digest: estate.digest(), formerUntil: 0 }
      const changes = {
        insert: () => estate.token(subAccount, 'after'),
        rotate: () => rotateToken(store, account.id, token.id, rotation, estate.origin()),
        reseal: () => store.resealTokens([{ id: token.id, before: token.sealed, after: former }]),
        change: () => store.changeMasterKey({ from: keyIdOf(former), to: 'x', sealedSecret: former, at: 6 }),
      }
      const before = await store.readRows(TOKENS, undefined, 10)
      for (const [name, attempt] of Object.entries(changes)) await assert.rejects(attempt(), refused, name)
      assert.deepEqual(await store.readRows(TOKENS, undefined, 10), before)
      assert.equal((await store.readVault()).length, 2)
      await estate.token(subAccount, 'after', { sealed: key.seal('x', 'nowhere') })
      await rotateToken(store, account.id, token.id, { ...rotation, sealed: key.seal('x', 'y') }, estate.origin())
    }))

  test('once another key seals, none sealed with the former one is added, not by those who had begun before', () =>
    withStore(async (estate) => {
      const account = await estate.account()
      const subAccount = await estate.subAccount(account)
      const inserts = Array.from({ length: 300 }, (_, n) => estate.token(subAccount, `t${n}`))
      const settled = Promise.allSettled(inserts)
      await inserts[100]?.catch(() => {})
      const { id } = await change(estate)
      const seen = await estate.store.readRows(TOKENS, undefined, 10_000)
      const outcomes = await settled
      const refusals = outcomes.filter((each) => each.status === 'rejected')
      for (const { reason } of refusals) assert.equal(reason.code, 'master-key-superseded')
      const stored = await estate.store.readRows(TOKENS, undefined, 10_000)
      assert.equal(stored.length, outcomes.length - refusals.length)
      assert.deepEqual(stored, seen)
      assert.ok(!(await namedKeys(estate.store)).includes(id))
    }))

  test('once an account stores no credentials, none is added or rotated in, not by those who had begun before', () =>
    withStore(async (estate) => {
      const parts = await rotating(estate)
      const operator = new Operator(parts)
      const { id: accountId } = await estate.account()
      const { id: subAccountId } = await estate.subAccount({ id: accountId, name: '', createdAt: 0, credentials: null })
      const caller = operator.actFor(accountId)
      const [old] = await operator.createTokens([{ accountId, subAccountId, name: 'old' }])
      /** Its changes reach the store after the account was set, though they began before. */
      const store = new Proxy(estate.store, {
        get: (target, name) => {
          const operation = (target[name as keyof Store] as (...args: unknown[]) => unknown).bind(target)
          if (name !== 'insertTokens' && name !== 'changeToken') return operation
          return async (...args: unknown[]) => {
            await operator.setCredentials(accountId, 'once')
            return operation(...args)
          }
        },
      })
      const late = { ...parts, keys: parts.keys, store }
      const registry = new Registry(late)
      const attempts = [
        () => registry.createToken(caller, { subAccountId, name: 'created' }, estate.origin()),
        () => registry.rotateToken(caller, old?.id ?? '', 0, estate.origin()),
        () => new Operator(late).createTokens(['1', '2'].map((name) => ({ accountId, subAccountId, name }))),
      ]
      for (const attempt of attempts) {
        await operator.setCredentials(accountId, null)
        await attempt()
        const rows = await estate.store.readRows(TOKENS, undefined, 10)
        assert.ok(!rows.some(({ sealed }) => holdsText(sealed as Uint8Array)))
      }
    }))

  test('a key is retired once, and the one that seals never', () =>
    withStore(async (estate) => {
      const { store } = estate
      const [former] = await store.readVault()
      const { id } = await change(estate)
      for (const each of [id, former?.keyId ?? '', former?.keyId ?? '', 'none']) await store.retireMasterKey(each, 9)
      assert.deepEqual(
        (await store.readVault()).map(({ keyId, seals }) => [keyId, seals]),
        [[id, true]],
      )
      assert.deepEqual(await store.listRetiredMasterKeys(), [former?.keyId])
    }))

  test('a rotation that ends at any step, before or after it, is carried on to the same key, and loses nothing', () =>
    withStore(async (estate) => {
      const parts = await rotating(estate)
      const credentials = await someTokens(estate, parts)
      let interruptions = 0
      for (let step = 1; ; step++) {
        const outcomes = []
        for (const moment of ['before', 'after'] as const) {
          const [from = ''] = (await estate.store.readVault()).map(({ keyId }) => keyId)
          const interrupted = await interruptedAt(parts, step, moment)
          const wanted = parts.kept[0]
          if (interrupted) {
            interruptions++
            await requireAll(estate, parts, credentials)
            if (parts.kept.length > 1) assert.equal((await rotate(parts)).masterKey, wanted)
            else await rotate(parts)
          }
          outcomes.push(interrupted)
          await requireAll(estate, parts, credentials)
          const vault = await estate.store.readVault()
          assert.deepEqual(
            parts.kept,
            vault.map(({ keyId }) => keyId),
          )
          assert.deepEqual(await namedKeys(estate.store), parts.kept)
          assert.notEqual(parts.kept[0], from)
        }
        if (!outcomes.includes(true)) break
      }
      // Made, put to use, four parts, retired, forgotten: each of them before and after.
      assert.equal(interruptions, 16)
    }))

  test('a rotation does not give up the old key while a credential that names it does not open, and names the token', () =>
    withStore(async (estate) => {
      const parts = await rotating(estate)
      const credentials = await someTokens(estate, parts)
      const [id = ''] = credentials.keys()
      const account = await estate.account()
      const spoilt = await estate.token(await estate.subAccount(account), 'spoilt')
      await assert.rejects(rotate(parts), { name: 'OperatorError', message: new RegExp(`^1 credential.*${spoilt.id}`) })
      await requireAll(estate, parts, credentials)
      assert.equal(parts.kept.length, 2)
      assert.equal((await estate.store.readVault()).length, 2)
      assert.ok(credentials.has(id))
      await deleteToken(estate.store, account.id, spoilt.id, estate.origin())
      assert.equal((await rotate(parts)).resumed, true)
      assert.equal(parts.kept.length, 1)
    }))

  test('a key that was retired is not put to use again', () =>
    withStore(async (estate) => {
      const { store, opened } = estate
      const former = opened.keys.first
      const key = newKey()
      const settings = (keys: readonly [MasterKey, ...MasterKey[]]) => ({
        ...{ store, keys: new KeyRing(keys), keeper: undefined, now: () => 7 },
      })
      const report = await rotateMasterKey(settings([key, former]), () => () => {})
      assert.deepEqual(report, {
        ...{ masterKey: key.id, retired: [former.id], keptIn: [] },
        ...{ tokens: 0, resealed: 0, resumed: false },
      })
      const vault = await store.readVault()
      const wrong = { name: 'OperatorError', message: /was retired before/ }
      await assert.rejects(
        rotateMasterKey(settings([former, key]), () => () => {}),
        wrong,
      )
      assert.deepEqual(await store.readVault(), vault)
    }))

  test('a rotation to a given key that is run again when it is over says the same, and changes nothing', () =>
    withStore(async (estate) => {
      const { store, opened } = estate
      const [former, key, stranger] = [opened.keys.first, newKey(), newKey()]
      const run = (...keys: [MasterKey, ...MasterKey[]]) =>
        rotateMasterKey({ store, keys: new KeyRing(keys), keeper: undefined, now: () => 7 }, () => () => {})
      const report = await run(key, former)
      const vault = await store.readVault()
      assert.deepEqual(await run(key, former), { ...report, resumed: true })
      // With no other key, or one that was not put first, there is still something that the operator has to do.
      const instructions = { name: 'OperatorError', message: /which this command cannot change/ }
      await assert.rejects(run(key), instructions)
      await assert.rejects(run(key, former, stranger), instructions)
      assert.deepEqual(await store.readVault(), vault)
      assert.deepEqual(await store.listRetiredMasterKeys(), [former.id])
    }))
}

/** A rotation whose keys are kept here, in place of a file. */
async function rotating({ store, opened }: Estate) {
  const made = new Map([[opened.keys.first.id, opened.keys.first]])
  const parts = {
    store,
    stamps: opened.stamps,
    now: () => 7,
    onTampered() {},
    kept: [opened.keys.first.id],
    /** As a process that starts now has it. */
    get keys(): KeyRing {
      const read = () => parts.kept.map((id) => made.get(id) as MasterKey) as [MasterKey, ...MasterKey[]]
      return new KeyRing(read(), read)
    },
    keeper: {
      make() {
        const key = newKey()
        made.set(key.id, key)
        parts.kept.unshift(key.id)
      },
      retire(ids: readonly string[]) {
        parts.kept = parts.kept.filter((id) => !ids.includes(id))
      },
      fileOfRetired: (id: string) => `retired ${id}`,
    },
  }
  return parts
}

type Rotating = Awaited<ReturnType<typeof rotating>>

const rotate = ({ store, keys, keeper, now }: Rotating) => rotateMasterKey({ store, keys, keeper, now }, () => () => {})

const STEPS = ['make', 'changeMasterKey', 'resealTokens', 'retireMasterKey', 'retire']

/** False where the rotation has no such step. */
async function interruptedAt(parts: Rotating, fatal: number, moment: 'before' | 'after'): Promise<boolean> {
  let steps = 0
  const ending = <Part extends object>(part: Part): Part =>
    new Proxy(part, {
      get(object, name) {
        const operation = Reflect.get(object, name) as (...args: unknown[]) => unknown
        if (!STEPS.includes(String(name))) return operation.bind(object)
        return (...args: unknown[]) => {
          const end = ++steps === fatal
          if (end && moment === 'before') throw new Error('interrupted')
          const answer = Reflect.apply(operation, object, args)
          if (!end) return answer
          if (answer === undefined) throw new Error('interrupted')
          return Promise.resolve(answer).then(() => Promise.reject(new Error('interrupted')))
        }
      },
    })
  const { store, keys, keeper, now } = parts
  try {
    await rotateMasterKey({ store: ending(store), keys, keeper: ending(keeper), now }, () => () => {})
    return false
  } catch (error) {
    assert.equal((error as Error).message, 'interrupted')
    return true
  }
}

/** In more than three parts, made by a process that goes on while the keys change. */
async function someTokens(estate: Estate, parts: Rotating): Promise<ReadonlyMap<string, string>> {
  const { id: accountId } = await estate.account()
  const { id: subAccountId } = await estate.subAccount({ id: accountId, name: '', createdAt: 0, credentials: null })
  const operator = new Operator({ ...parts, keys: parts.keys })
  const credentials = Array.from({ length: 350 }, (_, n) => `credential ${n}`.replace(' ', '-'))
  const records = await operator.createTokens(
    credentials.map((credential) => ({ accountId, subAccountId, name: credential, credential })),
  )
  return new Map(records.map(({ id }, n) => [id, credentials[n] ?? '']))
}

/** Every credential opens with the keys that are kept, and new ones are made. */
async function requireAll(estate: Estate, parts: Rotating, credentials: ReadonlyMap<string, string>): Promise<void> {
  const keys = parts.keys
  for (const row of await estate.store.readRows(TOKENS, undefined, 10_000)) {
    const token = row as unknown as TokenRecord
    const credential = credentials.get(token.id)
    if (credential !== undefined) assert.equal(keys.openCredential(token), credential)
  }
  const account = await estate.account()
  const { id: subAccountId } = await estate.subAccount(account)
  const registry = new Registry({ ...parts, keys })
  const caller = { accountId: account.id, by: 'test', permissions: EVERYTHING }
  const made = await registry.createToken(caller, { subAccountId, name: 'new' }, estate.origin())
  await registry.deleteToken(caller, made.id, estate.origin())
}
