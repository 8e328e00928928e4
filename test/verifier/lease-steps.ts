// What can happen next to instances of the service and to verifiers. The deciding code of both sides is the real one
// (client/verifier/memory.ts, src/tokens/verifiers/lease.ts); the store, the network and the clocks are plain data here. Any message may
// be late or lost, any process may be frozen between two steps, and a verifier's machine may be suspended.
import {
  answered,
  asked,
  holdsLease,
  type LeaseAnswer,
  type LeaseCall,
  leaseAnswered,
  leaseCall,
  leaseFailed,
  type Memory,
  newMemory,
  type Question,
  type Times,
} from '../../client/verifier/memory.ts'
import {
  type Change,
  covers,
  MARGIN_MS,
  Sightings,
  standingOf,
  toForget,
  type Verifier,
} from '../../src/tokens/verifiers/lease.ts'
import { readyEntry } from '../../src/tokens/verify/entry.ts'

/** Each breaks one rule of the protocol: the search must find a verification that shows an older state. */
export const CONTROLS = {
  'a change waits for nobody': 'no-waiting',
  'a change looks for verifiers before its commit': 'look-before-commit',
  'a change waits for less than a term': 'short-wait',
  'the news are read before the lease is renewed': 'news-before-renewal',
  'a lease without a sign of life is removed whatever has happened since': 'unconditional-removal',
  'the term counts from the receipt of the answer': 'term-from-receipt',
  'a position is confirmed before what it brings is forgotten': 'confirmed-before-forgotten',
  'what is remembered outlives the lease': 'entries-outlive-lease',
  'an answer is remembered whatever has changed since it was asked for': 'fill-ignores-changes',
  'only the monotonic clock is asked, and the machine is suspended': 'one-clock',
  'an entry ends when its whole time is over by a clock that may be slow': 'whole-time',
} as const
export type Control = (typeof CONTROLS)[keyof typeof CONTROLS]

export interface Limits {
  readonly instances: number
  readonly verifiers: number
  readonly tokens: number
  readonly changes: number
  /** Leases that each verifier begins. */
  readonly begins: number
  readonly suspensions: number
  readonly states: number
  /** The unit of time in which all tokens expire; without one, never. */
  readonly expiry?: number
  /** The speed of the clocks of verifiers. */
  readonly rate?: number
  /** The search begins when each verifier holds a lease and remembers the first token. */
  readonly isWarm?: boolean
}

export const UNIT_MS = 1_000
const TERM_MS = 2_000

interface Wait {
  readonly id: string
  readonly endsAt: number
}
interface PendingChange {
  readonly phase: 'looked' | 'committed' | 'waiting'
  readonly token: number
  readonly version: number
  readonly mark: string
  readonly waits: readonly Wait[]
}
export interface Instance {
  readonly sightings: Readonly<Record<string, { readonly renewal: number; readonly at: number }>>
  readonly dead: { readonly id: string; readonly renewal: number } | undefined
  readonly change: PendingChange | undefined
}
export interface Call {
  /** Of the lease, also of one that the call begins. */
  readonly id: string
  readonly stage: 'sent' | 'committed' | 'answered' | 'lost'
  readonly sentAt: Times
  readonly body: LeaseCall
  readonly answer?: LeaseAnswer
  /** Read too early, by a control. */
  readonly news?: LeaseAnswer
}
interface Holder {
  readonly memory: Memory
  readonly begins: number
  /** Units for which its machine was suspended. */
  readonly lag: number
  readonly call: Call | undefined
  /** A call whose answer the verifier no longer waits for; the service may still receive it. */
  readonly late: Call | undefined
  readonly question:
    | {
        readonly token: number
        readonly of: Question
        readonly version: number | undefined
        readonly endsInMs: number | null
      }
    | undefined
  /** Not forgotten yet though confirmed, by a control. */
  readonly unforgotten: LeaseAnswer | undefined
}
export interface State {
  readonly time: number
  readonly expiry: number | undefined
  readonly rate: number
  /** The token of each change, in the order of their commits. */
  readonly history: readonly number[]
  readonly rows: Readonly<Record<string, Verifier>>
  readonly answered: readonly number[]
  readonly instances: readonly Instance[]
  readonly verifiers: readonly Holder[]
}
export type Step = readonly [event: string, state: State]

export const nameOf = (token: number): string => `tok_${token}`
const positionOf = (history: readonly number[]): string => `1/${history.length}`
const versionOf = (history: readonly number[], token: number): number => history.filter((each) => each === token).length

export function timesOf({ time, rate }: State, { lag }: Holder, control?: Control): Times {
  const monotonic = (time - lag) * UNIT_MS * rate
  return { monotonic, wall: control === 'one-clock' ? monotonic : time * UNIT_MS * rate }
}

export function initial({ instances, verifiers, tokens, expiry, rate = 1 }: Limits): State {
  const holder = (): Holder => ({
    ...{ memory: newMemory(10), begins: 0, lag: 0 },
    ...{ call: undefined, late: undefined, question: undefined, unforgotten: undefined },
  })
  return {
    ...{ time: 0, expiry, rate },
    history: [],
    rows: {},
    answered: Array.from({ length: tokens }, () => 0),
    instances: Array.from({ length: instances }, () => ({ sightings: {}, dead: undefined, change: undefined })),
    verifiers: Array.from({ length: verifiers }, holder),
  }
}

const replaced = <Item>(items: readonly Item[], at: number, item: Item): Item[] => items.with(at, item)

// The service.

export function* stepsOfInstance(
  state: State,
  at: number,
  limits: Limits,
  control: Control | undefined,
): Generator<Step> {
  const instance = state.instances[at] as Instance
  const { change, dead } = instance
  const now = state.time * UNIT_MS
  const step = (event: string, next: Partial<Instance>, rest: Partial<State> = {}): Step => [
    `instance ${at} ${event}`,
    { ...state, ...rest, instances: replaced(state.instances, at, { ...instance, ...next }) },
  ]
  const looksFirst = control === 'look-before-commit'
  if (change === undefined && state.history.length < limits.changes) {
    for (let token = 0; token < limits.tokens; token++) {
      const change = pending(state, token)
      if (looksFirst)
        yield step(`looks before it changes ${token}`, look(state, instance, { ...change, phase: 'looked' }))
      else yield step(`commits a change of ${token}`, { change }, commit(state, token))
    }
  }
  if (change?.phase === 'looked') {
    const { token, waits } = change
    yield step(
      `commits a change of ${token}`,
      { change: { ...pending(state, token), phase: 'waiting', waits } },
      commit(state, token),
    )
  }
  if (change?.phase === 'committed') {
    yield step('looks for verifiers', look(state, instance, { ...change, phase: 'waiting' }, control))
  }
  if (change?.phase === 'waiting') {
    const { token, version, mark, waits } = change
    const isDone = waits.every(({ id, endsAt }) => standingOf(state.rows[id], mark, endsAt, now) !== 'waits')
    const latest = state.answered.with(token, Math.max(version, state.answered[token] ?? 0))
    if (isDone) yield step(`answers the change of ${token}`, { change: undefined }, { answered: latest })
  }
  if (dead !== undefined) {
    const isUnchanged = state.rows[dead.id]?.renewal === dead.renewal || control === 'unconditional-removal'
    const { [dead.id]: _removed, ...others } = state.rows
    yield step('removes a lease', { dead: undefined }, isUnchanged ? { rows: others } : {})
  } else if (Object.keys(state.rows).length > 0) {
    const sightings = see(instance, Object.values(state.rows), now)
    const ended = Object.values(state.rows).find(({ id }) => (sightings[id]?.at ?? now) + TERM_MS + MARGIN_MS <= now)
    yield step('looks for dead leases', { sightings, dead: ended && { id: ended.id, renewal: ended.renewal } })
  }
}

function pending({ history }: State, token: number): PendingChange {
  const version = versionOf(history, token) + 1
  return { phase: 'committed', token, version, mark: `1/${history.length + 1}`, waits: [] }
}

const commit = ({ history }: State, token: number): Partial<State> => ({ history: [...history, token] })

/** Which verifiers a change has to wait for, and until when. */
function look({ rows, time }: State, instance: Instance, change: PendingChange, control?: Control): Partial<Instance> {
  const { mark } = change
  const found = control === 'no-waiting' ? [] : Object.values(rows).filter(({ acked }) => !covers(acked, mark))
  const sightings = see(instance, found, time * UNIT_MS)
  const waits = found.map(({ id }) => {
    const endsAt = (sightings[id]?.at ?? 0) + TERM_MS + MARGIN_MS
    return { id, endsAt: control === 'short-wait' ? endsAt - TERM_MS : endsAt }
  })
  return { sightings, change: { ...change, waits } }
}

/** The real class, made again from what it knows; its state cannot be copied otherwise. */
function see({ sightings }: Instance, found: readonly Verifier[], now: number): Instance['sightings'] {
  const real = new Sightings()
  const known = { ...sightings }
  for (const [id, { renewal, at }] of Object.entries(sightings)) real.endOf({ ...rowOf(id), renewal }, at)
  for (const row of found) known[row.id] = { renewal: row.renewal, at: real.endOf(row, now) - TERM_MS - MARGIN_MS }
  return known
}

function rowOf(id: string): Verifier {
  const about = { accountId: null, keyId: 'key_1', name: '', version: '1', since: 0, confirmedAt: 0, evictedAt: null }
  return { ...about, id, renewal: 0, termMs: TERM_MS, acked: '' } as unknown as Verifier
}

/** Commits what a call says: the row of a new lease, or that a lease goes on and has confirmed its position. */
function received(state: State, { id, body: { lease, position = '' } }: Call) {
  const row = lease === undefined ? { ...rowOf(id), acked: positionOf(state.history) } : state.rows[id]
  if (row === undefined) return undefined
  const next = lease === undefined ? row : { ...row, renewal: row.renewal + 1, acked: position }
  return { ...state.rows, [id]: next }
}

function newsFor({ history }: State, { id, body: { lease, position } }: Call): LeaseAnswer {
  const since = history.slice(Number(position?.split('/')[1] ?? 0))
  const changes = since.map(
    (token): Change => ({ accountId: 'acc_1', seq: 0, action: 'token.update', subject: nameOf(token) }),
  )
  const forget = lease === undefined ? 'all' : toForget(changes)
  return { lease: id, position: positionOf(history), termMs: TERM_MS, forget }
}

// The verifiers.

export function* stepsOfVerifier(
  state: State,
  at: number,
  limits: Limits,
  control: Control | undefined,
): Generator<Step> {
  const holder = state.verifiers[at] as Holder
  const { call, late, question, memory, unforgotten } = holder
  const now = timesOf(state, holder, control)
  const step = (
    event: string,
    act: (copy: Mutable) => Partial<Holder> | undefined,
    rest: Partial<State> = {},
  ): Step => {
    const copy = copyOf(holder)
    const next = { ...copy, ...act(copy) }
    return [`verifier ${at} ${event}`, { ...state, ...rest, verifiers: replaced(state.verifiers, at, next) }]
  }
  const begins = memory.lease === undefined ? 1 : 0
  if (call === undefined && holder.begins + begins <= limits.begins) {
    yield step('calls', (copy) => ({
      call: {
        id: memory.lease?.id ?? `vfr_${at}_${holder.begins}`,
        stage: 'sent',
        sentAt: now,
        body: leaseCall(copy.memory, now),
      },
      begins: holder.begins + begins,
    }))
  }
  if (call !== undefined) yield* stepsOfCall(state, call, step, control)
  if (late !== undefined) {
    yield step('is heard late', () => ({ late: undefined }), { rows: received(state, late) ?? state.rows })
  }
  if (unforgotten !== undefined) {
    yield step('forgets', (copy) => {
      leaseAnswered(copy.memory, copy.memory.lease?.sentAt ?? now, unforgotten)
      return { unforgotten: undefined }
    })
  }
  if (question === undefined) {
    const isHeld = holdsLease(memory, now)
    for (let token = 0; token < limits.tokens; token++) {
      if (isHeld && memory.entries.has(nameOf(token))) continue
      yield step(`asks about ${token}`, (copy) => ({
        question: { token, of: asked(copy.memory, now), version: undefined, endsInMs: null },
      }))
    }
  } else if (question.version === undefined) {
    const version = versionOf(state.history, question.token)
    const endsInMs = state.expiry === undefined ? null : (state.expiry - state.time) * UNIT_MS
    yield step('is read', (copy) => ({ question: copy.question && { ...copy.question, version, endsInMs } }))
  } else {
    yield step('hears the verdict', (copy) => {
      if (copy.question === undefined) return undefined
      const { of, token, version = 0, endsInMs } = copy.question
      if (control === 'fill-ignores-changes') of.changes = []
      const isWhole = control === 'whole-time' && endsInMs !== null
      answered(copy.memory, of, nameOf(token), entryFor(token, version, isWhole ? endsInMs / 0.9 : endsInMs))
      return { question: undefined }
    })
  }
  if (holder.lag < limits.suspensions) {
    yield step('is suspended', () => ({ lag: holder.lag + 1 }), { time: state.time + 1 })
  }
}

type StepOf = (event: string, act: (copy: Mutable) => Partial<Holder> | undefined, rest?: Partial<State>) => Step

function* stepsOfCall(state: State, call: Call, step: StepOf, control: Control | undefined): Generator<Step> {
  const { stage, body, sentAt } = call
  yield step('gives its call up', (copy) => {
    leaseFailed(copy.memory, body, sentAt, undefined)
    return { call: undefined, late: stage === 'sent' ? call : copy.late }
  })
  if (stage === 'sent') {
    const rows = received(state, call)
    if (control === 'news-before-renewal' && call.news === undefined && body.lease !== undefined) {
      yield step('has its news read', () => ({ call: { ...call, news: newsFor(state, call) } }))
      return
    }
    // A new lease is answered with the position that its row was written with.
    const answer = body.lease === undefined ? newsFor(state, call) : call.news
    if (rows === undefined) yield step('has lost its lease', () => ({ call: { ...call, stage: 'lost' } }))
    else if (answer) yield step('is heard', () => ({ call: { ...call, stage: 'answered', answer } }), { rows })
    else yield step('is heard', () => ({ call: { ...call, stage: 'committed' } }), { rows })
  }
  if (stage === 'committed') {
    yield step('has its news read', () => ({ call: { ...call, stage: 'answered', answer: newsFor(state, call) } }))
  }
  if (stage === 'lost') {
    yield step('hears that its lease is lost', (copy) => {
      if (control === 'entries-outlive-lease') copy.memory.lease = undefined
      else leaseFailed(copy.memory, body, sentAt, 'lease-lost')
      return { call: undefined }
    })
  }
  if (stage === 'answered' && call.answer) {
    yield step('hears the answer', (copy) => ({ call: undefined, ...hear(state, copy, call, control) }))
  }
}

function hear(state: State, { memory, ...holder }: Mutable, call: Call, control: Control | undefined) {
  const { answer, sentAt } = call
  if (answer === undefined) return {}
  if (control === 'confirmed-before-forgotten' && memory.lease !== undefined) {
    memory.lease = { ...memory.lease, position: answer.position, sentAt }
    return { unforgotten: answer }
  }
  if (control === 'entries-outlive-lease' && memory.lease === undefined) {
    memory.lease = { id: answer.lease, position: answer.position, termMs: TERM_MS, sentAt }
    return {}
  }
  leaseAnswered(memory, control === 'term-from-receipt' ? timesOf(state, holder as Holder) : sentAt, answer)
  return {}
}

function entryFor(token: number, version: number, endsInMs: number | null) {
  const ids = { tokenId: nameOf(token), subAccountId: 'sub_1', accountId: 'acc_1' }
  const hasExpired = endsInMs !== null && endsInMs <= 0
  return readyEntry({
    ...{ ...ids, version },
    refused: version % 2 ? 'inactive' : hasExpired ? 'expired' : null,
    endsInMs: hasExpired ? null : endsInMs,
    policies: [null, null],
  })
}

type Mutable = { -readonly [Name in keyof Holder]: Holder[Name] }

/** What the real functions change, copied. */
function copyOf(holder: Holder): Mutable {
  const { memory, question } = holder
  const of = question && { ...question.of, changes: question.of.changes === 'all' ? 'all' : [...question.of.changes] }
  const maps = {
    entries: new Map(memory.entries),
    hashes: new Map(memory.hashes),
    questions: new Set(of ? [of as Question] : []),
  }
  const unreported = { uses: new Map(), verdicts: new Map(), usage: new Map(), recent: new Map() }
  return {
    ...holder,
    memory: { ...memory, ...maps, ...unreported, unanswered: [] },
    question: question && of && { ...question, of: of as Question },
  }
}
