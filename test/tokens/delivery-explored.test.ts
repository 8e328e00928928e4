// Every short sequence of what can happen to a webhook: events, attempts with any outcome, crashes between an attempt and its
// record, a second process that takes over, callers who skip and send again. Whatever happens, nothing is lost, and with strict
// order nothing arrives before what was in front of it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  delayAfter,
  GIVE_UP_MS,
  nextStep,
  type Outcome,
  type Progress,
  redelivered,
  settle,
  skipped,
} from '../../src/tokens/webhooks/delivery.ts'
import type { StoredDelivery, StoredWebhook } from '../../src/tokens/webhooks/webhook.ts'

const HOUR = 3_600_000
const OK: Outcome = { kind: 'delivered', responseStatus: 200 }
const BAD: Outcome = { kind: 'failed', responseStatus: 500, error: 'HTTP 500' }
const GONE: Outcome = { kind: 'failed', responseStatus: 410, error: 'HTTP 410' }

const webhook = (ordering: StoredWebhook['ordering']): StoredWebhook => ({
  id: 'whk_1',
  accountId: 'acc_1',
  url: 'https://example.com/',
  events: null,
  ordering,
  status: 'active',
  disabledBecause: null,
  createdAt: 0,
  sealed: new Uint8Array(),
  formerSealed: null,
  formerUntil: null,
  position: 0,
  lastSuccessAt: null,
})

/** What the store has, what the receiver got, and what each of two processes has under way. */
interface World {
  readonly webhook: StoredWebhook
  readonly deliveries: ReadonlyMap<number, StoredDelivery>
  readonly head: number
  readonly at: number
  /** In the order of their first arrival. */
  readonly got: readonly number[]
  readonly skips: readonly number[]
  /** Which process holds the claim, and what has been sent and not recorded. */
  readonly holder: 0 | 1
  readonly sent: readonly [number | undefined, number | undefined]
  /** An event that takes long, while the holder goes on with others. */
  readonly slow: number | undefined
  /** Whether something was sent again because a caller wanted it to be. */
  readonly resent: number
}

type Move = (world: World) => World | undefined

type Stored = Pick<World, 'webhook' | 'deliveries' | 'at'>

/** As a store does it. */
function stored<State extends Stored>(state: State, seq: number, progress: Progress): State {
  const attempted = { seq, event: 'token.update' }
  const settled = settle(state.webhook, state.deliveries.get(seq), attempted, progress, state.at)
  if (settled === undefined) return state
  const { wakesSince } = settled
  const deliveries = new Map(state.deliveries).set(seq, settled.delivery)
  for (const [each, row] of deliveries) {
    const isWoken = wakesSince !== undefined && row.nextAt !== null && row.firstAt !== null && row.firstAt > wakesSince
    if (isWoken) deliveries.set(each, { ...row, nextAt: Math.min(row.nextAt ?? 0, state.at) })
  }
  return { ...state, webhook: settled.webhook, deliveries }
}

const record = (world: World, by: 0 | 1, outcome: Outcome): World | undefined => {
  const seq = world.sent[by]
  if (seq === undefined) return undefined
  const sent = world.sent.map((each, n) => (n === by ? undefined : each)) as unknown as World['sent']
  return stored({ ...world, sent }, seq, outcome)
}

/** What the holder sends next; nothing that it is sending already. */
function nextSeq({ webhook, deliveries, head, at, slow }: World): number | undefined {
  const waiting = [...deliveries.values()]
    .filter(({ nextAt, seq }) => nextAt !== null && seq !== slow)
    .sort((one, other) => (one.nextAt ?? 0) - (other.nextAt ?? 0))
  const step = nextStep(webhook, waiting, webhook.position < head, at, false)
  if (step.kind === 'rest') return undefined
  return step.kind === 'retry' ? step.delivery.seq : webhook.position + 1
}

/** Without an order: the event is put aside while it is still being sent. */
const takeLong: Move = (world) => {
  const seq = nextSeq(world)
  const isFree = world.sent[world.holder] === undefined && world.slow === undefined
  if (seq === undefined || !isFree || world.webhook.ordering === 'strict') return undefined
  return { ...stored(world, seq, { kind: 'pending' }), slow: seq }
}

const endSlow =
  (outcome: Outcome | undefined): Move =>
  ({ slow, ...world }) => {
    if (slow === undefined) return undefined
    const isNew = outcome?.kind === 'delivered' && !world.got.includes(slow)
    const after: World = { ...world, slow: undefined, got: isNew ? [...world.got, slow] : world.got }
    return outcome === undefined ? after : stored(after, slow, outcome)
  }

/** The holder sends what is next; it has arrived, and the answer is known to the process only. */
const attempt =
  (outcome: Outcome, crashes = false): Move =>
  (world) => {
    const by = world.holder
    if (world.sent[by] !== undefined) return undefined
    const seq = nextSeq(world)
    if (seq === undefined) return undefined
    const isNew = outcome.kind === 'delivered' && !world.got.includes(seq)
    const arrived = { ...world, got: isNew ? [...world.got, seq] : world.got }
    if (crashes) return arrived
    return record({ ...arrived, sent: by === 0 ? [seq, arrived.sent[1]] : [arrived.sent[0], seq] }, by, outcome)
  }

/** Sends, and is then too late to record: the claim is lost, and the other process goes on. */
const sendAndPause: Move = (world) => {
  if (world.sent[world.holder] !== undefined) return undefined
  const after = attempt(OK, true)(world)
  if (after === undefined) return undefined
  const [seq] = after.got.slice(-1)
  if (after.got.length === world.got.length || seq === undefined) return undefined
  const sent: World['sent'] = world.holder === 0 ? [seq, world.sent[1]] : [world.sent[0], seq]
  return { ...after, sent, holder: world.holder === 0 ? 1 : 0 }
}

const late =
  (outcome: Outcome): Move =>
  (world) =>
    record(world, world.holder === 0 ? 1 : 0, outcome)

const skip: Move = (world) => {
  const row = world.deliveries.values().find(({ nextAt }) => nextAt !== null)
  const plan = row && skipped(world.webhook, row)
  if (plan === undefined) return undefined
  const deliveries = new Map(world.deliveries).set(plan.delivery.seq, plan.delivery)
  const skips = [...world.skips, plan.delivery.seq]
  return { ...world, deliveries, skips, webhook: { ...world.webhook, position: plan.position } }
}

const redeliver: Move = (world) => {
  const row = world.deliveries.values().find(({ status }) => status !== 'waiting')
  if (row === undefined || world.resent > 0) return undefined
  const deliveries = new Map(world.deliveries).set(row.seq, redelivered(row, world.at))
  return { ...world, deliveries, resent: 1, skips: world.skips.filter((seq) => seq !== row.seq) }
}

const moves: Readonly<Record<string, Move>> = {
  event: (world) => (world.head < 3 ? { ...world, head: world.head + 1 } : undefined),
  delivered: attempt(OK),
  failed: attempt(BAD),
  'delivered, then a crash': attempt(OK, true),
  'failed, then a crash': attempt(BAD, true),
  'delivered, then a pause': sendAndPause,
  'takes long': takeLong,
  'ends after all': endSlow(OK),
  'fails after all': endSlow(BAD),
  'never ends': endSlow(undefined),
  'late success': late(OK),
  'late failure': late(BAD),
  wait: (world) => ({ ...world, at: world.at + HOUR }),
  skip,
  redeliver,
}

function assertHolds({ webhook: { ordering, position }, got, skips, deliveries, head, resent }: World, path: string) {
  if (ordering === 'strict' && resent === 0) {
    assert.deepEqual(
      got,
      got.toSorted((one, other) => one - other),
      `out of order: ${path}`,
    )
  }
  for (let seq = 1; seq <= Math.min(position, head); seq++) {
    const isDealtWith = got.includes(seq) || skips.includes(seq) || deliveries.get(seq)?.status === 'waiting'
    assert.ok(isDealtWith, `${seq} is lost: ${path}`)
  }
  if (ordering === 'strict') {
    const blocking = [...deliveries.values()].filter(({ seq, nextAt }) => nextAt !== null && seq > position)
    assert.ok(blocking.length <= 1, `two events block: ${path}`)
  }
}

/** With a receiver that works again, everything arrives. */
function assertCatchesUp(world: World, path: string): void {
  let now: World = {
    ...world,
    sent: [undefined, undefined],
    slow: undefined,
    webhook: { ...world.webhook, status: 'active' },
  }
  for (let n = 0; n < 10; n++) now = attempt(OK)({ ...now, at: now.at + HOUR }) ?? now
  assertHolds(now, path)
  const missing = [1, 2, 3].slice(0, now.head).filter((seq) => !now.got.includes(seq) && !now.skips.includes(seq))
  assert.deepEqual(missing, [], `never arrives: ${path}`)
}

function explore(world: World, path: readonly string[], depth: number, seen: Map<string, number>): number {
  const key = JSON.stringify([world, [...world.deliveries]])
  if ((seen.get(key) ?? -1) >= depth) return 0
  seen.set(key, depth)
  const text = path.join(', ')
  assertHolds(world, text)
  assertCatchesUp(world, text)
  if (depth === 0) return 1
  let count = 1
  for (const [name, move] of Object.entries(moves)) {
    const next = move(world)
    if (next !== undefined) count += explore(next, [...path, name], depth - 1, seen)
  }
  return count
}

const startOf = (ordering: StoredWebhook['ordering']): World => ({
  webhook: webhook(ordering),
  deliveries: new Map(),
  head: 0,
  at: 0,
  got: [],
  skips: [],
  holder: 0,
  sent: [undefined, undefined],
  slow: undefined,
  resent: 0,
})

for (const ordering of ['strict', 'none'] as const) {
  test(`whatever happens in seven steps, order ${ordering}: nothing is lost, and what has to be in order is`, (t) => {
    const count = explore(startOf(ordering), [], 7, new Map())
    t.diagnostic(`${count} states`)
    assert.ok(count > 1_000)
  })
}

test('the exploration finds a webhook that passes an event which has failed', () => {
  const passing: Move = (world) => {
    const after = attempt(BAD)(world)
    return (
      after && { ...after, deliveries: new Map(), webhook: { ...after.webhook, position: after.webhook.position + 1 } }
    )
  }
  const world = [moves.event, passing].reduce((now, move) => move?.(now) ?? now, startOf('strict'))
  assert.throws(() => assertHolds(world, ''), /is lost/)
})

/** A receiver that takes all but some events, while it works. */
interface Picky extends Stored {
  readonly refused: ReadonlySet<number>
  readonly head: number
  readonly works: boolean
  readonly attempts: ReadonlyMap<number, readonly number[]>
}

/** Sends all that is due. */
function sendAll(state: Picky): Picky {
  for (let now = state; ; ) {
    const seq = nextSeq({ ...startOf('none'), ...now })
    if (seq === undefined) return now
    const attempts = new Map(now.attempts).set(seq, [...(now.attempts.get(seq) ?? []), now.at])
    now = stored({ ...now, attempts }, seq, now.works && !now.refused.has(seq) ? OK : BAD)
  }
}

const come = (state: Picky, refused: readonly number[]): Picky =>
  sendAll({ ...state, head: state.head + 1, refused: new Set([...state.refused, ...refused]) })

const pickyMoves: Readonly<Record<string, (state: Picky) => Picky>> = {
  event: (state) => come(state, []),
  'refused event': (state) => come(state, [state.head + 1]),
  'a second': (state) => sendAll({ ...state, at: state.at + 1_000 }),
  'ten minutes': (state) => sendAll({ ...state, at: state.at + 600_000 }),
  'down or up': (state) => sendAll({ ...state, works: !state.works, at: state.at + 1 }),
}

/** How often the plan has tried an event so long after its first attempt, at most. */
function plannedWithin(ms: number): number {
  let [attempts, after] = [1, 0]
  for (;;) {
    after += delayAfter(attempts)
    if (after > ms) return attempts
    attempts++
  }
}

function assertTriedAsPlanned({ attempts, deliveries, at, works, refused, webhook }: Picky, path: string): void {
  for (const [seq, times] of attempts) {
    // Once more, when the receiver may have begun to work.
    const most = plannedWithin(at - (times[0] ?? at)) + 1
    assert.ok(times.length <= most, `${seq} is tried ${times.length} times instead of ${most}: ${path}`)
    const isStuck = works && !refused.has(seq) && deliveries.get(seq)?.status === 'waiting'
    assert.ok(
      !isStuck || (webhook.lastSuccessAt ?? -1) < (times[0] ?? 0),
      `${seq} waits though others got through: ${path}`,
    )
  }
}

function explorePicky(state: Picky, path: readonly string[], depth: number): number {
  assertTriedAsPlanned(state, path.join(', '))
  if (depth === 0) return 1
  return Object.entries(pickyMoves).reduce(
    (count, [name, move]) => count + explorePicky(move(state), [...path, name], depth - 1),
    1,
  )
}

const pickyStart: Picky = {
  ...{ webhook: webhook('none'), deliveries: new Map(), attempts: new Map(), refused: new Set() },
  ...{ at: 1, head: 0, works: true },
}

test('without an order, an event that fails is tried as planned and once more, however many others get through; after a fault all that has failed is sent at the first success', (t) => {
  t.diagnostic(`${explorePicky(pickyStart, [], 7)} sequences`)
})

test('attempts follow after 5 s, 30 s, 2 min, 5 min, then within an hour each; a receiver can ask for more, up to an hour', () => {
  assert.deepEqual(
    [1, 2, 3, 4].map((attempts) => delayAfter(attempts)),
    [5_000, 30_000, 120_000, 300_000],
  )
  for (let attempts = 5; attempts < 200; attempts++)
    assert.ok(delayAfter(attempts) > 300_000 && delayAfter(attempts) <= HOUR)
  assert.equal(delayAfter(1, 60_000), 60_000)
  assert.equal(delayAfter(3, 60_000), 120_000)
  assert.equal(delayAfter(1, 10 * HOUR), HOUR)
})

/** Tries one event until the webhook is switched off or the event is given up. */
function tryOut(outcome: Outcome, lastSuccessAfter?: number) {
  let [state, delivery, at, attempts] = [webhook('strict'), undefined as StoredDelivery | undefined, 0, 0]
  for (; attempts < 1_000; attempts++) {
    const settled = settle(state, delivery, { seq: 1, event: 'token.update' }, outcome, at)
    assert.ok(settled)
    state = settled.webhook
    if (lastSuccessAfter !== undefined && at > lastSuccessAfter) state = { ...state, lastSuccessAt: at }
    delivery = settled.delivery
    if (settled.isDisabled || delivery.status !== 'waiting') return { state, delivery, at, attempts: attempts + 1 }
    at = delivery.nextAt ?? at
  }
  throw new Error('it never ends')
}

test('a receiver that fails for five days is switched off, one that is gone at once, and one that takes all but this event is not', () => {
  const failing = tryOut(BAD)
  assert.deepEqual([failing.state.status, failing.state.disabledBecause], ['inactive', 'failing'])
  assert.ok(failing.at >= GIVE_UP_MS && failing.at < GIVE_UP_MS + HOUR)
  assert.ok(failing.attempts >= 5 * 24)
  assert.equal(failing.delivery.status, 'waiting')
  const gone = tryOut(GONE)
  assert.deepEqual([gone.state.status, gone.state.disabledBecause, gone.attempts], ['inactive', 'gone', 1])
  const picky = tryOut(BAD, HOUR)
  assert.deepEqual([picky.state.status, picky.delivery.status], ['active', 'skipped'])
})
