// How a process takes units of rates and quotas for its verifications.
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Failure } from '../../src/tokens/errors.ts'
import { Limiter, type LimitVerdict } from '../../src/tokens/limiter.ts'
import { type LimitUse, leftOf } from '../../src/tokens/model/limit.ts'
import type { Limit } from '../../src/tokens/verify/policy.ts'
import { Clock, MemoryLimits, quota, rate } from '../support/limits.ts'

const NOON = Date.UTC(2026, 0, 31, 12)
const SECOND = 1_000
const HOUR = 3_600 * SECOND

const ofToken = (limit: Limit): LimitUse => ({ subject: 'tok_1', owner: 'token', limit })
const ofSubAccount = (limit: Limit): LimitUse => ({ subject: 'sub_1', owner: 'sub-account', limit })

let clock: Clock
let store: MemoryLimits
let limiter: Limiter

beforeEach(() => {
  clock = new Clock(NOON)
  store = new MemoryLimits(clock)
  limiter = new Limiter(store, clock)
})

const stateOf = ({ subject, limit }: LimitUse) => store.states.get(`${subject} ${limit.kind}`) ?? null
const left = (use: LimitUse) => leftOf(stateOf(use), use.limit, clock.now())
const atHand = (use: LimitUse) => limiter.leftOf(use, stateOf(use)) - left(use)

/** "yes", or what refuses, whose limit it is, and when to come again. */
const told = (verdict: LimitVerdict) =>
  verdict.accepted ? 'yes' : `${verdict.reason} ${verdict.by} ${verdict.retryAfterSeconds}`

async function takeSeveral(count: number, ...uses: readonly LimitUse[]): Promise<string[]> {
  const verdicts: string[] = []
  for (let n = 0; n < count; n++) verdicts.push(told(await limiter.take(uses)))
  return verdicts
}

describe('one after the other', () => {
  const small = ofToken(rate(3, 30))

  test('3 per 30 s: three are accepted, the fourth told to wait 10 s, and after it one is', async () => {
    const full = await limiter.take([ofSubAccount(rate(1, 3_600))])
    assert.equal(full.left[0]?.resetSeconds, 3_600)
    assert.deepEqual(await takeSeveral(4, small), ['yes', 'yes', 'yes', 'rate token 10'])
    clock.elapsed += 4_500
    assert.deepEqual(await takeSeveral(1, small), ['rate token 6'])
    clock.elapsed += 5_500
    assert.deepEqual(await takeSeveral(2, small), ['yes', 'rate token 10'])
  })

  test('Retry-After is right for long waits too: until the day or month ends, or until a slow bucket has one', async () => {
    assert.deepEqual(await takeSeveral(2, ofToken(quota(1, 'day'))), ['yes', `quota token ${12 * 3_600}`])
    clock.elapsed += HOUR
    assert.deepEqual(await takeSeveral(1, ofToken(quota(1, 'day'))), [`quota token ${11 * 3_600}`])
    assert.deepEqual(await takeSeveral(1, ofToken(rate(1, 86_400))), ['yes'])
    assert.deepEqual(await takeSeveral(1, ofToken(rate(1, 86_400))), ['rate token 86400'])
  })

  test('a quota that never ends tells nobody to come again', async () => {
    assert.deepEqual(await takeSeveral(2, ofToken(quota(1, 'ever'))), ['yes', 'quota token null'])
  })

  test('a used-up quota is accepted again when its day ends', async () => {
    const daily = ofToken(quota(2, 'day'))
    assert.deepEqual(await takeSeveral(3, daily), ['yes', 'yes', `quota token ${12 * 3_600}`])
    clock.elapsed += 12 * HOUR
    assert.deepEqual(await takeSeveral(3, daily), ['yes', 'yes', `quota token ${24 * 3_600}`])
  })

  test('what is refused uses nothing of any of the four limits, whichever refuses', async () => {
    const limits = (empty: number) =>
      [rate(10, 3_600), rate(11, 3_600), quota(12, 'day'), quota(13, 'day')].map((limit, at) =>
        (at % 2 === 0 ? ofToken : ofSubAccount)(at === empty ? { ...limit, limit: 1 } : limit),
      )
    for (const empty of [0, 1, 2, 3]) {
      store.states.clear()
      limiter = new Limiter(store, clock)
      const uses = limits(empty)
      assert.deepEqual(await takeSeveral(1, ...uses), ['yes'])
      const before = uses.map(left)
      assert.equal(before[empty], 0)
      const refusals = new Set(await takeSeveral(5, ...uses))
      assert.equal(refusals.size, 1)
      assert.match([...refusals][0] ?? '', new RegExp(`^${uses[empty]?.limit.kind} ${uses[empty]?.owner} `))
      assert.deepEqual(uses.map(left), before)
      // Another process that has not asked yet, too.
      limiter = new Limiter(store, clock)
      await takeSeveral(5, ...uses)
      assert.deepEqual(uses.map(left), before)
    }
  })

  test('the rate refuses before the quota, the token’s before its sub-account’s', async () => {
    const uses = [ofToken(rate(1, 60)), ofSubAccount(rate(1, 60)), ofToken(quota(1, 'day'))]
    assert.deepEqual(await takeSeveral(2, ...uses), ['yes', 'rate token 60'])
    assert.deepEqual(await takeSeveral(1, ...uses.slice(1)), ['rate sub-account 60'])
  })

  test('so it does where only the later one is known to be used up, by another token', async () => {
    const [own, shared] = [ofToken(rate(2, 60)), ofSubAccount(quota(2, 'ever'))]
    assert.deepEqual(await takeSeveral(2, own, shared), ['yes', 'yes'])
    assert.deepEqual(await takeSeveral(1, shared), ['quota sub-account null'])
    assert.deepEqual(await takeSeveral(1, own, shared), ['rate token 30'])
    clock.elapsed += 60 * SECOND
    const written = store.written
    assert.deepEqual(await takeSeveral(9, own, shared), Array(9).fill('quota sub-account null'))
    assert.ok(store.written - written <= 2, 'a limit that has something left is not asked about again and again')
  })

  test('a policy that is edited holds at once, in both directions', async () => {
    assert.deepEqual(await takeSeveral(4, small), ['yes', 'yes', 'yes', 'rate token 10'])
    const raised = ofToken(rate(300, 30))
    clock.elapsed += SECOND
    assert.deepEqual(new Set(await takeSeveral(10, raised)), new Set(['yes']))
    const large = ofToken(rate(100_000, 60))
    clock.elapsed += 60 * SECOND
    await takeSeveral(500, large)
    assert.deepEqual(await takeSeveral(4, small), ['yes', 'yes', 'yes', 'rate token 10'])
    assert.deepEqual(await takeSeveral(1, ofToken(quota(1, 'day'))), ['yes'])
    assert.deepEqual(await takeSeveral(2, ofToken(quota(2, 'day'))), ['yes', `quota token ${12 * 3_600 - 61}`])
  })

  test('a clock that is set back or forth gives nobody more, and refuses nobody for longer than its Retry-After', async () => {
    await takeSeveral(3, small)
    for (const step of [-HOUR, HOUR, -24 * HOUR, 24 * HOUR]) {
      clock.set += step
      assert.deepEqual(await takeSeveral(1, small), ['rate token 10'])
    }
    clock.elapsed += 10 * SECOND
    assert.deepEqual(await takeSeveral(2, small), ['yes', 'rate token 10'])
  })

  test('who verifies rarely reserves little, who verifies often reserves in batches', async () => {
    const large = ofToken(quota(100_000, 'month'))
    await takeSeveral(3, large)
    assert.ok(left(large) >= 100_000 - 4 * 3)
    await takeSeveral(9_997, large)
    assert.ok(store.written <= 100, `${store.written} writes`)
    assert.ok(left(large) >= 100_000 - 10_000 - 128)
  })

  test('a large rate is used up to the last unit; after that 0 are left until a whole batch has refilled', async () => {
    const large = ofToken(rate(1_000, 60))
    assert.deepEqual(new Set(await takeSeveral(1_000, large)), new Set(['yes']))
    for (const wait of [7, 4]) {
      const refusal = await limiter.take([large])
      assert.equal(told(refusal), `rate token ${wait}`)
      assert.deepEqual([refusal.left[0]?.left, limiter.leftOf(large, stateOf(large))], [0, 0])
      clock.elapsed += 3_300
    }
    assert.equal(limiter.leftOf(large, stateOf(large)), 110)
    assert.deepEqual(new Set(await takeSeveral(110, large)), new Set(['yes']))
  })

  test('a large rate that is asked for too much of costs few writes, and what is said to be left is', async () => {
    const large = ofToken(rate(1_000, 60))
    let accepted = 0
    for (let asked = 0; asked < 30_000; asked++) {
      const isLeft = limiter.leftOf(large, stateOf(large)) > 0
      const verdict = await limiter.take([large])
      if (verdict.accepted) accepted++
      assert.equal(isLeft, verdict.accepted)
      clock.elapsed += 2
    }
    assert.ok(accepted > 1_800 && accepted <= 2_000, `${accepted} accepted`)
    assert.ok(store.written < accepted / 50, `${store.written} writes for ${accepted}`)
  })

  test('a process that ends returns what it has reserved of every quota, and of a rate it is free again after 30 s', async () => {
    const uses = [ofToken(quota(10_000, 'day')), ofSubAccount(quota(2_000, 'ever')), ofSubAccount(rate(5_000, 3_600))]
    await takeSeveral(300, ...uses)
    assert.ok(uses.every((use) => left(use) < use.limit.limit - 300))
    for (let times = 0; times < 2; times++) {
      await limiter.release()
      assert.deepEqual(uses.slice(0, 2).map(left), [9_700, 1_700])
    }
    clock.elapsed += 30 * SECOND
    assert.ok(left(uses[2] as LimitUse) >= 4_700)
    assert.deepEqual(await takeSeveral(1, ...uses), ['yes'])
  })

  test('a process that ends after a policy was changed gives nobody more of the new one, and nobody less', async () => {
    const other = new Limiter(store, clock)
    const use = async (limit: Limit) => {
      let accepted = 0
      while ((await other.take([ofToken(limit)])).accepted) accepted++
      return accepted
    }
    await takeSeveral(300, ofToken(rate(100_000, 60)), ofToken(quota(10_000, 'ever')))
    assert.equal(await use(rate(1_000, 60)), 1_000)
    const reserved = 10_000 - left(ofToken(quota(10_000, 'ever')))
    assert.equal(await use(quota(1_000, 'day')), 1_000 - reserved)
    clock.elapsed += 6 * SECOND
    await limiter.release()
    clock.elapsed += SECOND
    assert.ok((await use(rate(1_000, 60))) <= 117)
    clock.elapsed += 24 * HOUR
    await limiter.release()
    assert.equal(await use(quota(1_000, 'day')), 1_000)
  })

  test('a process that knows more limits than it can keep returns what it has reserved of quotas that it forgets', async () => {
    limiter = new Limiter(store, clock, 10)
    const large = ofToken(quota(2_000, 'ever'))
    await takeSeveral(20, large)
    const [unused, stored] = [atHand(large), left(large)]
    assert.ok(unused > 0)
    const others = Array.from({ length: 20 }, (_, n) => ({ ...ofToken(quota(1, 'ever')), subject: `tok_other_${n}` }))
    for (const use of others) await takeSeveral(1, use)
    assert.equal(atHand(large), 0)
    await takeSeveral(1, ofSubAccount(quota(2_000, 'ever')))
    assert.equal(left(large), stored + unused)
    assert.deepEqual(await takeSeveral(1, large), ['yes'])
    assert.equal(left(large), 1_979)
  })

  test('what was reserved of a rate is used for 30 s at most, by the clock on the wall as by the one that goes on evenly', async () => {
    const large = ofToken(rate(5_000, 60))
    for (const [elapsed, set] of [[30, -30] as const, [0, 30] as const]) {
      await takeSeveral(300, large)
      const asked = store.asked.length
      assert.ok(atHand(large) > 0)
      clock.elapsed += elapsed * SECOND
      clock.set += set * SECOND
      assert.deepEqual(await takeSeveral(1, large), ['yes'])
      assert.equal(store.asked.length, asked + 1)
    }
  })

  test('what is told to be left is exact for one process', async () => {
    const uses = [ofToken(rate(5_000, 60)), ofToken(quota(10_000, 'day'))]
    for (let used = 1; used <= 300; used++) {
      const { left: told } = await limiter.take(uses)
      assert.deepEqual(
        told.map((each) => each.left),
        [5_000 - used, 10_000 - used],
      )
      const stored = uses.map((use) => limiter.leftOf(use, stateOf(use)))
      assert.deepEqual(stored, [5_000 - used, 10_000 - used])
    }
  })
})

describe('at the same time', () => {
  const atOnce = (count: number, ...uses: readonly LimitUse[]) =>
    Promise.all(Array.from({ length: count }, () => limiter.take(uses)))

  test('of 50 takes of a limit of 7, seven are accepted', async () => {
    const verdicts = await atOnce(50, ofToken(rate(7, 3_600)), ofSubAccount(quota(20, 'day')))
    assert.equal(verdicts.filter(({ accepted }) => accepted).length, 7)
    assert.equal(left(ofSubAccount(quota(20, 'day'))), 13)
  })

  test('takes share one question, for all limits of all tokens', async () => {
    await Promise.all([
      ...Array.from({ length: 20 }, () => limiter.take([ofToken(rate(20, 60)), ofSubAccount(rate(100, 60))])),
      ...Array.from({ length: 30 }, () =>
        limiter.take([{ ...ofToken(quota(30, 'day')), subject: 'tok_2' }, ofSubAccount(rate(100, 60))]),
      ),
    ])
    assert.deepEqual(
      store.asked.map((asks) => asks.map(({ subject, needed }) => [subject, needed])),
      [
        [
          ['tok_1', 20],
          ['sub_1', 50],
          ['tok_2', 30],
        ],
      ],
    )
  })

  test('what is asked while the store is asked is asked together after that, in one transaction', async () => {
    let [running, most, asked] = [0, 0, 0]
    const slow = {
      async reserveUnits(asks: Parameters<MemoryLimits['reserveUnits']>[0]) {
        most = Math.max(most, ++running)
        asked++
        for (let turns = 0; turns < 20; turns++) await nextTurn()
        running--
        return store.reserveNow(asks)
      },
    }
    const patient = new Limiter(slow, clock)
    const takes: Promise<LimitVerdict>[] = []
    for (let n = 0; n < 10; n++) {
      takes.push(Promise.resolve(patient.take([{ ...ofToken(rate(5, 60)), subject: `tok_${n}` }])))
      await nextTurn()
    }
    assert.ok((await Promise.all(takes)).every(({ accepted }) => accepted))
    assert.deepEqual([most, asked], [1, 2])
  })

  test('a bucket that a whole crowd has emptied refills from that moment', async () => {
    const large = ofToken(rate(1_000, 60))
    const verdicts = await atOnce(1_500, large)
    assert.equal(verdicts.filter(({ accepted }) => accepted).length, 1_000)
    clock.elapsed += 30 * SECOND
    assert.ok(left(large) >= 490, `${left(large)} left`)
  })

  test('when the store fails, all that wait are rejected, and the next take asks again', async () => {
    const failing = {
      reserveUnits: async () => Promise.reject(new Error('no store')),
    }
    const lost = new Limiter(failing, clock)
    const uses = [ofToken(rate(3, 30)), ofToken(quota(3, 'day'))]
    const taken = await Promise.allSettled([lost.take(uses), lost.take(uses), lost.take(uses.slice(1))])
    assert.deepEqual(
      taken.map((each) => each.status === 'rejected' && (each.reason as Error).message),
      ['no store', 'no store', 'no store'],
    )
    failing.reserveUnits = store.reserveUnits.bind(store) as never
    assert.equal((await lost.take(uses)).accepted, true)
  })

  test('when the store fails, what was to be returned stays at hand, unless it may have been returned', async () => {
    const uses = [ofToken(rate(1, 60)), ofToken(quota(5, 'ever'))]
    await limiter.take(uses)
    for (const [code, used] of [
      ['unavailable', 1],
      ['outcome-unknown', 2],
    ] as const) {
      const failing = {
        reserveUnits: async (asks: Parameters<MemoryLimits['reserveUnits']>[0]) => {
          if (asks.some(({ returned }) => returned > 0)) throw new Failure(code)
          return store.reserveUnits(asks)
        },
      }
      limiter = new Limiter(failing, clock)
      assert.deepEqual(await takeSeveral(2, ...uses), ['rate token 60', 'rate token 60'], code)
      failing.reserveUnits = store.reserveUnits.bind(store)
      await limiter.release()
      assert.equal(left(ofToken(quota(5, 'ever'))), 5 - used, code)
    }
  })

  test('a state that cannot be read rejects who needs it, and nobody else who asks at the same time', async () => {
    store.states.set('tok_1 rate', '{"level":')
    const [lost, other] = [limiter.take([ofToken(rate(3, 30))]), limiter.take([ofSubAccount(rate(3, 30))])]
    await assert.rejects(async () => lost, /what is left of the rate of tok_1 cannot be read/)
    assert.equal((await other).accepted, true)
  })
})
