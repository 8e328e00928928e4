// Every short sequence of what can happen to two processes that share a rate. At the end both take all they get, and a bucket that
// shares no code with the rule says how much that may have been.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Ask, LimitUse, Reserved } from '../../src/tokens/limits/limit.ts'
import { Limiter } from '../../src/tokens/limits/limiter.ts'
import type { Limit } from '../../src/tokens/verify/policy.ts'
import { Clock, MemoryLimits, rate } from '../support/limits.ts'
import { runs } from '../support/runs.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const LIMIT = 1_000
const LIMITS = [rate(LIMIT, 60), rate(LIMIT, 30)] as const

class World {
  readonly clock = new Clock(Date.UTC(2026, 0, 31, 12))
  readonly store: MemoryLimits
  readonly #processes: Limiter[]
  #limit: Limit = LIMITS[0]
  /** The model: a bucket that is full at first and at every change of the limit, by the latest time at which it was used. */
  #level = LIMIT
  #latest = 0
  over = 0

  constructor(makeStore: (clock: Clock) => MemoryLimits) {
    this.store = makeStore(this.clock)
    this.#processes = [this.#start(), this.#start()]
  }

  #start(): Limiter {
    const reserveUnits = async (_account: string, ask: Ask): Promise<Reserved> => this.store.reserveNow(ask)
    return new Limiter({ reserveUnits }, this.clock.moment)
  }

  /** Until one is refused. */
  async take(process: number, most = Number.POSITIVE_INFINITY): Promise<void> {
    const uses: LimitUse[] = [{ account: 'acc_1', subject: 'tok_1', owner: 'token', limit: this.#limit }]
    const limiter = this.#processes[process] as Limiter
    for (let taken = 0; taken < most; taken++) {
      const verdict = limiter.take(uses)
      const { accepted } = verdict instanceof Promise ? await verdict : verdict
      if (!accepted) return
      this.#count()
    }
  }

  #count(): void {
    const now = Math.max(this.#latest, this.clock.now())
    const perMs = LIMIT / ((this.#limit === LIMITS[0] ? 60 : 30) * SECOND)
    this.#level = Math.min(LIMIT, this.#level + (now - this.#latest) * perMs) - 1
    this.#latest = now
    this.over = Math.max(this.over, Math.ceil(-this.#level - 1e-6))
  }

  kill(process: number): void {
    this.#processes[process] = this.#start()
  }

  async stop(process: number): Promise<void> {
    await this.#processes[process]?.release()
    this.kill(process)
  }

  change(): void {
    this.#limit = this.#limit === LIMITS[0] ? LIMITS[1] : LIMITS[0]
    this.#level = LIMIT
  }
}

type Happening = (world: World) => unknown

const HAPPENINGS: Readonly<Record<string, Happening>> = {
  'one uses some': (world) => world.take(0, 130),
  'the other uses some': (world) => world.take(1, 130),
  'one uses all': (world) => world.take(0),
  'a batch refills': ({ clock }) => (clock.elapsed += 6 * SECOND),
  'reservations are about to end': ({ clock }) => (clock.elapsed += 10 * MINUTE - 1),
  'reservations end': ({ clock }) => (clock.elapsed += 10 * MINUTE),
  'one is killed': (world) => world.kill(0),
  'one stops': (world) => world.stop(0),
  'the limit is changed': (world) => world.change(),
}
const FORTH: Readonly<Record<string, Happening>> = {
  'the clock is set forth': ({ clock }) => (clock.set += 11 * MINUTE),
}
const BACK: Readonly<Record<string, Happening>> = { 'the clock is set back': ({ clock }) => (clock.set -= 11 * MINUTE) }

function* sequences(names: readonly string[], length: number): Generator<readonly string[]> {
  if (length === 0) yield []
  else for (const rest of sequences(names, length - 1)) for (const name of names) yield [...rest, name]
}

/** Goes through all sequences, and returns by how many the worst of them is over. */
async function explore(
  happenings: Readonly<Record<string, Happening>>,
  length: number,
  makeStore = (clock: Clock) => new MemoryLimits(clock),
) {
  let [explored, over, worst] = [0, 0, '']
  for (const names of sequences(Object.keys(happenings), length)) {
    const world = new World(makeStore)
    for (const name of names) await happenings[name]?.(world)
    for (const process of [0, 1]) await world.take(process)
    explored++
    if (world.over > over) [over, worst] = [world.over, names.join(', ')]
  }
  return { explored, over, worst }
}

/** A store that forgets what is reserved. */
class Forgetful extends MemoryLimits {
  override reserveNow(ask: Ask): Reserved {
    for (const [name, state] of this.states) this.states.set(name, state.replace(/"reserved":\d+/, '"reserved":0'))
    return super.reserveNow(ask)
  }
}

describe('every short sequence of what happens to two processes', () => {
  const length = runs(3, 4)
  for (const [what, steps] of Object.entries({ forth: FORTH, back: BACK })) {
    test(`accepts nothing over a rate, with clocks that are set ${what}`, async (t) => {
      const { explored, over, worst } = await explore({ ...HAPPENINGS, ...steps }, length)
      t.diagnostic(`${explored} sequences of ${length}`)
      assert.deepEqual([over, worst], [0, ''])
    })
  }

  test('of a clock that is set forth and back while a process asks nothing, at most its batch is over', async () => {
    const { over } = await explore({ ...FORTH, ...BACK, ...HAPPENINGS }, 2)
    assert.equal(over, 0)
    const found = await explore(
      {
        'the other uses some': HAPPENINGS['the other uses some'] as Happening,
        'one uses all': HAPPENINGS['one uses all'] as Happening,
        ...FORTH,
        ...BACK,
      },
      4,
    )
    assert.ok(found.over <= 99, `${found.over}: ${found.worst}`)
  })

  test('control: a store that forgets what is reserved is over', async () => {
    const { over, worst } = await explore(HAPPENINGS, 2, (clock) => new Forgetful(clock))
    assert.ok(over > 0, worst)
  })
})
