// A search through the orders in which the steps of lease-steps.ts can happen.
import { hasEnded, holdsLease, type LeaseAnswer, type Times } from '../../client/verifier/memory.ts'
import {
  type Call,
  type Control,
  initial,
  type Limits,
  nameOf,
  type State,
  type Step,
  stepsOfInstance,
  stepsOfVerifier,
  timesOf,
  UNIT_MS,
} from './lease-steps.ts'

/** Units after which a verifier no longer answers from memory, and a sighting is too old for a lease: longer times are all the same. */
const LONG_AGO = { lease: 2, sighting: 3, end: 0 }

function* stepsFrom(state: State, limits: Limits, control: Control | undefined): Generator<Step> {
  for (const at of state.instances.keys()) yield* stepsOfInstance(state, at, limits, control)
  for (const at of state.verifiers.keys()) yield* stepsOfVerifier(state, at, limits, control)
  yield ['time passes', { ...state, time: state.time + 1 }]
}

/** Whether a verifier would answer from memory now, with a state older than a change that was answered, or than the expiry. */
function isViolated(state: State, control: Control | undefined): boolean {
  const { expiry = Number.POSITIVE_INFINITY } = state
  return state.verifiers.some((holder) => {
    const now = timesOf(state, holder, control)
    return state.answered.some((version, token) => {
      const remembered = holder.memory.entries.get(nameOf(token))
      if (remembered === undefined) return false
      const { entry } = remembered
      const isOlder = entry.version < version || (entry.refused === null && state.time >= expiry)
      if (!isOlder) return false
      return holdsLease(holder.memory, now) && !hasEnded(remembered, now)
    })
  })
}

/** States that behave alike have the same key: times as ages, ids and renewals by what they are equal to. */
function keyOf(state: State): string {
  const { expiry = null } = state
  const age = (at: number, now: number, most: number) => Math.min((now - at) / UNIT_MS, most)
  const now = state.time * UNIT_MS
  const ids = new Map<string, number>()
  const nameId = (id: string): number => {
    if (!ids.has(id)) ids.set(id, ids.size)
    return ids.get(id) ?? 0
  }
  const verifiers = state.verifiers.map((holder) => {
    const own = timesOf(state, holder)
    const ages = (times: Times) => [
      age(times.monotonic, own.monotonic, LONG_AGO.lease),
      age(times.wall, own.wall, LONG_AGO.lease),
    ]
    const { memory, call, late, question, unforgotten, begins, lag } = holder
    const { lease } = memory
    // Whatever has no end may be of any age.
    const ending = (endsInMs: number | null, sentAt: Times) =>
      endsInMs !== null && [endsInMs, own.monotonic - sentAt.monotonic, own.wall - sentAt.wall]
    return [
      ...[begins, lag, lease && [nameId(lease.id), lease.position, ages(lease.sentAt)]],
      [...memory.entries]
        .map(([name, { entry, sentAt }]) => [name, entry.version, entry.refused, ending(entry.endsInMs, sentAt)])
        .sort(),
      ...[call && [call.stage, ages(call.sentAt), said(call, nameId), told(call.answer), told(call.news)]],
      ...[late && said(late, nameId), question && [question.token, question.version, question.of.changes]],
      question && [question.endsInMs, expiry && ending(expiry, question.of.sentAt)],
      told(unforgotten),
    ]
  })
  const rows = Object.values(state.rows).map(({ id, acked }) => [nameId(id), acked])
  const instances = state.instances.map(({ sightings, dead, change }) => [
    Object.entries(sightings)
      .filter(([id, { renewal }]) => state.rows[id]?.renewal === renewal)
      .map(([id, { at }]) => [nameId(id), age(at, now, LONG_AGO.sighting)]),
    dead && [nameId(dead.id), state.rows[dead.id]?.renewal === dead.renewal],
    change && { ...change, waits: change.waits.map(({ id, endsAt }) => [nameId(id), age(endsAt, now, LONG_AGO.end)]) },
  ])
  const left = expiry && Math.max(expiry - state.time, 0)
  return JSON.stringify([state.history, state.answered, verifiers, rows, instances, left])
}

const said = ({ id, body: { lease, position } }: Call, nameId: (id: string) => number) => [
  nameId(id),
  lease !== undefined,
  position,
]
const told = (answer: LeaseAnswer | undefined) => answer && [answer.position, answer.forget]

const WARMING = ['calls', 'is heard', 'hears the answer', 'asks about 0', 'is read', 'hears the verdict']

function warm(limits: Limits, control: Control | undefined): State {
  const events = Array.from({ length: limits.verifiers }, (_, at) => WARMING.map((event) => `verifier ${at} ${event}`))
  return events.flat().reduce((state, wanted) => {
    for (const [event, next] of stepsFrom(state, limits, control)) if (event === wanted) return next
    throw new Error(`cannot happen: ${wanted}`)
  }, initial(limits))
}

export interface Found {
  readonly states: number
  /** Whether there was no further state. */
  readonly isWhole: boolean
  /** The events that led to a verification with an older state. */
  readonly violation: readonly string[] | undefined
}

export function explore(limits: Limits, control?: Control): Found {
  const seen = new Set<string>()
  const from: { readonly parent: number; readonly event: string }[] = []
  const queue: (State | undefined)[] = []
  const add = (state: State, parent: number, event: string): boolean => {
    const key = keyOf(state)
    if (seen.has(key)) return false
    seen.add(key)
    queue.push(state)
    from.push({ parent, event })
    return isViolated(state, control)
  }
  add(limits.isWarm ? warm(limits, control) : initial(limits), -1, '')
  for (let at = 0; at < queue.length && seen.size < limits.states; at++) {
    for (const [event, state] of stepsFrom(queue[at] as State, limits, control)) {
      if (add(state, at, event)) return { states: seen.size, isWhole: false, violation: traceTo(from.length - 1, from) }
    }
    queue[at] = undefined
  }
  return { states: seen.size, isWhole: seen.size < limits.states, violation: undefined }
}

function traceTo(last: number, from: readonly { readonly parent: number; readonly event: string }[]): string[] {
  const events: string[] = []
  for (let at = last; at > 0; at = from[at]?.parent ?? 0) events.push(from[at]?.event ?? '')
  return events.reverse()
}
