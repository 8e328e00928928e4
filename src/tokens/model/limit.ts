// What is left of a rate or a quota. Processes take units from it in batches and use them up by themselves, so that few
// verifications write; all of them together never use more than the limit allows. Pure: a state as stored in, a state out.
import type { Quota, Rate } from './policy.ts'

export type Limit = ({ readonly kind: 'rate' } & Rate) | ({ readonly kind: 'quota' } & Quota)

/** Who asks, and for how many. Asking again gives up what is left of the last reservation. */
export interface Reservation {
  readonly holder: string
  readonly wanted: number
}

export interface Grant {
  readonly granted: number
  /** For how long they may be used, counted from before the question was asked. */
  readonly validMs: number
  readonly left: number
  /** Until when `left` is all there is; null for ever. */
  readonly resetMs: number | null
  /** When asking again is worthwhile, if nothing was granted; null for never. */
  readonly retryMs: number | null
}

/** `state` is undefined where nothing was granted: there is nothing to store. */
export type Reserved = Grant & { readonly state: string | undefined }

/** `state` is null before the first reservation; `now` is the time of the store that keeps it. */
export function reserve(state: string | null, limit: Limit, ask: Reservation, now: number): Reserved {
  return limit.kind === 'rate' ? reserveRate(state, limit, ask, now) : reserveQuota(state, limit, ask, now)
}

/** What a process that holds none could still get, reservations of others counted as used. */
export function leftOf(state: string | null, limit: Limit, now: number): number {
  if (limit.kind === 'rate') return Math.max(0, Math.floor(refill(state, limit, now).level))
  return Math.max(0, limit.limit - currentWindow(state, limit, now).used)
}

/** Smaller limits are exact to the unit; larger ones are reserved in batches, each with one write. */
const SMALLEST_BATCHED = 1_000
const BATCHES = 8
/** Units of a quota that a process holds when it is killed are lost. */
const LARGEST_QUOTA_BATCH = 128

export function batchOf({ kind, limit }: Limit, left: number): number {
  if (kind === 'quota') return Math.max(1, Math.min(LARGEST_QUOTA_BATCH, Math.floor(left / BATCHES)))
  return limit < SMALLEST_BATCHED ? 1 : Math.floor(limit / BATCHES)
}

interface RateState {
  /** What is in the bucket, apart from what is reserved. */
  readonly level: number
  /** The time of that, which never goes back: a clock that does refills nothing until it has caught up. */
  readonly at: number
  /** Reserved units that may not be used yet: by holder, how many and until when. */
  readonly leases: Readonly<Record<string, readonly [units: number, until: number]>>
}

/** Shortest time for which a reservation holds: the way to the store and back is part of it. */
const MIN_LEASE_MS = 2_000

function reserveRate(state: string | null, limit: Limit & { kind: 'rate' }, ask: Reservation, now: number): Reserved {
  const { level, at, leases } = refill(state, limit, now)
  const { [ask.holder]: _ended, ...others } = leases
  const perMs = limit.limit / (limit.seconds * 1_000)
  const batch = batchOf(limit, 0)
  const granted = level < batch ? 0 : Math.min(ask.wanted, Math.floor(level))
  const validMs = Math.max(MIN_LEASE_MS, limit.seconds * 1_000)
  const left = Math.max(0, Math.floor(level - granted))
  const resetMs = Math.ceil((limit.limit - left) / perMs)
  const grant = { granted, validMs, left, resetMs }
  if (granted === 0) return { ...grant, retryMs: Math.ceil((batch - level) / perMs), state: undefined }
  const after: RateState = { level: level - granted, at, leases: { ...others, [ask.holder]: [granted, now + validMs] } }
  return { ...grant, retryMs: null, state: JSON.stringify(after) }
}

/**
 * A bucket as it would be if every unit was taken from it when it is used holds at least `level` and all reserved units: it is
 * not taken for fuller than that, so while units are reserved, the level only rises to the limit without them.
 */
function refill(text: string | null, { limit, seconds }: Rate, now: number): RateState {
  const state: RateState = text === null ? { level: limit, at: now, leases: {} } : JSON.parse(text)
  if (!Number.isFinite(state.level) || !Number.isFinite(state.at)) throw new Error('the state of a rate cannot be read')
  const perMs = limit / (seconds * 1_000)
  const leases = new Map(Object.entries(state.leases))
  let { level, at } = state
  const refillUntil = (time: number) => {
    const held = [...leases.values()].reduce((sum, [units]) => sum + units, 0)
    level = Math.min(level + Math.max(0, time - at) * perMs, limit - held)
    at = Math.max(at, time)
  }
  const ends = [...leases].sort(([, [, one]], [, [, other]]) => one - other)
  for (const [holder, [, until]] of ends) {
    if (until > Math.max(now, at)) break
    refillUntil(until)
    leases.delete(holder)
  }
  refillUntil(now)
  return { level, at, leases: Object.fromEntries(leases) }
}

interface QuotaState {
  readonly per: Quota['per']
  /** The beginning of the day or month that `used` is counted in. */
  readonly from: number
  /** Reserved units are used up, whatever becomes of them. */
  readonly used: number
}

function reserveQuota(state: string | null, limit: Limit & { kind: 'quota' }, ask: Reservation, now: number): Reserved {
  const { from, used } = currentWindow(state, limit, now)
  const remaining = Math.max(0, limit.limit - used)
  const granted = Math.min(ask.wanted, remaining)
  const end = windowEnd(limit.per, from)
  const resetMs = end === null ? null : Math.max(0, end - now)
  const grant = { granted, validMs: resetMs ?? Number.MAX_SAFE_INTEGER, left: remaining - granted, resetMs }
  if (granted === 0) return { ...grant, retryMs: resetMs, state: undefined }
  const after: QuotaState = { per: limit.per, from, used: used + granted }
  return { ...grant, retryMs: null, state: JSON.stringify(after) }
}

/**
 * A clock that goes back stays in the later window. A policy that counts by another period goes on with what was used: it may
 * count too much until the new window ends, and never gives units twice.
 */
function currentWindow(text: string | null, { per }: Quota, now: number): QuotaState {
  const from = windowStart(per, now)
  if (text === null) return { per, from, used: 0 }
  const state: QuotaState = JSON.parse(text)
  if (!Number.isSafeInteger(state.used)) throw new Error('the state of a quota cannot be read')
  if (state.per !== per) return { per, from, used: state.used }
  return from > state.from ? { per, from, used: 0 } : state
}

function windowStart(per: Quota['per'], time: number): number {
  const date = new Date(time)
  if (per === 'ever') return 0
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), per === 'day' ? date.getUTCDate() : 1)
}

function windowEnd(per: Quota['per'], from: number): number | null {
  const date = new Date(from)
  if (per === 'ever') return null
  if (per === 'day') return from + 86_400_000
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
}
