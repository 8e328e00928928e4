// What can happen to one token, one verifier, and a service on an embedded store with its journal: changes of each kind, the same
// again, undoing, crashes, copies that are put back, calls and time. What decides is the real code: the plans of changes, the
// journal's replay, which verifiers are waited for, and what a verifier remembers. The store, the network and the clocks are plain data.
import {
  answered,
  asked,
  holdsLease,
  leaseAnswered,
  leaseCall,
  leaseFailed,
  type Memory,
  newMemory,
  type Times,
} from '../../client/verifier/memory.ts'
import { planTokenChange, type TokenChange } from '../../src/tokens/changes/plan.ts'
import type { Origin } from '../../src/tokens/history/history.ts'
import { TOKENS } from '../../src/tokens/model/tables.ts'
import type { TokenRecord } from '../../src/tokens/model/token.ts'
import { type Revocation, replayedChange } from '../../src/tokens/trust/revocations.ts'
import { type Stamped, stampOf } from '../../src/tokens/trust/stamp.ts'
import { Stamps } from '../../src/tokens/trust/vault.ts'
import {
  covers,
  MARGIN_MS,
  Sightings,
  standingOf,
  toForget,
  unknownLease,
  type Verifier,
} from '../../src/tokens/verifiers/lease.ts'
import { readyEntry } from '../../src/tokens/verify/entry.ts'

/** Each breaks one rule: a sequence must be found after which somebody gets in. */
export const CONTROLS = {
  'a change that is sent again is answered at once': 'again',
  'what finds nothing left to do is answered at once': 'nothing-left',
  'a change is answered at once by the process that starts after a crash': 'after-crash',
  'what a rotation decides is not noted': 'rotation-decides-nothing',
  'the journal has no leases': 'no-leases-in-journal',
  'rows of leases are removed when the store is put back': 'rows-removed',
  'positions do not name the life of the store': 'one-life',
  'an order of off for a token that is off moves no version': 'same-version',
  'undoing looks at no version': 'any-version',
} as const
export type Control = (typeof CONTROLS)[keyof typeof CONTROLS]

export const EVENTS = [
  ...(['off', 'on', 'rename', 'rotate', 'delete', 'again', 'leak', 'bulk', 'undo'] as const),
  ...(['copy', 'put back', 'crash', 'call', 'cut', 'ask', 'time'] as const),
]
export type Event = (typeof EVENTS)[number]

const TERM_MS = 2_000
/** Two of these outlast a lease, one does not. */
const STEP_MS = 1_200
const [ID, VERIFIER] = ['tok_1', 'vfr_1']
const stamps = new Stamps(Buffer.alloc(32, 1))
const origin: Origin = { by: 'operator', at: 1, requestId: null, address: null }

interface Store {
  readonly token: Stamped<TokenRecord> | undefined
  /** Whether each row of the history tells verifiers to forget the token. */
  readonly history: readonly boolean[]
  readonly decided: number | undefined
  readonly rows: Readonly<Record<string, Verifier>>
  /** How many lines of the journal it has. */
  readonly lines: number
  /** A bulk operation has switched the token off, and has left this version. */
  readonly bulk: number | undefined
}

/** An answer that waits, and what it will tell. */
interface Answer {
  readonly mark: string
  readonly ends: Readonly<Record<string, number>>
  readonly order: number
}

export interface World {
  readonly now: number
  readonly store: Store
  readonly copy: Store
  readonly journal: readonly Revocation[]
  readonly life: number
  readonly sightings: Readonly<Record<string, { readonly renewal: number; readonly at: number }>>
  readonly answers: readonly Answer[]
  readonly memory: Memory
  /** The verifier has called since the store was started. */
  readonly hasCalled: boolean
  readonly isCut: boolean
  /** The last change that was asked for. */
  readonly last: Event | undefined
  /** Which credential the token has: a rotation makes the next one, and ends the one before. */
  readonly credential: number
  /** By the model: whether each order, the first of which is 0, leaves the first credential working. */
  readonly orders: readonly boolean[]
  /** The last order that was answered. */
  readonly told: number
  /** By the model: what undoing would bring back; undefined once anything else was ordered. */
  readonly undoable: boolean | undefined
}

/** The copy that there is already lacks the token, or the lease; or there is no verifier. */
export const BEGINNINGS = ['the copy lacks the token', 'the copy lacks the lease', 'there is no verifier'] as const

/** The token is on, and remembered by a verifier with a lease. */
export function begun(beginning: (typeof BEGINNINGS)[number]): World {
  const token: TokenRecord = {
    ...{ id: ID, accountId: 'acc', subAccountId: 'sub', name: '0', status: 'active', createdAt: 1, expiresAt: null },
    ...{
      version: 1,
      digest: Buffer.from('0'),
      sealed: Buffer.of(),
      masked: null,
      tags: null,
      policy: null,
      metadata: null,
    },
  }
  const empty: Store = { token: undefined, history: [false], decided: undefined, rows: {}, lines: 0, bulk: undefined }
  const made = { token: { ...token, stamp: stampOf(TOKENS, token, stamps) }, history: [false, false] }
  const world: World = {
    ...{ now: 0, store: empty, copy: empty, journal: [], life: 0, sightings: {}, answers: [], memory: newMemory(9) },
    ...{ hasCalled: false, isCut: false, last: undefined, credential: 0, orders: [true], told: 0, undoable: undefined },
  }
  if (beginning === 'there is no verifier') return { ...world, store: { ...empty, ...made } }
  if (beginning === 'the copy lacks the lease') {
    const copy = { ...empty, ...made }
    return ask(call({ ...world, store: copy, copy }))
  }
  const leased = call(world)
  return ask({ ...leased, copy: leased.store, store: { ...leased.store, ...made } })
}

export function after(world: World, event: Event, control: Control | undefined): World {
  const next = settled(happen(world, event, control))
  return isChange(event) ? { ...next, last: event } : next
}

function happen(world: World, event: Event, control: Control | undefined): World {
  switch (event) {
    case 'copy':
      return { ...world, copy: world.store }
    case 'put back':
      return started({ ...world, store: putBack(world, control) }, control)
    case 'crash':
      return started(world, control)
    case 'call':
      return world.isCut ? world : call(world)
    case 'cut':
      return { ...world, isCut: !world.isCut }
    case 'ask':
      return world.isCut ? world : ask(world)
    case 'time':
      return { ...world, now: world.now + STEP_MS }
    case 'again':
      return world.last === undefined ? world : changed(world, world.last, control, true)
    default:
      return changed(world, event, control, false)
  }
}

const isChange = (event: Event) => !['copy', 'put back', 'crash', 'call', 'cut', 'ask', 'time', 'again'].includes(event)

// The service.

const update = (fields: Partial<TokenRecord>): TokenChange => ({ kind: 'update', update: fields as object })
const OFF = update({ status: 'inactive' })

/** What an event orders, if there is anything left to do; a retry of a rotation is answered by its idempotency key. */
function orderOf({ store, credential, now }: World, event: Event, control: Control | undefined, isAgain: boolean) {
  const { token, bulk } = store
  const isOff = token?.status === 'inactive'
  switch (event) {
    case 'off':
    case 'leak':
    case 'bulk':
      return control === 'same-version' && isOff ? undefined : OFF
    case 'on':
      return update({ status: 'active' })
    case 'rename':
      return update({ name: `${now}` })
    case 'delete':
      return { kind: 'delete' } as const
    case 'rotate': {
      const digest = Buffer.from(String(credential + 1))
      return isAgain
        ? undefined
        : ({ kind: 'rotate', rotation: { digest, sealed: Buffer.of(), formerUntil: 0 } } as const)
    }
    case 'undo':
      return bulk !== undefined && (bulk === token?.version || control === 'any-version')
        ? update({ status: 'active' })
        : undefined
    default:
      return undefined
  }
}

function changed(world: World, event: Event, control: Control | undefined, isAgain: boolean): World {
  const change = orderOf(world, event, control, isAgain)
  const plan = world.store.token && change && planTokenChange(world.store.token, change, origin, stamps)
  const ordered = { ...world, ...ordersAfter(world, event, isAgain) }
  if (plan === undefined) return answering(ordered, control, isAgain, true)
  const { store, journal } = world
  const lines: Revocation[] = [...plan.journal]
  if (event === 'undo') lines.push({ kind: 'bulk-undone', id: 'blk', at: 1 })
  const history = plan.event === undefined ? store.history : [...store.history, true]
  const decides = plan.decides && !(control === 'rotation-decides-nothing' && event === 'rotate')
  const isNothingLeft = plan.event === undefined
  const bulk = { bulk: isNothingLeft ? store.bulk : plan.after.version, undo: undefined }
  const next: Store = {
    ...store,
    token: plan.isDeleted ? undefined : plan.after,
    history,
    decided: decides ? history.length : store.decided,
    lines: journal.length + lines.length,
    bulk: event in bulk ? bulk[event as keyof typeof bulk] : store.bulk,
  }
  const credential = event === 'rotate' ? world.credential + 1 : world.credential
  const made = { ...ordered, store: next, journal: [...journal, ...lines], credential }
  return answering(made, control, isAgain, isNothingLeft)
}

/** The model: what each order leaves of the first credential. */
function ordersAfter({ orders, undoable, store }: World, event: Event, isAgain: boolean): Partial<World> {
  const works = orders.at(-1) ?? false
  if (event === 'rename' || store.token === undefined || (isAgain && event === 'rotate')) return {}
  if (event === 'undo') return undoable === undefined ? {} : { orders: [...orders, undoable], undoable: undefined }
  const isEnded = Buffer.from(store.token.digest).toString() !== '0'
  const after = event === 'on' ? !isEnded : false
  return {
    orders: [...orders, after],
    undoable: event === 'bulk' && store.token.status === 'active' ? works : undefined,
  }
}

/** Every answer passes the gate. */
function answering(world: World, control: Control | undefined, isAgain: boolean, isNothingLeft: boolean): World {
  const isAtOnce =
    (control === 'again' && isAgain) ||
    (control === 'nothing-left' && isNothingLeft) ||
    (control === 'after-crash' && world.sightings === NOTHING_SEEN)
  const { store, life, now } = world
  const mark = `${life}/${store.decided ?? 0}`
  const order = world.orders.length - 1
  if (isAtOnce) return { ...world, told: Math.max(world.told, order) }
  const pending = Object.values(store.rows).filter(({ acked }) => !covers(acked, mark))
  const { sightings, ends } = seen(world, pending, now)
  return { ...world, sightings, answers: [...world.answers, { mark, ends, order }] }
}

const NOTHING_SEEN = {}

/** The real class, made again from what it knows. */
function seen({ sightings }: World, found: readonly Verifier[], now: number) {
  const real = new Sightings()
  for (const row of found) {
    const known = sightings[row.id]
    if (known !== undefined) real.endOf({ ...row, renewal: known.renewal }, known.at)
  }
  const ends = Object.fromEntries(found.map((row) => [row.id, real.endOf(row, now)]))
  const at = found.map((row) => [row.id, { renewal: row.renewal, at: (ends[row.id] ?? 0) - row.termMs - MARGIN_MS }])
  return { ends, sightings: { ...sightings, ...Object.fromEntries(at) } }
}

/** Answers what no verifier has to be waited for any more, and removes leases that have run out. */
function settled(world: World): World {
  const { store, now } = world
  const waits = ({ mark, ends }: Answer) =>
    Object.entries(ends).some(([id, at]) => standingOf(store.rows[id], mark, at, now) === 'waits')
  const done = world.answers.filter((answer) => !waits(answer))
  const answers = world.answers.filter(waits)
  const told = Math.max(world.told, ...done.map(({ order }) => order))
  const over = done.flatMap(({ mark, ends }) =>
    Object.entries(ends).filter(([id, at]) => standingOf(store.rows[id], mark, at, now) === 'ran-out'),
  )
  const gone = new Set(over.map(([id]) => id).filter((id) => store.rows[id]?.renewal === world.sightings[id]?.renewal))
  const rows = Object.fromEntries(Object.entries(store.rows).filter(([id]) => !gone.has(id)))
  return { ...world, answers, told, store: { ...store, rows } }
}

/** The process has ended with the answers that it owed, and another one begins a life of the store. */
function started(world: World, control: Control | undefined): World {
  const life = control === 'one-life' ? world.life : world.life + 1
  return { ...world, answers: [], sightings: NOTHING_SEEN, life, hasCalled: false }
}

/** A copy that is older than the journal learns from it what was taken away, and who may hold a lease. */
function putBack({ copy, journal }: World, control: Control | undefined): Store {
  const kept = control === 'rows-removed' ? { ...copy, rows: {} } : copy
  const missed = journal.slice(copy.lines)
  return { ...missed.reduce<Store>((store, line) => replayed(store, line, control), kept), lines: journal.length }
}

function replayed(store: Store, line: Revocation, control: Control | undefined): Store {
  if (line.kind === 'lease') {
    const isKept = control !== 'no-leases-in-journal' && control !== 'rows-removed'
    return isKept ? { ...store, rows: { ...store.rows, [line.id]: unknownLease(line) } } : store
  }
  const change = 'version' in line && store.token ? replayedChange(store.token, line) : undefined
  const plan = store.token && change && planTokenChange(store.token, change, origin, stamps)
  if (plan === undefined || !('version' in line)) return store
  const version = Math.max(plan.after.version, line.version)
  const token = { ...plan.after, version }
  const history = plan.event === undefined ? store.history : [...store.history, true]
  const decided = plan.decides ? history.length : store.decided
  const stamped = { ...token, stamp: stampOf(TOKENS, token, stamps) }
  return { ...store, token: plan.isDeleted ? undefined : stamped, history, decided }
}

// The verifier.

const timesOf = ({ now }: World): Times => ({ monotonic: now, wall: now })

function copyOf(memory: Memory): Memory {
  const { entries, hashes } = memory
  return { ...memory, entries: new Map(entries), hashes: new Map(hashes), questions: new Set() }
}

/** A call with its answer. */
function call(world: World): World {
  const { store, life, journal } = world
  const memory = copyOf(world.memory)
  const sentAt = timesOf(world)
  const body = leaseCall(memory, sentAt)
  const end = `${life}/${store.history.length}`
  if (body.lease === undefined) {
    const id = `${VERIFIER}_${journal.length}`
    const begun = { kind: 'lease', id, accountId: 'acc', at: 1, termMs: TERM_MS } as const
    const row = { ...unknownLease(begun), renewal: 1, acked: end }
    leaseAnswered(memory, sentAt, { lease: id, position: end, termMs: TERM_MS, forget: 'all' })
    const next = { ...store, rows: { ...store.rows, [id]: row }, lines: journal.length + 1 }
    return { ...world, memory, store: next, journal: [...journal, begun], hasCalled: true }
  }
  const row = store.rows[body.lease]
  if (row === undefined) {
    leaseFailed(memory, body, sentAt, 'lease-lost')
    return { ...world, memory, hasCalled: true }
  }
  const [itsLife, place] = (body.position ?? '').split('/').map(Number)
  const isKnown = itsLife === life && (place ?? 0) <= store.history.length
  const changes = store.history
    .slice(place)
    .flatMap((tells) => (tells ? { accountId: 'acc', seq: 1, action: 'token.update', subject: ID } : []))
  const renewed = { ...row, renewal: row.renewal + 1, acked: isKnown ? (body.position ?? '') : row.acked }
  leaseAnswered(memory, sentAt, {
    lease: row.id,
    position: end,
    termMs: TERM_MS,
    forget: toForget(isKnown ? changes : undefined),
  })
  return { ...world, memory, store: { ...store, rows: { ...store.rows, [row.id]: renewed } }, hasCalled: true }
}

/** About the first credential. */
function ask(world: World): World {
  const memory = copyOf(world.memory)
  const { token } = world.store
  const question = asked(memory, timesOf(world))
  const isThere = token !== undefined && Buffer.from(token.digest).toString() === '0'
  const ids = { tokenId: ID, subAccountId: 'sub', accountId: 'acc' }
  const refused = token?.status === 'active' ? null : ('inactive' as const)
  const entry = { ...ids, version: token?.version ?? 0, refused, endsInMs: null, policies: [null, null] as const }
  answered(memory, question, 'first', isThere ? readyEntry(entry) : null)
  return { ...world, memory }
}

/** Why somebody gets in who must not, or would for ever; undefined if nobody does. */
export function violationOf(world: World): string | undefined {
  const { memory, store, orders, told, hasCalled } = world
  const remembered = memory.entries.get('first')
  const isAccepted = remembered?.entry.refused === null && holdsLease(memory, timesOf(world))
  // What was ordered since may hold already, or not yet.
  if (isAccepted && !orders.slice(told).includes(true)) return 'a verifier accepts what is off, as somebody was told'
  if (isAccepted && hasCalled && store.token === undefined && !orders.slice(told).includes(false)) {
    return 'a verifier goes on accepting a token that the store does not have'
  }
  const isOn = store.token?.status === 'active' && Buffer.from(store.token.digest).toString() === '0'
  if (isOn && !orders.slice(told).includes(true)) return 'the store accepts what is off, as somebody was told'
  return undefined
}
