// The account key or session that a change is made by is checked inside the transaction of the change.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Origin } from '../../../src/tokens/history/history.ts'
import type { Authority } from '../../../src/tokens/model/permissions.ts'
import { IDLE_MS } from '../../../src/tokens/people/session.ts'
import { type Estate, FIRST_PAGE } from '../../support/store.ts'
import type { Part } from '../contract.ts'

/** An account with something to change, and every change that a caller can ask for. */
async function changesOf(estate: Estate) {
  const { store } = estate
  const account = await estate.account()
  const subAccount = await estate.subAccount(account)
  const token = await estate.token(subAccount, 'T')
  const { id, accountId } = token
  const other = await estate.key(account)
  const session = estate.sessionRecord(account)
  await store.insertSession(session, estate.origin())
  const update = (status: 'active' | 'inactive') => (origin: Origin) =>
    store.changeToken(accountId, id, { kind: 'update', update: { status } }, origin)
  const changes: Record<string, (origin: Origin) => Promise<unknown>> = {
    updateAccount: (origin) => store.updateAccount(accountId, { name: 'Other' }, origin),
    insertKey: (origin) => store.insertKey({ ...other, id: 'key_new', digest: estate.digest() }, origin),
    revokeKey: (origin) => store.revokeKey(other.id, origin),
    'revokeKey of none': (origin) => store.revokeKey('key_none', origin),
    revokeSession: (origin) => store.revokeSession(accountId, session.id, origin),
    insertSubAccounts: (origin) => store.insertSubAccounts([estate.subAccountRecord(account)], origin),
    updateSubAccount: (origin) => store.updateSubAccount(accountId, subAccount.id, { status: 'suspended' }, origin),
    openPortal: (origin) => store.openPortal(subAccount, estate.portalSession(subAccount), origin),
    'closePortal of none': (origin) => store.closePortal(subAccount, 'por_none', origin),
    insertTokens: (origin) => store.insertTokens([estate.tokenRecord(subAccount, 'A')], origin),
    'insertTokens of several': (origin) =>
      store.insertTokens([estate.tokenRecord(subAccount, 'B'), estate.tokenRecord(subAccount, 'C')], origin),
    changeToken: update('inactive'),
    'changeToken that changes nothing': update('active'),
    'changeToken of none': (origin) => store.changeToken(accountId, 'tok_none', { kind: 'delete' }, origin),
  }
  return {
    account,
    subAccount,
    token,
    session,
    changes,
    total: async () => (await store.listHistory(accountId, FIRST_PAGE)).total,
  }
}

export const describeAuthority: Part = (estate) => {
  const origin = (authority: Authority, at?: number): Origin => ({ ...estate().origin(at), authority })

  async function assertRefused({ changes, total }: Awaited<ReturnType<typeof changesOf>>, by: Origin, code: string) {
    const before = await total()
    for (const [name, change] of Object.entries(changes)) await assert.rejects(change(by), { code }, name)
    assert.equal(await total(), before)
  }

  test('a key that is revoked, has expired or never existed changes nothing', async () => {
    const made = await changesOf(estate())
    const revoked = await estate().key(made.account)
    await estate().store.revokeKey(revoked.id, estate().origin())
    await assertRefused(made, origin({ kind: 'key', id: revoked.id }), 'token-invalid')
    await assertRefused(made, origin({ kind: 'key', id: 'key_nothing' }), 'token-invalid')
    const expiresAt = estate().tick() + 1_000
    const { id } = await estate().key(made.account, { expiresAt })
    await assertRefused(made, origin({ kind: 'key', id }, expiresAt), 'token-expired')
    assert.ok(await made.changes.changeToken?.(origin({ kind: 'key', id }, expiresAt - 1)))
  })

  test('a session that was ended, has expired or never existed changes nothing', async () => {
    const made = await changesOf(estate())
    const authority = { kind: 'session', id: made.session.id } as const
    const endsAt = made.session.seenAt + IDLE_MS
    await assertRefused(made, origin(authority, endsAt), 'token-expired')
    assert.ok(await made.changes.changeToken?.(origin(authority, endsAt - 1)))
    await estate().store.deleteSession(made.session.id)
    await assertRefused(made, origin(authority), 'token-invalid')
    await assertRefused(made, origin({ kind: 'session', id: 'ses_nothing' }), 'token-invalid')
  })

  test('a session of the portal that was ended, has expired or whose maker has ended changes nothing', async () => {
    const made = await changesOf(estate())
    const { account, subAccount } = made
    const { store } = estate()
    const opened = async (maker: string | null) => {
      const session = estate().portalSession(subAccount, { maker })
      await store.openPortal(subAccount, session, estate().origin())
      return { session, authority: { kind: 'portal', id: session.id } as const }
    }
    const [byKey, byPerson, byNobody] = [
      await estate().key(account),
      estate().sessionRecord(account),
      await opened(null),
    ]
    await store.insertSession(byPerson, estate().origin())
    const [ofKey, ofPerson] = [await opened(byKey.id), await opened(byPerson.id)]
    const before = estate().tick()
    for (const { authority } of [ofKey, ofPerson, byNobody]) {
      const update = { kind: 'update', update: { name: `by ${authority.id}` } } as const
      await store.changeToken(account.id, made.token.id, update, origin(authority, before))
    }
    await assertRefused(made, origin(byNobody.authority, byNobody.session.expiresAt), 'token-expired')
    await store.closePortal(subAccount, byNobody.session.id, estate().origin())
    await store.revokeKey(byKey.id, estate().origin())
    await store.deleteSession(byPerson.id)
    // Also what began before.
    for (const { authority } of [ofKey, ofPerson, byNobody]) {
      await assertRefused(made, origin(authority, before), 'token-invalid')
    }
    await assertRefused(made, origin({ kind: 'portal', id: 'por_nothing' }), 'token-invalid')
  })

  test('no change of a key comes after its revocation, however many are under way', async () => {
    const account = await estate().account()
    const subAccount = await estate().subAccount(account)
    const { id } = await estate().key(account)
    const tokens = await estate().tokens(
      Array.from({ length: 40 }, (_, n) => estate().tokenRecord(subAccount, `T${n}`)),
    )
    const by = { ...origin({ kind: 'key', id }), by: id }
    const change = { kind: 'update', update: { status: 'inactive' } } as const
    const changing = tokens.map(async (token, n) => {
      if (n === 20) await estate().store.revokeKey(id, estate().origin())
      await estate().store.changeToken(account.id, token.id, change, by)
    })
    const outcomes = await Promise.allSettled(changing)
    const { items } = await estate().store.listHistory(account.id, { page: 1, limit: 100 })
    const revoked = items.find(({ action }) => action === 'key.revoke')?.seq ?? 0
    const made = items.filter((row) => row.by === id)
    assert.deepEqual(
      made.filter(({ seq }) => seq > revoked),
      [],
    )
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, made.length)
  })
}
