// How a process takes units of rates and quotas for its verifications.
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Ask, type LimitUse, leftOf, type Reserved } from '../../src/tokens/limits/limit.ts'
import { Limiter, type LimitVerdict } from '../../src/tokens/limits/limiter.ts'
import { Failure } from '../../src/tokens/model/errors.ts'
import type { Limit } from '../../src/tokens/verify/policy.ts'
import { Clock, MemoryLimits, quota, rate } from '../support/limits.ts'

const NOON = Date.UTC(2026, 0, 31, 12)
const SECOND = 1_000
const HOUR = 3_600 * SECOND

const ofToken = (limit: Limit): LimitUse => ({ account: 'acc_1', subject: 'tok_1', owner: 'token', limit })
const ofSubAccount = (limit: Limit): LimitUse => ({ ...ofToken(limit), subject: 'sub_1', owner: 'sub-account' })

let clock: Clock
let store: MemoryLimits
let limiter: Limiter

beforeEach(() => {
  clock = new Clock(NOON)
  store = new MemoryLimits(clock)
  limiter = new Limiter(store, clock.moment)
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
      limiter = new Limiter(store, clock.moment)
      const uses = limits(empty)
      assert.deepEqual(await takeSeveral(1, ...uses), ['yes'])
      const before = uses.map(left)
      assert.equal(before[empty], 0)
      const refusals = new Set(await takeSeveral(5, ...uses))
      assert.equal(refusals.size, 1)
      assert.match([...refusals][0] ?? '', new RegExp(`^${uses[empty]?.limit.kind} ${uses[empty]?.owner} `))
      assert.deepEqual(uses.map(left), before)
      // Another process that has not asked yet, too.
      limiter = new Limiter(store, clock.moment)
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

  test('of large limits there is one write for about a hundred verifications', async () => {
    const uses = [ofToken(quota(100_000, 'month')), ofSubAccount(rate(20_000, 60))]
    await takeSeveral(10_000, ...uses)
    assert.ok(store.written <= 100, `${store.written} writes`)
    assert.ok(left(ofToken(quota(100_000, 'month'))) >= 100_000 - 10_000 - 128)
  })

  test('a large rate that is used up has 0 left until a whole batch has refilled', async () => {
    const large = ofToken(rate(1_000, 60))
    assert.deepEqual(new Set(await takeSeveral(1_000, large)), new Set(['yes']))
    for (const wait of [6, 3]) {
      const refusal = await limiter.take([large])
      assert.equal(told(refusal), `rate token ${wait}`)
      assert.deepEqual([refusal.left[0]?.left, limiter.leftOf(large, stateOf(large))], [0, 0])
      clock.elapsed += 3_000
    }
    assert.equal(limiter.leftOf(large, stateOf(large)), 100)
    assert.deepEqual(new Set(await takeSeveral(100, large)), new Set(['yes']))
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

  test('a process that ends returns what it has reserved of every quota, and loses at most a batch of a rate', async () => {
    const uses = [ofToken(quota(10_000, 'day')), ofSubAccount(quota(2_000, 'ever')), ofSubAccount(rate(5_000, 60))]
    await takeSeveral(300, ...uses)
    assert.ok(uses.every((use) => left(use) < use.limit.limit - 300))
    for (let times = 0; times < 2; times++) {
      await limiter.release()
      assert.deepEqual(uses.slice(0, 2).map(left), [9_700, 1_700])
    }
    assert.ok(left(uses[2] as LimitUse) >= 4_700 - 156)
    clock.elapsed += 60 * SECOND
    assert.ok(left(uses[2] as LimitUse) >= 5_000 - 156)
    clock.elapsed += 600 * SECOND
    assert.equal(left(uses[2] as LimitUse), 5_000)
    assert.deepEqual(await takeSeveral(1, ...uses), ['yes'])
  })

  test('a process that ends after a policy was changed gives nobody more of the new one, and nobody less', async () => {
    const other = new Limiter(store, clock.moment)
    const use = async (limit: Limit) => {
      let accepted = 0
      while ((await other.take([ofToken(limit)])).accepted) accepted++
      return accepted
    }
    await takeSeveral(300, ofToken(rate(100_000, 60)), ofToken(quota(10_000, 'ever')))
    const accepted = await use(rate(1_000, 60))
    assert.ok(accepted > 900 && accepted <= 1_000, `${accepted}`)
    const reserved = 10_000 - left(ofToken(quota(10_000, 'ever')))
    assert.equal(await use(quota(1_000, 'day')), 1_000 - reserved)
    clock.elapsed += 6 * SECOND
    await limiter.release()
    clock.elapsed += SECOND
    assert.ok(accepted + (await use(rate(1_000, 60))) <= 1_117)
    clock.elapsed += 24 * HOUR
    await limiter.release()
    assert.equal(await use(quota(1_000, 'day')), 1_000)
  })

  test('a process that knows more limits than it can keep loses nothing of quotas that it uses too rarely to keep', async () => {
    limiter = new Limiter(store, clock.moment, 10)
    const many = Array.from({ length: 20 }, (_, n) => ({ ...ofToken(quota(2_000, 'ever')), subject: `tok_${n}` }))
    for (let times = 1; times <= 3; times++) {
      for (const use of many) assert.deepEqual(await takeSeveral(1, use), ['yes'])
      assert.deepEqual(new Set(many.map(left)), new Set([2_000 - times]))
    }
  })

  test('what was reserved of a rate is used for 10 minutes at most, by the wall clock and by the one that never steps', async () => {
    const large = ofToken(rate(5_000, 60))
    for (const [elapsed, set] of [[600, -600] as const, [0, 600] as const]) {
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

  test('takes of one account share one question, for all limits of all its tokens', async () => {
    await Promise.all([
      ...Array.from({ length: 20 }, () => limiter.take([ofToken(rate(20, 60)), ofSubAccount(rate(100, 60))])),
      ...Array.from({ length: 30 }, () =>
        limiter.take([{ ...ofToken(quota(30, 'day')), subject: 'tok_2' }, ofSubAccount(rate(100, 60))]),
      ),
    ])
    const [ask, ...more] = store.asked
    assert.deepEqual(
      ask?.rows.map(({ subject }) => subject),
      ['tok_1', 'sub_1', 'tok_2'],
    )
    assert.deepEqual([ask?.takes.length, more.length], [50, 0])
  })

  /** A store that answers each account when the test says so. */
  function askedByAccount() {
    const asked: { readonly account: string; readonly takes: number; answer(): void }[] = []
    const reserveUnits = (account: string, ask: Ask) => {
      const { promise, resolve } = Promise.withResolvers<Reserved>()
      asked.push({ account, takes: ask.takes.length, answer: () => resolve(store.reserveNow(ask)) })
      return promise
    }
    return { asked, limiter: new Limiter({ reserveUnits }, clock.moment) }
  }

  test('what is needed while the store is asked is asked for together after that, in one question of the account', async () => {
    const { asked, limiter: patient } = askedByAccount()
    const takes: Promise<LimitVerdict>[] = []
    for (let n = 0; n < 10; n++) {
      takes.push(Promise.resolve(patient.take([{ ...ofToken(rate(5, 60)), subject: `tok_${n}` }])))
      await nextTurn()
    }
    assert.deepEqual(
      asked.map((each) => each.takes),
      [1],
    )
    asked[0]?.answer()
    await nextTurn()
    asked[1]?.answer()
    assert.ok((await Promise.all(takes)).every(({ accepted }) => accepted))
    assert.deepEqual(
      asked.map((each) => each.takes),
      [1, 9],
    )
  })

  test('an account whose question is not answered keeps no other account waiting', async () => {
    const { asked, limiter: patient } = askedByAccount()
    const [slow, other] = ['acc_slow', 'acc_other'].map((account) =>
      Promise.resolve(patient.take([{ ...ofToken(rate(5, 60)), account, subject: `tok_${account}` }])),
    )
    await nextTurn()
    asked.find(({ account }) => account === 'acc_other')?.answer()
    assert.equal((await other)?.accepted, true)
    asked.find(({ account }) => account === 'acc_slow')?.answer()
    assert.equal((await slow)?.accepted, true)
  })

  test('takes by a limit and by the one that it was changed to are asked for one after the other', async () => {
    const uses = [rate(5, 60), rate(2, 60), rate(5, 60)].map(ofToken)
    const verdicts = await Promise.all(uses.map((use) => limiter.take([use])))
    assert.deepEqual(verdicts.map(told), ['yes', 'yes', 'yes'])
    assert.deepEqual(
      store.asked.map(({ takes }) => takes.length),
      [2, 1],
    )
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
    const lost = new Limiter(failing, clock.moment)
    const uses = [ofToken(rate(3, 30)), ofToken(quota(3, 'day'))]
    const taken = await Promise.allSettled([lost.take(uses), lost.take(uses), lost.take(uses.slice(1))])
    assert.deepEqual(
      taken.map((each) => each.status === 'rejected' && (each.reason as Error).message),
      ['no store', 'no store', 'no store'],
    )
    failing.reserveUnits = store.reserveUnits.bind(store) as never
    assert.equal((await lost.take(uses)).accepted, true)
  })

  test('when it is unknown whether the store has ended a reservation, nothing of it is used any more', async () => {
    const large = ofToken(rate(5_000, 60))
    const failing = { reserveUnits: (account: string, ask: Ask) => store.reserveUnits(account, ask) }
    limiter = new Limiter(failing, clock.moment)
    await takeSeveral(156, large)
    failing.reserveUnits = async (account, ask) => {
      await store.reserveUnits(account, ask)
      throw new Failure('outcome-unknown')
    }
    await assert.rejects(async () => limiter.take([large]), { code: 'outcome-unknown' })
    assert.equal(atHand(large), 0)
    failing.reserveUnits = (account, ask) => store.reserveUnits(account, ask)
    assert.deepEqual(await takeSeveral(1, large), ['yes'])
    assert.equal(JSON.parse(stateOf(large) ?? '').reserved, 2 * 155)
  })

  test('a row that is locked is asked for again, for two seconds, and what was reserved of it ends when it is free', async () => {
    const large = ofToken(rate(5_000, 60))
    const { promise: askedThrice, resolve } = Promise.withResolvers<void>()
    let isLocked = false
    const asked: (boolean | undefined)[] = []
    const reserveUnits = async (account: string, ask: Ask, passesOver?: boolean): Promise<Reserved> => {
      if (!isLocked) return store.reserveUnits(account, ask)
      asked.push(passesOver)
      if (asked.length === 3) resolve()
      return { rows: [], refusedBy: ask.takes.map(([first]) => first), locked: [0] }
    }
    limiter = new Limiter({ reserveUnits }, clock.moment)
    await takeSeveral(156, large)
    isLocked = true
    const waiting = limiter.take([large])
    await askedThrice
    assert.deepEqual(asked, [false, true, true])
    isLocked = false
    assert.equal((await waiting).accepted, true)
    assert.equal(JSON.parse(stateOf(large) ?? '').reserved, 155)

    isLocked = true
    const hopeless = limiter.take([ofSubAccount(rate(5, 60))])
    clock.elapsed += 2 * SECOND
    await assert.rejects(async () => hopeless, { code: 'unavailable' })
  })

  test('what one limit refuses has used nothing that is at hand of another', async () => {
    const [large, small] = [ofToken(rate(5_000, 60)), ofSubAccount(quota(3, 'ever'))]
    await takeSeveral(1, large)
    const verdicts = await atOnce(20, large, small)
    assert.equal(verdicts.filter(({ accepted }) => accepted).length, 3)
    assert.equal(limiter.leftOf(large, stateOf(large)), 5_000 - 4)
  })

  test('a state that cannot be read rejects who needs it, and nobody else who asks at the same time', async () => {
    store.states.set('tok_1 rate', '{"level":')
    const [lost, other] = [limiter.take([ofToken(rate(3, 30))]), limiter.take([ofSubAccount(rate(3, 30))])]
    await assert.rejects(async () => lost, /rate of tok_1 /)
    assert.equal((await other).accepted, true)
  })
})
