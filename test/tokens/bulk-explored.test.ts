// Every short sequence of what can happen to a bulk operation: its steps by two processes, each of which may have read it long ago or
// end before it hears of its commit, changes by others, an end, and orders to undo. Whatever happens, each token is changed once at
// most, and restored once at most, and what others have done stays.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type BulkAction,
  changeOf,
  ended,
  inParts,
  NOTHING_DONE,
  nextPart,
  type StoredBulk,
  type StoredPart,
  undoing,
} from '../../src/tokens/bulk/bulk.ts'
import { isUntouched, orderedBy, planBulk, planStep } from '../../src/tokens/bulk/plan.ts'
import { BULK_OPERATIONS, BULK_PARTS } from '../../src/tokens/bulk/tables.ts'
import { planTokenChange } from '../../src/tokens/changes/plan.ts'
import { Failure } from '../../src/tokens/model/errors.ts'
import { TOKENS } from '../../src/tokens/model/tables.ts'
import type { TokenRecord } from '../../src/tokens/model/token.ts'
import { restamp, type Stamped, stampOf } from '../../src/tokens/trust/stamp.ts'
import { Stamps } from '../../src/tokens/trust/vault.ts'
import { runs } from '../support/runs.ts'

const LENGTH = runs(5, 6)
const AT = 1_000
const stamps = new Stamps(new Uint8Array(32))
const origin = { by: 'key_1', at: AT, requestId: null, address: null }
const stamped = <Row extends StoredBulk>(row: Row) => ({ ...row, stamp: stampOf(BULK_OPERATIONS, row, stamps) })

const token = (id: string, status: TokenRecord['status']): Stamped<TokenRecord> => {
  const none = { expiresAt: null, masked: null, metadata: null, tags: null, policy: null }
  const bytes = { digest: Buffer.from(id), sealed: new Uint8Array() }
  const row = {
    id,
    accountId: 'acc_1',
    subAccountId: 'sub_1',
    name: id,
    status,
    createdAt: 1,
    version: 1,
    ...none,
    ...bytes,
  }
  return { ...row, stamp: stampOf(TOKENS, row, stamps) }
}

/** What was done to a token: by the operation, by its undoing, or by others. */
type Done = 'do' | 'undo' | 'other'

interface World {
  readonly operation: Stamped<StoredBulk>
  readonly parts: readonly Stamped<StoredPart>[]
  readonly tokens: ReadonlyMap<string, Stamped<TokenRecord>>
  /** What a process has read and not acted on yet. */
  readonly read: Stamped<StoredBulk> | undefined
  readonly log: ReadonlyMap<string, readonly Done[]>
}

/** Two parts, of two tokens and of one; in each a token that need not be changed, or one that others change. */
function begin(action: BulkAction): World {
  const [off, on] = action === 'enable' ? (['active', 'inactive'] as const) : (['inactive', 'active'] as const)
  const tokens = [token('a', on), token('b', off), token('c', on)]
  const chosen = tokens.map(({ id, version }) => [id, version] as const)
  const about = { id: 'blk_1', accountId: 'acc_1', action, filter: '{}', scope: null, reason: null, createdAt: AT }
  const by = { by: origin.by, byName: null, ordered: orderedBy(origin) }
  const { operation } = planBulk({ ...about, ...by, ...NOTHING_DONE }, inParts(chosen), 0)
  const parts = [chosen.slice(0, 2), chosen.slice(2)].map((some, number) => {
    const row = {
      operationId: 'blk_1',
      number,
      accountId: 'acc_1',
      createdAt: AT,
      tokens: JSON.stringify(some),
      changes: null,
    }
    return { ...row, stamp: stampOf(BULK_PARTS, row, stamps) }
  })
  return {
    operation: stamped({ ...operation, parts: parts.length }),
    parts,
    tokens: new Map(tokens.map((each) => [each.id, each])),
    read: undefined,
    log: new Map(tokens.map(({ id }) => [id, []])),
  }
}

const logged = (log: World['log'], id: string, done: Done) => new Map(log).set(id, [...(log.get(id) ?? []), done])

/** What the transaction of a step does, for a process that has read the operation as `asked`. */
function advance(world: World, asked: Stamped<StoredBulk>): World {
  const number = nextPart(asked)
  const part = number === undefined ? undefined : world.parts[number]
  if (part === undefined || !isUntouched(asked, world.operation, stamps)) return world
  const ids: string[] = JSON.parse(asked.direction === 'do' ? part.tokens : (part.changes ?? '[]')).map(
    ([id]: [string]) => id,
  )
  const found = { part, tokens: ids.map((id) => world.tokens.get(id)), matching: new Set(world.tokens.keys()) }
  const step = planStep(world.operation, found, AT, stamps)
  const tokens = new Map(world.tokens)
  let { log } = world
  for (const { before, after, isDeleted } of step.plans) {
    if (isDeleted) tokens.delete(after.id)
    else tokens.set(after.id, after)
    if (isDeleted || before.status !== after.status) log = logged(log, after.id, asked.direction)
  }
  return { ...world, operation: step.operation, parts: world.parts.with(part.number, step.part), tokens, log }
}

function end(world: World, asked: Stamped<StoredBulk>, error: StoredBulk['error']): World {
  const isSame = isUntouched(asked, world.operation, stamps) && asked.status === 'running'
  if (!isSame || (error === null && nextPart(asked) !== undefined)) return world
  return { ...world, operation: restamp(BULK_OPERATIONS, asked, ended(asked, error, AT), stamps) }
}

/** One turn of a process: what it does with what it has read. */
const turn = (world: World, asked: Stamped<StoredBulk>) =>
  nextPart(asked) === undefined ? end(world, asked, null) : advance(world, asked)

function change(id: string, update: Partial<TokenRecord> | undefined) {
  return (world: World): World => {
    const before = world.tokens.get(id)
    if (before === undefined) return world
    const tokens = new Map(world.tokens)
    if (update === undefined) tokens.delete(id)
    else {
      const { name, status } = update
      const asked = { ...(name !== undefined && { name }), ...(status !== undefined && { status }) }
      const plan = planTokenChange(before, { kind: 'update', update: asked }, origin, stamps)
      if (plan === undefined) return world
      tokens.set(id, plan.after)
    }
    return { ...world, tokens, log: logged(world.log, id, 'other') }
  }
}

/** A report that its credential has leaked, or an order of off, moves the version of a token that is off. */
function orderOff(id: string) {
  return (world: World): World => {
    const before = world.tokens.get(id)
    if (before === undefined || before.status === 'active') return change(id, { status: 'inactive' })(world)
    const after = restamp(TOKENS, before, { ...before, version: before.version + 1 }, stamps)
    return { ...world, tokens: new Map(world.tokens).set(id, after), log: logged(world.log, id, 'other') }
  }
}

const MOVES: Readonly<Record<string, (world: World) => World>> = {
  step: (world) => turn(world, world.operation),
  'another reads': (world) => ({ ...world, read: world.operation }),
  'the other steps': (world) => (world.read === undefined ? world : turn(world, world.read)),
  'the authority ends': (world) => end(world, world.operation, 'revoked'),
  undo(world) {
    try {
      return {
        ...world,
        operation: restamp(BULK_OPERATIONS, world.operation, undoing(world.operation, orderedBy(origin), AT), stamps),
      }
    } catch (error) {
      if (error instanceof Failure && error.code === 'bulk-not-undoable') return world
      throw error
    }
  },
  'rename a': change('a', { name: 'renamed' }),
  'enable c': change('c', { status: 'active' }),
  'disable c': orderOff('c'),
  'delete a': change('a', undefined),
}

/** As a process does that has all the time it needs. */
function finished(world: World): World {
  let last = world
  for (let n = 0; last.operation.status === 'running'; n++) {
    assert.ok(n < 10, 'it goes on without an end')
    last = turn(last, last.operation)
  }
  return last
}

const count = ({ log }: World, done: Done) => [...log.values()].flat().filter((each) => each === done).length

function check(begun: World, sequence: readonly string[], action: BulkAction): void {
  const world = finished(begun)
  const { operation, tokens, log } = world
  const said = `${action}: ${sequence.join(', ')}`
  const [wanted, before] = action === 'enable' ? ['active', 'inactive'] : ['inactive', 'active']
  assert.equal(operation.done, count(world, 'do'), said)
  assert.equal(operation.restored, count(world, 'undo'), said)
  for (const [id, done] of log) {
    assert.ok(done.filter((each) => each === 'do').length <= 1, said)
    assert.ok(done.filter((each) => each === 'undo').length <= 1, said)
    const now = tokens.get(id)
    if (done.at(-1) === 'do' && action !== 'delete') assert.equal(now?.status, wanted, said)
    if (done.at(-1) === 'do' && action === 'delete') assert.equal(now, undefined, said)
    if (done.at(-1) === 'undo') {
      assert.equal(now?.status, before, said)
      assert.equal(done.at(-2), 'do', `${said}: something of ${id} was changed in between`)
    }
  }
  if (operation.status === 'done') {
    assert.equal(operation.done + operation.skipped, operation.total, said)
    // What was not changed was so already, is gone, or is as others have left it.
    for (const [id, done] of log) {
      const isOthers = done.at(-1) === 'other'
      if (!done.includes('do') && !isOthers && tokens.has(id))
        assert.equal(tokens.get(id)?.status, wanted, `${said}: ${id}`)
    }
  }
  if (operation.status === 'undone') {
    assert.equal(operation.restored + operation.kept, operation.done, said)
    for (const [id, done] of log) assert.notEqual(done.at(-1), 'do', `${said}: ${id} was not restored`)
  }
}

function explore(action: BulkAction): number {
  let sequences = 0
  const visit = (world: World, sequence: readonly string[]): void => {
    sequences++
    check(world, sequence, action)
    if (sequence.length === LENGTH) return
    for (const [name, move] of Object.entries(MOVES)) {
      const next = move(world)
      // What changes nothing leads to nothing new.
      if (next !== world) visit(next, [...sequence, name])
    }
  }
  visit(begin(action), [])
  return sequences
}

for (const action of ['disable', 'enable', 'delete'] as const) {
  test(`${action}: each token is changed once, restored once, and left to others, in every sequence of ${LENGTH}`, (t) => {
    const sequences = explore(action)
    t.diagnostic(`${sequences} sequences`)
    assert.ok(sequences > 1_000)
  })
}

test('a token that is off is ordered off all the same, so that no earlier operation enables it', () => {
  const { operation } = begin('disable')
  const asked = changeOf(operation, { status: 'inactive', expiresAt: null })
  assert.deepEqual(asked, { kind: 'update', update: { status: 'inactive' } })
})

test('this test would notice a step that is made by what was read long ago', () => {
  const world = begin('disable')
  const stale = world.operation
  const once = turn(world, stale)
  const twice = turn({ ...once, operation: stale, parts: world.parts, tokens: world.tokens }, stale)
  assert.throws(() => check(twice, ['step', 'the same again'], 'disable'))
})
