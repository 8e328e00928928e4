// The last verifications of tokens: merged by the store with what is on record, and gone with their token, or with time.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS } from '../../../src/tokens/usage/usage.ts'
import type { RecentVerification } from '../../../src/tokens/verify/recent-verifications.ts'
import { rotateToken } from '../../support/store.ts'
import type { Part } from '../contract.ts'

const MINUTE = 60_000
const NOW = Date.UTC(2031, 4, 30, 22)
const from = (address: string, at: number): RecentVerification => ({ reason: null, address, at })
const NOTHING_KEPT = { day: 0, month: 0, busiestDay: 0, reportedAt: 0 }

export const describeRecentVerifications: Part = (estate) => {
  async function aToken() {
    const account = await estate().account()
    const { id } = await estate().token(await estate().subAccount(account), 'verified')
    return { accountId: account.id, id }
  }

  test('what several instances note of the same tokens at the same time is all on record, and each is answered with that', async () => {
    const { store, opened } = estate()
    const other = await opened.openAnother()
    try {
      const ids = [(await aToken()).id, (await aToken()).id]
      for (const round of [0, 1]) {
        const noting = [store, other, store, other].map((each, n) => {
          const noted: RecentVerification = {
            reason: 'scope',
            address: `10.0.${round}.${n}`,
            at: NOW + round * MINUTE + n,
          }
          return each.saveRecent(new Map(ids.map((id) => [id, [noted]])))
        })
        const answers = await Promise.all(noting)
        for (const id of ids) {
          const recent = await store.findRecent(id)
          const expected = [3, 2, 1, 0].map((n) => `10.0.${round}.${n}`)
          assert.deepEqual(
            recent.slice(0, 4).map(({ address }) => address),
            expected,
          )
          assert.equal(recent.length, round === 0 ? 4 : 5)
          assert.ok(answers.some((answer) => answer.get(id)?.length === recent.length))
          assert.deepEqual(await other.findRecent(id), recent)
        }
      }
    } finally {
      await other.close()
    }
  })

  test('a verification within a minute of the one on record, or before it, changes nothing', async () => {
    const { store } = estate()
    const { id } = await aToken()
    for (const [at, expected] of [
      [NOW, NOW],
      [NOW + MINUTE - 1, NOW],
      [NOW - 5 * MINUTE, NOW],
      [NOW + MINUTE, NOW + MINUTE],
    ] as const) {
      const answer = await store.saveRecent(new Map([[id, [from('a', at)]]]))
      assert.deepEqual(answer.get(id), [from('a', expected)])
      assert.deepEqual(await store.findRecent(id), [from('a', expected)])
    }
  })

  test('nothing is on record of tokens that are unknown, and what was goes with its token', async () => {
    const { store } = estate()
    const { accountId, id } = await aToken()
    const noted = [from('a', NOW)]
    const save = () => store.saveRecent(new Map([id, 'tok_unknown'].map((each) => [each, noted])))
    await save()
    assert.deepEqual(await store.findRecent('tok_unknown'), [])
    assert.deepEqual(await store.findRecent(id), noted)
    await store.changeToken(accountId, id, { kind: 'delete' }, estate().origin())
    assert.deepEqual(await store.findRecent(id), [])
    await save()
    assert.deepEqual(await store.findRecent(id), [])
  })

  test('tokens that were not verified since a day are forgotten, a few at a time', async () => {
    const { store } = estate()
    const ids = await Promise.all([0, 1, 2, 3].map(async () => (await aToken()).id))
    await store.saveRecent(new Map(ids.map((id, n) => [id, [from('a', n * DAY_MS)]])))
    const kept = async () => (await Promise.all(ids.map((id) => store.findRecent(id)))).map(({ length }) => length)
    assert.equal(await store.ageUsage({ ...NOTHING_KEPT, recentDay: 3 }, 2), 2)
    assert.deepEqual(await kept(), [0, 0, 1, 1])
    assert.equal(await store.ageUsage({ ...NOTHING_KEPT, recentDay: 3 }, 2), 1)
    assert.deepEqual(await kept(), [0, 0, 0, 1])
    await store.saveRecent(new Map(ids.map((id) => [id, [from('b', 5 * DAY_MS)]])))
    await store.ageUsage({ ...NOTHING_KEPT, recentDay: 5 }, 100)
    assert.deepEqual(await kept(), [1, 1, 1, 2])
  })

  test('the last use of a former credential is shown while it works, whichever of several was used last', async () => {
    const { store } = estate()
    const { accountId, id } = await aToken()
    const rotate = (at: number, formerUntil: number) => {
      const rotation = { sealed: estate().sealed(), digest: estate().digest(), formerUntil }
      return rotateToken(store, accountId, id, rotation, estate().origin(at))
    }
    const shown = async (at: number) => {
      const activity = (await store.findActivity([id], at)).get(id)
      return (
        activity && [
          activity.formerCredentialUntil,
          activity.formerCredentialLastUsedAt,
          activity.formerCredentialLastUsedFrom,
        ]
      )
    }
    assert.equal(await shown(NOW), undefined)
    await rotate(NOW, NOW + 10 * MINUTE)
    await rotate(NOW, NOW + 20 * MINUTE)
    assert.deepEqual(await shown(NOW), [NOW + 20 * MINUTE, null, null])
    const use = (formerUntil: number, at: number) => ({ ...from(`${at}`, at), formerUntil })
    await store.saveRecent(
      new Map([[id, [use(NOW + 20 * MINUTE, NOW + 1), use(NOW + 10 * MINUTE, NOW + 2), from('current', NOW + 3)]]]),
    )
    assert.deepEqual(await shown(NOW), [NOW + 20 * MINUTE, NOW + 2, `${NOW + 2}`])
    assert.deepEqual(await shown(NOW + 10 * MINUTE), [NOW + 20 * MINUTE, NOW + 1, `${NOW + 1}`])
    assert.equal(await shown(NOW + 20 * MINUTE), undefined)
    // Ended by a rotation, though its time is not over.
    await rotate(NOW + 4, NOW)
    await rotate(NOW + 5, NOW + 30 * MINUTE)
    assert.deepEqual(await shown(NOW), [NOW + 30 * MINUTE, null, null])
  })
}
