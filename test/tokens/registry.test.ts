// The service's verbs, on a real store.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { after, before, beforeEach, describe, test } from 'node:test'
import { Failure } from '../../src/tokens/model/errors.ts'
import type { Token } from '../../src/tokens/model/token.ts'
import type { SubAccountUpdate } from '../../src/tokens/model/update.ts'
import { newCredential } from '../../src/tokens/trust/credential.ts'
import { MasterKey } from '../../src/tokens/trust/vault.ts'
import { anAccount, openService, type TestService } from '../support/service.ts'
import { FIRST_PAGE, refusal, START } from '../support/store.ts'

let service: TestService
before(async () => {
  service = await openService()
})
after(() => service.opened.close())
beforeEach(() => {
  service.clock.now = START
  service.tampered.length = 0
})

const origin = () => service.operator.origin()

async function aToken(name = 'CI') {
  const owned = await anAccount(service)
  const token = await service.registry.createToken(owned.caller, { subAccountId: owned.subAccount.id, name }, origin())
  return { ...owned, token }
}

async function verdict(credential: string): Promise<string> {
  const found = await service.registry.verification.verify(credential)
  return found.accepted ? 'accepted' : found.reason
}

/** Changes a row behind the service's back, as a person with the database file could. */
function alterByHand(sql: string, ...values: (string | number | Uint8Array)[]): void {
  const db = new DatabaseSync(service.opened.path)
  db.prepare(sql).run(...values)
  db.close()
}

describe('authentication', () => {
  test('refuses a key from its expiry on', async () => {
    const { account } = await anAccount(service)
    const { key } = await service.operator.createKey(account.id, 'short', START + 10)
    service.clock.now = START + 9
    await service.registry.authenticate(key)
    service.clock.now = START + 10
    await assert.rejects(service.registry.authenticate(key), { code: 'token-expired', message: 'Token expired' })
  })

  test("tells a token's credential that it is one, or why it is dead", async () => {
    const { caller, subAccount, token } = await aToken()
    const code = async (credential: string) => (await refusal(service.registry.authenticate(credential))).code
    assert.equal(await code(token.credential), 'token-cannot-manage')
    await service.registry.updateToken(caller, token.id, { status: 'inactive' }, origin())
    assert.equal(await code(token.credential), 'token-inactive')
    const fields = { subAccountId: subAccount.id, name: 'short', expiresAt: START + 5 }
    const short = await service.registry.createToken(caller, fields, origin())
    assert.equal(await code(short.credential), 'token-cannot-manage')
    await service.registry.updateSubAccount(caller, subAccount.id, { status: 'suspended' }, origin())
    assert.equal(await code(short.credential), 'token-inactive')
    service.clock.now = START + 5
    assert.equal(await code(short.credential), 'token-expired')
    assert.equal(await code(newCredential('tok')), 'token-invalid')
  })
})

describe('tokens', () => {
  test('made are told of without being read again, and are what is read', async (t) => {
    const { caller, subAccount } = await anAccount(service)
    const fields = { subAccountId: subAccount.id, name: 'CI', status: 'inactive', expiresAt: START + 5 } as const
    const reading = t.mock.method(service.opened.store, 'findToken', () => Promise.reject(new Failure('unavailable')))
    const made = await service.registry.createToken(caller, fields, origin())
    reading.mock.restore()
    const read = await service.registry.getToken(caller, made.id)
    const shown = ({ id, name, credential, status, createdAt, version, subAccount: owner }: Token) => [
      id,
      name,
      credential,
      status,
      createdAt,
      version,
      owner.id,
      owner.name,
      owner.email,
      owner.companyName,
    ]
    assert.deepEqual(shown(made), shown(read))
  })
})

describe('verification', () => {
  test('notes a use of what it accepts, and of nothing else', async () => {
    const { caller, token } = await aToken()
    const lastUsedAt = async () => {
      await service.registry.verification.uses.flush()
      return (await service.registry.getToken(caller, token.id, { details: true })).details?.lastUsedAt
    }
    await service.registry.verification.introspect(token.credential)
    assert.equal(await lastUsedAt(), null)
    await verdict(token.credential)
    assert.equal(await lastUsedAt(), START)
    // Uses are noted at most once a minute: from now on each use would be noted.
    service.clock.now += 3_600_000
    await service.registry.updateToken(caller, token.id, { status: 'inactive' }, origin())
    await verdict(token.credential)
    assert.equal(await lastUsedAt(), START)
    await service.registry.updateToken(caller, token.id, { status: 'active' }, origin())
    await verdict(token.credential)
    assert.equal(await lastUsedAt(), service.clock.now)
  })

  test('no later change makes good what was altered by hand', async () => {
    const { caller, token } = await aToken()
    const { registry } = service
    await registry.updateToken(caller, token.id, { status: 'inactive' }, origin())
    alterByHand(`UPDATE tokens SET status = 'active' WHERE id = ?`, token.id)
    await registry.updateToken(caller, token.id, { name: 'renamed' }, origin())
    assert.equal(await verdict(token.credential), 'tampered')
    const rotated = await registry.rotateToken(caller, token.id, 60, origin())
    assert.equal(await verdict(rotated.credential), 'tampered')
    assert.equal(await verdict(token.credential), 'tampered')
    for (const status of ['inactive', 'active'] as const) {
      await registry.updateToken(caller, token.id, { status }, origin())
      assert.equal(await verdict(rotated.credential), 'tampered')
    }
  })

  test('a sub-account altered in the database stays refused until an update sets both its status and its policy', async () => {
    const { caller, subAccount, token } = await aToken()
    const update = async (change: SubAccountUpdate) =>
      (await service.registry.updateSubAccount(caller, subAccount.id, change, origin())).subAccount
    await update({ status: 'suspended', policy: { maxLifetimeSeconds: 60 } })
    alterByHand('UPDATE sub_accounts SET suspended_at = NULL, policy = ? WHERE id = ?', '{"scopes":[]}', subAccount.id)
    const parts: SubAccountUpdate[] = [
      { name: 'renamed' },
      { status: 'suspended' },
      { status: 'active' },
      { policy: {} },
    ]
    for (const change of parts) {
      await update(change)
      assert.equal(await verdict(token.credential), 'tampered')
    }
    const [quota, rate] = [
      { limit: 5, per: 'day' },
      { limit: 5, seconds: 1 },
    ]
    assert.equal((await update({ status: 'active', policy: { quota } })).policy, JSON.stringify({ quota }))
    assert.equal(await verdict(token.credential), 'accepted')
    await update({ status: 'active', policy: { rate } })
    const { policy } = await update({ status: 'suspended' })
    assert.equal(policy, JSON.stringify({ quota, rate }))
    assert.equal(await verdict(token.credential), 'suspended')
  })

  test('a sub-account whose stamp alone was altered works again once its owner names what it has', async () => {
    const { caller, subAccount, token } = await aToken()
    alterByHand('UPDATE sub_accounts SET stamp = ? WHERE id = ?', new Uint8Array(32), subAccount.id)
    assert.equal(await verdict(token.credential), 'tampered')
    await service.registry.updateSubAccount(caller, subAccount.id, { status: 'active', policy: null }, origin())
    assert.equal(await verdict(token.credential), 'accepted')
  })

  test('a credential moved to another row does not open there, and says so to the operator', async () => {
    const { caller, subAccount, token } = await aToken()
    const other = await service.registry.createToken(caller, { subAccountId: subAccount.id, name: 'other' }, origin())
    alterByHand('UPDATE tokens SET sealed = (SELECT sealed FROM tokens WHERE id = ?) WHERE id = ?', token.id, other.id)
    const shown = await service.registry.getToken(caller, other.id)
    assert.deepEqual([shown.credential, shown.credentialUnreadable], ['', true])
    assert.deepEqual(service.tampered, [other.id])
  })

  test('a credential that names a key which the store does not know was altered, and is not taken for a forgotten key', async () => {
    const { caller, token } = await aToken()
    const sealed = new MasterKey(randomBytes(32)).seal('x', 'anywhere')
    alterByHand('UPDATE tokens SET sealed = ? WHERE id = ?', sealed, token.id)
    assert.equal((await service.registry.getToken(caller, token.id)).credential, '')
    assert.equal((await service.registry.listTokens(caller, FIRST_PAGE)).items[0]?.credential, '')
    assert.deepEqual(service.tampered, [token.id, token.id])
  })

  test('a credential sealed with a key of the store that this process lacks is unavailable, also to be revealed', async () => {
    const { caller, token } = await aToken()
    const other = new MasterKey(randomBytes(32))
    alterByHand(
      'INSERT INTO vault (key_id, sealed_secret, created_at, seals) VALUES (?, ?, 1, 0)',
      other.id,
      Buffer.of(1),
    )
    alterByHand('UPDATE tokens SET sealed = ? WHERE id = ?', other.seal('x', 'anywhere'), token.id)
    await assert.rejects(service.registry.getToken(caller, token.id), { code: 'unavailable' })
    await assert.rejects(service.registry.revealToken(caller, token.id, origin()), { code: 'unavailable' })
    const update = service.registry.updateToken(caller, token.id, { status: 'inactive' }, origin())
    await assert.rejects(update, { code: 'outcome-unknown' })
    assert.deepEqual(service.tampered, [])
    alterByHand('DELETE FROM vault WHERE key_id = ?', other.id)
  })
})
