// kill -9 of processes that carry out bulk operations, at random moments, while others change the same tokens. What was changed is read
// from the history, and compared with the tokens as they were before and are after.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type Latchkey, openLatchkey } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'
import type { BulkAction, StoredBulk } from '../../src/tokens/bulk/bulk.ts'
import type { Caller } from '../../src/tokens/model/permissions.ts'
import { Cli } from '../support/cli.ts'
import type { Engine } from '../support/estate.ts'
import { chances } from '../support/seed.ts'
import { type ByHand, openByHand } from '../trust/by-hand.ts'
import { record } from './report.ts'

const MATCHING = 600
const OTHERS = 100
const FOREIGN = 5
/** After some progress, so that not every kill comes right after a commit. */
const LAST_MOMENT_MS = 30

/** A token, as far as an operation concerns it. */
interface State {
  readonly version: number
  readonly status: string
  readonly expiresAt: number | null
}
type States = ReadonlyMap<string, State>

interface Changed {
  /** How many rows of the history each token has of the operation. */
  readonly rows: ReadonlyMap<string, number>
}

class World {
  readonly #latchkey: Latchkey
  readonly #env: Readonly<Record<string, string>>
  readonly #cli: Cli
  readonly #caller: Caller
  readonly #chance: () => number
  readonly #db: ByHand
  readonly matching: readonly string[]
  kills = 0

  private constructor(
    latchkey: Latchkey,
    db: ByHand,
    {
      env,
      cli,
      caller,
      chance,
    }: { env: Readonly<Record<string, string>>; cli: Cli; caller: Caller; chance: () => number },
    matching: readonly string[],
  ) {
    this.#latchkey = latchkey
    this.#db = db
    this.#env = env
    this.#cli = cli
    this.#caller = caller
    this.#chance = chance
    this.matching = matching
  }

  static async make(env: Readonly<Record<string, string>>, cli: Cli, name: string): Promise<World> {
    const latchkey = await openLatchkey(readConfig(env))
    const { operator } = latchkey
    const { id: accountId } = await operator.createAccount('Acme')
    const [owner] = await operator.createSubAccounts(accountId, [{ name: 'S', email: 's@x.example', companyName: 'C' }])
    const base = { accountId, subAccountId: owner?.id ?? '' }
    const all = Array.from({ length: MATCHING + OTHERS }, (_, n) => {
      return { ...base, name: `T${n}`, tags: n < MATCHING ? ['matching'] : ['other'] }
    })
    const made = await operator.createTokens(all)
    const caller = operator.actFor(accountId)
    return new World(
      latchkey,
      await openByHand(readConfig(env)),
      { env, cli, caller, chance: chances(name) },
      made.slice(0, MATCHING).map(({ id }) => id),
    )
  }

  async close(): Promise<void> {
    await this.#db.close()
    await this.#latchkey.store.close()
  }

  order(action: BulkAction): Promise<StoredBulk> {
    const { registry, operator } = this.#latchkey
    return registry.bulk.order(
      this.#caller,
      { action, filter: { tag: 'matching' }, reason: 'round' },
      operator.origin(),
    )
  }

  undo(id: string): Promise<StoredBulk> {
    const { registry, operator } = this.#latchkey
    return registry.bulk.undo(this.#caller, id, operator.origin())
  }

  /** Two processes begin, one or both are killed on the way, and the other or another carries on. */
  async carryOutUnderKills(id: string): Promise<StoredBulk> {
    const begin = () => this.#cli.spawn(['token', 'bulk', 'wait', id], this.#env)
    const processes = [begin(), begin()]
    const killed = this.#chance() < 0.5 ? processes : processes.slice(0, 1)
    await this.#untilPassed(id, Math.floor(this.#chance() * MATCHING))
    await pause(this.#chance() * LAST_MOMENT_MS)
    for (const each of killed) each.kill('SIGKILL')
    this.kills += killed.length
    await Promise.all(killed.map(({ exited }) => exited))
    // As after five seconds. The process that is left, or the next one, may then hold the claim.
    await this.#db.run('UPDATE claims SET held_until = 0')
    if (killed.length === 2) processes.push(begin())
    await Promise.all(processes.map(({ exited }) => exited))
    const operation = await this.#get(id)
    assert.notEqual(operation.status, 'running', processes.map(({ stderr }) => stderr).join())
    return operation
  }

  #get(id: string): Promise<StoredBulk> {
    return this.#latchkey.registry.bulk.get(this.#caller, id)
  }

  async #untilPassed(id: string, tokens: number): Promise<void> {
    for (;;) {
      const { status, direction, done, skipped, restored, kept } = await this.#get(id)
      const passed = direction === 'do' ? done + skipped : restored + kept
      if (status !== 'running' || passed >= tokens) return
      await pause(1)
    }
  }

  async states(): Promise<States> {
    const states = new Map<string, State>()
    for (let page = 1; ; page++) {
      const found = await this.#latchkey.store.listTokens(this.#caller.accountId, { page, limit: 100 })
      for (const { token } of found?.items ?? []) {
        const { id, version, status, expiresAt } = token
        states.set(id, { version, status, expiresAt })
      }
      if ((found?.items.length ?? 0) < 100) return states
    }
  }

  /** By the rows of the history that name the operation. */
  async changedBy(id: string, reason: string): Promise<Changed> {
    const rows = new Map<string, number>()
    for (let page = 1; ; page++) {
      const { items } = await this.#latchkey.registry.listHistory(this.#caller, { page, limit: 100 })
      const own = items.filter(({ to, tokenId }) => tokenId !== null && to.operation === id && to.reason === reason)
      for (const { subject } of own) rows.set(subject, (rows.get(subject) ?? 0) + 1)
      // The newest are first: this round's are at the beginning.
      if (items.length < 100 || items.some(({ action, subject }) => action === 'bulk.create' && subject === id)) {
        return { rows }
      }
    }
  }

  /** Of some that the operation has changed. */
  async changeSome(): Promise<readonly string[]> {
    const { registry, operator } = this.#latchkey
    const some = new Set(
      Array.from({ length: FOREIGN }, () => this.matching[Math.floor(this.#chance() * MATCHING)] ?? ''),
    )
    for (const id of some) {
      await registry.updateToken(this.#caller, id, { metadata: { at: this.#chance() } }, operator.origin())
    }
    return [...some]
  }

  /** As at the beginning. */
  async repair(ids: readonly string[]): Promise<void> {
    const { registry, operator } = this.#latchkey
    for (const id of ids) {
      await registry.updateToken(this.#caller, id, { status: 'active', expiresAt: null }, operator.origin())
    }
  }

  /** As a service would that kept its progress apart: some tokens are changed, and the operation does not know of it. */
  async changeApart({ id, action }: StoredBulk): Promise<void> {
    const { store, operator } = this.#latchkey
    const origin = { ...operator.origin(), operation: id, reason: 'round' }
    assert.equal(action, 'disable')
    for (const token of this.matching.slice(0, 30)) {
      await store.changeToken(this.#caller.accountId, token, { kind: 'update', update: { status: 'inactive' } }, origin)
    }
  }
}

/** What is wrong after an operation that should have changed exactly these tokens. */
function faultsOf(
  operation: StoredBulk,
  before: States,
  after: States,
  expected: readonly string[],
  { rows }: Changed,
): string[] {
  const faults: string[] = []
  const wanted = new Set(expected)
  const count = operation.direction === 'do' ? operation.done : operation.restored
  if (count !== wanted.size) faults.push(`${count} were counted, not ${wanted.size}`)
  for (const [id, state] of after) {
    const [times, steps] = [rows.get(id) ?? 0, state.version - (before.get(id)?.version ?? 0)]
    const should = wanted.has(id) ? 1 : 0
    if (times !== should) faults.push(`${id} has ${times} rows`)
    if (steps !== should) faults.push(`${id} was changed ${steps} times`)
  }
  return faults
}

async function round(world: World, action: BulkAction): Promise<string[]> {
  const before = await world.states()
  const ordered = await world.order(action)
  const done = await world.carryOutUnderKills(ordered.id)
  const after = await world.states()
  const faults = faultsOf(done, before, after, world.matching, await world.changedBy(ordered.id, 'round'))
  for (const id of world.matching) {
    const { status, expiresAt } = after.get(id) ?? {}
    const isRight = action === 'disable' ? status === 'inactive' : expiresAt === ordered.createdAt
    if (!isRight) faults.push(`${id} is ${status} until ${expiresAt}`)
  }
  const foreign = await world.changeSome()
  const begun = await world.states()
  await world.undo(ordered.id)
  const undone = await world.carryOutUnderKills(ordered.id)
  const last = await world.states()
  const restored = world.matching.filter((id) => !foreign.includes(id))
  faults.push(...faultsOf(undone, begun, last, restored, await world.changedBy(ordered.id, 'undone')))
  for (const id of world.matching) {
    const expected = foreign.includes(id) ? begun.get(id) : before.get(id)
    const is = last.get(id)
    if (is?.status !== expected?.status || is?.expiresAt !== expected?.expiresAt) faults.push(`${id} is ${is?.status}`)
  }
  await world.repair(foreign)
  return faults
}

export function describeBulkKills(engine: Engine, rounds: number): void {
  test(`${rounds} bulk operations and their undoing under kill -9 change each token once, on the ${engine.name} store`, async (t) => {
    const prepared = await engine.prepare()
    const cli = new Cli()
    const world = await World.make(prepared.env, cli, `bulk kills on ${engine.name}`)
    try {
      for (let n = 0; n < rounds; n++) {
        assert.deepEqual(await round(world, n % 2 === 0 ? 'disable' : 'expire'), [], `round ${n}`)
      }
      const { kills } = world
      const before = await world.states()
      const ordered = await world.order('disable')
      await world.changeApart(ordered)
      const done = await world.carryOutUnderKills(ordered.id)
      const apart = await world.changedBy(ordered.id, 'round')
      const control = faultsOf(done, before, await world.states(), world.matching, apart)
      assert.ok(control.length > 0)
      record(t, {
        promise:
          'A bulk operation changes exactly the tokens that match, each once, and an undo restores exactly these',
        fault: `kill -9 of processes that carry it out, on the ${engine.name} store`,
        how: `two processes at a time carry out an operation on ${MATCHING} of ${MATCHING + OTHERS} tokens, or undo it after others have changed ${FOREIGN}; one or both are killed after a random part, their claim runs out, and others go on; every token's version, state and rows of the history are compared`,
        count: `${rounds} operations and ${rounds} undos, ${kills} kills`,
        figure: '0 tokens changed twice, missed or changed without need, 0 rows too many or too few',
        control: `progress kept apart from the changes: ${control.length} fault${control.length === 1 ? '' : 's'} found`,
      })
    } finally {
      await world.close()
      cli.dispose()
      await prepared.dispose()
    }
  })
}
