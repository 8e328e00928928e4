// Sessions of people who are signed in to the console.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PORTAL_SESSIONS, SESSIONS } from '../../../src/tokens/model/tables.ts'
import { IDLE_MS, LONGEST_MS, type StoredSession } from '../../../src/tokens/people/session.ts'
import { ENDED_MS, type PortalSession, SPENT_MS } from '../../../src/tokens/portal/session.ts'
import { isGenuine } from '../../../src/tokens/trust/stamp.ts'
import { credentialOf, FIRST_PAGE, plain } from '../../support/store.ts'
import type { Part } from '../contract.ts'

const MINUTE = 60_000

export const describeSessions: Part = (estate) => {
  const find = ({ digest }: StoredSession) => estate().store.findSession(credentialOf(digest))
  const started = async (...args: Parameters<ReturnType<typeof estate>['sessionRecord']>) => {
    const session = estate().sessionRecord(...args)
    await estate().store.insertSession(session, estate().origin())
    return session
  }
  const assertStored = async (session: StoredSession) => {
    const found = await find(session)
    assert.ok(found)
    assert.deepEqual(plain(found), plain(session))
    assert.equal(isGenuine(SESSIONS, found, estate().opened.stamps), true)
  }

  test('a session is found by its cookie, of which only the digest is stored, and by nothing else', async () => {
    const account = await estate().account()
    await assertStored(await started(account, { email: null, claims: '{"name":"Zoë ☂"}' }))
    await assertStored(await started(undefined))
    await assertStored(await started(account, { address: '2001:db8::1', userAgent: 'Mozilla/5.0 (Macintosh) ö' }))
    for (const cookie of ['', 'nothing', '💥']) assert.equal(await estate().store.findSession(cookie), undefined)
  })

  test('a use is written once a minute at most, and the choice of an account each time', async () => {
    const [first, second] = [await estate().account(), await estate().account()]
    const session = await started(undefined)
    const seen = (after: number) => estate().store.renewSession(session.id, session.createdAt + after)
    await seen(MINUTE - 1)
    await assertStored(session)
    await Promise.all([seen(MINUTE), seen(MINUTE + 1), seen(MINUTE + 2)])
    const { seenAt = 0 } = (await find(session)) ?? {}
    assert.ok(seenAt >= session.createdAt + MINUTE && seenAt <= session.createdAt + MINUTE + 2)
    for (const { id: accountId } of [first, first, second]) {
      await estate().store.chooseAccount(session.id, accountId, estate().origin())
      await assertStored({ ...session, seenAt, accountId })
    }
    const gone = estate().store.chooseAccount('ses_nothing', first.id, estate().origin())
    await assert.rejects(gone, { code: 'token-invalid' })
  })

  test('sessions of all accounts are listed, newest first, as many at a time as are asked for', async () => {
    const account = await estate().account()
    const sessions = [await started(account), await started(undefined), await started(await estate().account())]
    const expected = sessions.map(({ id }) => id).reverse()
    const { store } = estate()
    const [first, second] = await store.listSessions('~', 2)
    assert.deepEqual([first?.id, second?.id], expected.slice(0, 2))
    assert.equal((await store.listSessions(second?.id ?? '', 100))[0]?.id, expected[2])
  })

  test('who enters an account and leaves it is in its history, once each', async () => {
    const [first, second] = [await estate().account(), await estate().account()]
    const session = await started(first)
    const { store } = estate()
    await Promise.all([1, 2].map(() => store.chooseAccount(session.id, second.id, estate().origin())))
    await Promise.all([1, 2].map(() => store.deleteSession(session.id, estate().origin())))
    const undecided = await started(undefined)
    await store.deleteSession(undecided.id, estate().origin())
    const expired = await started(second)
    await store.deleteSession(expired.id)
    const rows = async ({ id }: { id: string }) => {
      const { items } = await store.listHistory(id, FIRST_PAGE)
      return items
        .filter(({ action }) => action !== 'account.create')
        .map(({ action, subject, from, to }) => [action, subject, from.subject ?? null, to.subject ?? null])
    }
    assert.deepEqual(await rows(first), [['session.sign-in', session.id, null, 'alice']])
    assert.deepEqual(await rows(second), [
      ['session.sign-in', expired.id, null, 'alice'],
      ['session.sign-out', session.id, 'alice', null],
      ['session.choose', session.id, null, 'alice'],
    ])
  })

  test('a session that was ended is gone at once, and cannot be changed back into being', async () => {
    const account = await estate().account()
    const session = await started(account)
    await estate().store.deleteSession(session.id)
    assert.equal(await find(session), undefined)
    await estate().store.renewSession(session.id, session.createdAt + MINUTE)
    await estate().store.deleteSession(session.id, estate().origin())
    assert.equal(await find(session), undefined)
  })

  test('an owner ends a session, whatever account is chosen, with a row in the history of the own account that says whose', async () => {
    const [mine, theirs] = [await estate().account(), await estate().account()]
    const session = await started(theirs)
    const none = estate().store.revokeSession(mine.id, 'ses_nothing', estate().origin())
    await assert.rejects(none, { code: 'session-not-found' })
    await assertStored(session)
    await estate().store.revokeSession(mine.id, session.id, estate().origin())
    assert.equal(await find(session), undefined)
    const { items } = await estate().store.listHistory(mine.id, FIRST_PAGE)
    const { action, subject, subjectName, from, to } = items[0] ?? {}
    const expected = { action: 'session.revoke', subject: session.id, subjectName: 'alice@example.com' }
    assert.deepEqual({ action, subject, subjectName, from, to }, { ...expected, from: { subject: 'alice' }, to: {} })
  })

  test('what counts once is spent once, by any of what identifies it and by the first who asks, until it is long over', async () => {
    const { store } = estate()
    const [state, code, other] = [estate().digest(), estate().digest(), estate().digest()]
    const at = estate().tick()
    const outcomes = await Promise.all([1, 2, 3].map(() => store.spend([state, code], at)))
    assert.deepEqual(outcomes.toSorted(), [false, false, true])
    assert.equal(await store.spend([other, code], at + SPENT_MS - 1), false)
    assert.equal(await store.spend([state], at + SPENT_MS), true)
    assert.equal(await store.spend([state], at + SPENT_MS), false)
  })

  test('sessions of the portal are found by their id, and listed while they and their makers last', async () => {
    const { store } = estate()
    const account = await estate().account()
    const [one, two] = [await estate().subAccount(account), await estate().subAccount(account)]
    const [key, person] = [await estate().key(account), await started(account)]
    const open = async (subAccount: typeof one, fields: Partial<PortalSession> = {}) => {
      const session = estate().portalSession(subAccount, { origin: 'https://ü.example', byName: 'Zoë', ...fields })
      await store.openPortal(subAccount, session, estate().origin())
      return session
    }
    const [plainly, byKey, byPerson] = [
      await open(one),
      await open(two, { maker: key.id }),
      await open(two, { maker: person.id }),
    ]
    const found = await store.findPortalSession(plainly.id)
    assert.ok(found)
    assert.deepEqual(plain(found), plain(plainly))
    assert.equal(isGenuine(PORTAL_SESSIONS, found, estate().opened.stamps), true)
    assert.equal(await store.findPortalSession('por_x'), undefined)
    const listed = async (at = estate().tick(), within: readonly string[] | null = null, page = FIRST_PAGE) => {
      const { items, total } = await store.listPortalSessions(account.id, { ...page, at, within })
      return [total, ...items.map(({ id }) => id)]
    }
    const last = (await estate().account()).id
    assert.deepEqual((await store.listPortalSessions(last, { ...FIRST_PAGE, at: 0, within: null })).total, 0)
    assert.deepEqual(await listed(), [3, byPerson.id, byKey.id, plainly.id])
    assert.deepEqual(await listed(undefined, null, { page: 2, limit: 2 }), [3, plainly.id])
    assert.deepEqual(await listed(undefined, [one.id]), [1, plainly.id])
    assert.deepEqual(await listed(person.seenAt + IDLE_MS), [2, byKey.id, plainly.id])
    assert.deepEqual(await listed(plainly.expiresAt), [1, byKey.id])
    await store.revokeKey(key.id, estate().origin())
    assert.deepEqual(await listed(), [2, byPerson.id, plainly.id])
    await store.deleteSession(person.id)
    await store.closePortal(one, plainly.id, estate().origin())
    assert.deepEqual(await listed(), [0])
    const again = store.closePortal(one, plainly.id, estate().origin())
    await assert.rejects(again, { code: 'session-not-found' })
    await assert.rejects(store.closePortal(one, byPerson.id, estate().origin()), { code: 'session-not-found' })
    await open(one, { createdAt: plainly.expiresAt + ENDED_MS - 1 })
    assert.ok(await store.findPortalSession(plainly.id))
    await open(one, { createdAt: plainly.expiresAt + ENDED_MS })
    assert.equal(await store.findPortalSession(plainly.id), undefined)
  })

  test('a new session removes those that have ended, and no others', async () => {
    const account = await estate().account()
    const now = estate().tick()
    const idle = await started(account, { createdAt: now - IDLE_MS })
    const old = await started(account, { createdAt: now - LONGEST_MS, seenAt: now })
    const lasting = await started(account, { createdAt: now - LONGEST_MS + 1, seenAt: now - IDLE_MS + 1 })
    const fresh = await started(account, { createdAt: now })
    assert.deepEqual([await find(idle), await find(old)], [undefined, undefined])
    await assertStored(lasting)
    await assertStored(fresh)
  })
}
