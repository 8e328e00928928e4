// The last verifications of a token: the same ones are kept in whatever order processes write them, they are written seldom enough, and
// they take a bounded memory.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { RecentVerifications } from '../../src/tokens/usage/recent-verifications.ts'
import {
  MOST_KEPT,
  mergeRecent,
  type RecentVerifications as OfToken,
  PRECISION_MS,
  RECENT_DAYS,
  type RecentVerification,
} from '../../src/tokens/verify/recent-verifications.ts'
import { fc } from '../support/properties.ts'
import { anAccount, openService } from '../support/service.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const DAY = 86_400_000
const TOKEN = 'tok_1'

const accepted = (address: string | null, at: number): RecentVerification => ({ reason: null, address, at })
const refused = (reason: 'scope' | 'rate', address: string, at: number): RecentVerification => ({ reason, address, at })
const former = (formerUntil: number, address: string, at: number) => ({ ...accepted(address, at), formerUntil })

/** A store in which several processes write, with what each write was about. */
function newStore() {
  const onRecord = new Map<string, OfToken>()
  const writes: (readonly string[])[] = []
  let fails = false
  return {
    onRecord,
    writes,
    fail: (now: boolean) => {
      fails = now
    },
    async saveRecent(noted: ReadonlyMap<string, OfToken>) {
      if (fails) throw new Error('away')
      const changed: string[] = []
      for (const [id, recent] of noted) {
        const before = onRecord.get(id) ?? []
        const merged = mergeRecent(before, recent)
        if (merged !== before) changed.push(id)
        onRecord.set(id, merged)
      }
      writes.push(changed)
      return new Map([...noted.keys()].map((id) => [id, onRecord.get(id) ?? []]))
    },
  }
}

const kindOf = ({ reason, formerUntil }: RecentVerification) =>
  formerUntil === undefined ? String(reason === null) : 'former'
const nameOf = ({ reason, address, formerUntil }: RecentVerification) =>
  formerUntil === undefined ? `${reason} ${address}` : `former ${formerUntil}`

/** Every way to be verified that a test has, so that several of a kind are evicted. */
const WAYS: readonly ((at: number) => RecentVerification)[] = [
  ...['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((address) => (at: number) => accepted(address, at)),
  ...['a', 'b', 'c', 'd'].flatMap((address) =>
    (['scope', 'rate'] as const).map((reason) => (at: number) => refused(reason, address, at)),
  ),
  ...[1, 2].map((until) => (at: number) => former(until, 'a', at)),
]

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      process: fc.nat(2),
      way: fc.nat(WAYS.length - 1),
      afterMs: fc.oneof(fc.nat(20 * SECOND), fc.nat(3 * MINUTE)),
    }),
  },
  { weight: 2, arbitrary: fc.record({ process: fc.nat(2), flush: fc.constant(true) }) },
)

describe('what is kept', () => {
  test('are the last of each kind, to the minute, whichever process has noted them and whenever each has written', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
        const store = newStore()
        const processes = [0, 1, 2].map(() => new RecentVerifications(store))
        const last = new Map<string, RecentVerification>()
        let now = 0
        for (const each of steps) {
          const process = processes[each.process] as RecentVerifications
          if ('flush' in each) await process.flush()
          else {
            now += each.afterMs
            const verification = WAYS[each.way]?.(now) as RecentVerification
            last.set(nameOf(verification), verification)
            process.note(TOKEN, verification)
          }
        }
        for (const process of processes) await process.flush()
        const kept = store.onRecord.get(TOKEN) ?? []
        assert.deepEqual(
          kept.map(({ at }) => at),
          kept.map(({ at }) => at).sort((one, other) => other - one),
        )
        assert.equal(new Set(kept.map(nameOf)).size, kept.length)
        for (const of of Map.groupBy(kept, kindOf).values()) assert.ok(of.length <= MOST_KEPT)
        for (const each of kept) assert.ok(isToTheMinute(each, last.get(nameOf(each))))
        for (const each of last.values()) {
          // Of those within a minute of each other, either may count as the later one.
          const later = [...last.values()].filter(
            (other) => other !== each && kindOf(other) === kindOf(each) && other.at > each.at - PRECISION_MS,
          )
          const found = kept.find((other) => nameOf(other) === nameOf(each))
          if (later.length < MOST_KEPT) assert.ok(isToTheMinute(found, each), nameOf(each))
        }
      }),
      { numRuns: 1_000 },
    )
  })

  test('is the same in whatever order it is merged, and once more changes nothing', () => {
    const verification = fc
      .record({ way: fc.nat(WAYS.length - 1), minute: fc.nat(12) })
      .map(({ way, minute }) => WAYS[way]?.(minute * MINUTE) as RecentVerification)
    const part = fc.array(verification, { maxLength: 12 })
    fc.assert(
      fc.property(part, part, part, (...parts) => {
        const [a, b, c] = parts.map((each) => mergeRecent([], each)) as [OfToken, OfToken, OfToken]
        const all = mergeRecent(mergeRecent(a, b), c)
        assert.deepEqual(mergeRecent(mergeRecent(c, b), a), all)
        assert.deepEqual(mergeRecent(a, mergeRecent(b, c)), all)
        for (const each of [a, b, c, all]) assert.equal(mergeRecent(all, each), all)
      }),
    )
  })

  test('ends 90 days before the last one', () => {
    const now = 1_000 * DAY
    const old = [accepted('a', now - RECENT_DAYS * DAY), accepted('b', now - RECENT_DAYS * DAY + 1)]
    const shown = mergeRecent(old, [refused('scope', 'c', now)])
    assert.deepEqual(
      shown.map(({ address }) => address),
      ['c', 'b'],
    )
  })

  test('has the last use of each former credential, however many addresses its token is used from', () => {
    let kept: OfToken = [former(9, 'old', 0)]
    for (let n = 1; n < 100; n++) kept = mergeRecent(kept, [accepted(`a${n}`, n * MINUTE)])
    assert.deepEqual(
      kept.filter(({ formerUntil }) => formerUntil === 9),
      [former(9, 'old', 0)],
    )
    kept = mergeRecent(kept, [former(9, 'new', 200 * MINUTE), former(8, 'other', 201 * MINUTE)])
    assert.deepEqual(
      kept.filter(({ formerUntil }) => formerUntil !== undefined).map(({ address }) => address),
      ['other', 'new'],
    )
  })
})

function isToTheMinute(kept: RecentVerification | undefined, last: RecentVerification | undefined): boolean {
  return kept !== undefined && last !== undefined && kept.at <= last.at && last.at - kept.at < PRECISION_MS
}

describe('a process', () => {
  test('writes a token that is used from one address all day once a minute, however many processes verify it', async () => {
    const store = newStore()
    const processes = [0, 1, 2].map(() => new RecentVerifications(store))
    for (let at = 0; at < DAY; at += 5 * SECOND) {
      for (const process of processes) {
        process.note(TOKEN, accepted('a', at))
        await process.flush()
      }
    }
    assert.equal(store.writes.filter((changed) => changed.length > 0).length, DAY / MINUTE)
  })

  test('asks the store for nothing where nothing is new', async () => {
    const store = newStore()
    const process = new RecentVerifications(store)
    for (let at = 0; at < MINUTE; at += 5 * SECOND) {
      process.note(TOKEN, accepted('a', at))
      await process.flush()
    }
    assert.equal(store.writes.length, 1)
  })

  test('keeps what could not be written, and what is noted meanwhile', async () => {
    const store = newStore()
    const process = new RecentVerifications(store)
    store.fail(true)
    process.note(TOKEN, accepted('a', 0))
    await assert.rejects(process.flush(), { message: 'away' })
    process.note(TOKEN, refused('scope', 'b', 1))
    store.fail(false)
    const flushing = process.flush()
    process.note(TOKEN, accepted('c', 2))
    await flushing
    await process.flush()
    assert.deepEqual(store.onRecord.get(TOKEN), [accepted('c', 2), refused('scope', 'b', 1), accepted('a', 0)])
  })

  test('keeps the last few of a caller who comes from a hundred thousand addresses, and writes them once', async () => {
    const store = newStore()
    const process = new RecentVerifications(store)
    for (let n = 0; n < 100_000; n++) process.note(TOKEN, accepted(`2001:db8::${n.toString(16)}`, n))
    await process.flush()
    assert.equal(store.writes.length, 1)
    const last = [...Array(MOST_KEPT).keys()].map((n) => `2001:db8::${(99_999 - n).toString(16)}`)
    assert.deepEqual(
      store.onRecord.get(TOKEN)?.map(({ address }) => address),
      last,
    )
  })

  test('holds a bounded number of tokens that it cannot write, and writes them in parts', async () => {
    const store = newStore()
    const process = new RecentVerifications(store)
    store.fail(true)
    for (let n = 0; n < 100_000; n++) process.note(`tok_${n}`, accepted('a', 0))
    await assert.rejects(process.flush())
    store.fail(false)
    await process.flush()
    assert.equal(store.onRecord.size, 20_000)
    assert.deepEqual(new Set(store.writes.map(({ length }) => length)), new Set([1_000]))
    process.note('tok_99999', accepted('a', 1))
    await process.flush()
    assert.equal(store.onRecord.size, 20_001)
  })
})

test('of a token in steady use the last use is on record to the minute, and so is a rare use of its former credential', async () => {
  const service = await openService()
  const { registry, operator, clock, opened } = service
  const { verification } = registry
  try {
    const { caller, subAccount } = await anAccount(service)
    const former = await registry.createToken(caller, { subAccountId: subAccount.id, name: 'busy' }, operator.origin())
    const { id, credential } = await registry.rotateToken(caller, former.id, 3_600, operator.origin())
    const begin = clock.now
    for (const until = begin + 6 * MINUTE; clock.now < until; clock.now += SECOND) {
      assert.ok((await verification.verify(credential, '203.0.113.9')).accepted)
      if (clock.now === begin + 125 * SECOND) await verification.verify(former.credential, '203.0.113.9')
      if ((clock.now - begin) % (50 * SECOND) !== 0) continue
      await verification.flush()
      const { lastUsedAt } = (await opened.store.findActivity([id], clock.now)).get(id) ?? {}
      const [last] = (await registry.usage.recentOf(caller, id)).filter((each) => each.formerUntil === undefined)
      // What is repeated within five seconds is not looked at.
      const oldest = clock.now - MINUTE - 5 * SECOND
      assert.ok((lastUsedAt ?? 0) > oldest && (last?.at ?? 0) > oldest)
    }
    const activity = (await opened.store.findActivity([id], clock.now)).get(id)
    assert.equal(activity?.formerCredentialLastUsedAt, begin + 125 * SECOND)
  } finally {
    await opened.close()
  }
})
