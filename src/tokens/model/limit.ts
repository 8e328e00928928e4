// What is left of a rate or a quota. Processes reserve units in batches and use them up by themselves, so that few verifications
// write; all of them together never use more than the limit allows. Pure: a state as stored in, a state out.
import type { Limit, Policies, PolicyOwner, Quota, Rate } from '../verify/policy.ts'
import type { VerifiedToken } from './token.ts'

/** A limit that a verification needs one unit of. `subject` is the token or the sub-account. */
export interface LimitUse {
  readonly subject: string
  readonly limit: Limit
  readonly owner: PolicyOwner
}

/** Rates before quotas, the token's before its sub-account's. */
export function limitsOf(of: Pick<VerifiedToken, 'id' | 'subAccountId'>, { token, subAccount }: Policies): LimitUse[] {
  const uses: LimitUse[] = []
  for (const kind of ['rate', 'quota'] as const) {
    const [own, ceiling] = [token?.[kind], subAccount?.[kind]]
    if (own !== undefined) uses.push({ subject: of.id, owner: 'token', limit: own })
    if (ceiling !== undefined) uses.push({ subject: of.subAccountId, owner: 'sub-account', limit: ceiling })
  }
  return uses
}

/** Who asks, and for how many. */
export interface Reservation {
  readonly holder: string
  /** For verifications that wait: used as soon as they are granted. */
  readonly needed: number
  /** For verifications to come. */
  readonly ahead: number
  /** Unused units of the holder's last reservation, which this one replaces. */
  readonly returned: number
  /** In which `returned` was granted. */
  readonly window: number
}

export interface GrantedUnits {
  readonly granted: number
  /** For how long they may be used, counted from before the question was asked. */
  readonly validMs: number
  /** The beginning of the day or month that they are counted in; 0 where there is none. */
  readonly window: number
  readonly left: number
  /** Until the limit is full again; null for never. */
  readonly resetMs: number | null
  /** When asking again is worthwhile, if nothing was granted; null for never. */
  readonly retryMs: number | null
}

/** `state` is undefined where nothing has changed: there is nothing to store. */
type Reserved = GrantedUnits & { readonly state: string | undefined }

/** `state` is null before the first reservation; `now` is the time of the store that keeps it. */
export function reserve(state: string | null, limit: Limit, ask: Reservation, now: number): Reserved {
  return limit.kind === 'rate' ? reserveRate(state, limit, ask, now) : reserveQuota(state, limit, ask, now)
}

/** Undefined if the state cannot be read: nothing is granted, and others that are asked for together get theirs. */
export function reserveIfReadable(...asked: Parameters<typeof reserve>): Reserved | undefined {
  try {
    return reserve(...asked)
  } catch {
    return undefined
  }
}

/** What a process that holds none could still get, reservations of others counted as used. */
export function leftOf(state: string | null, limit: Limit, now: number): number {
  if (limit.kind === 'rate') return wholeUnits(refill(state, limit, now).level)
  return Math.max(0, limit.limit - currentWindow(state, limit, now).used)
}

/** Units of smaller limits are never reserved in advance. */
const SMALLEST_BATCHED = 1_000
/** One write is for more than 100 verifications. What a process holds when it is killed is lost, so a batch is not larger. */
const RATE_BATCH = { fewest: 110, part: 1 / 32, seconds: 6.6 }
const QUOTA_BATCH = { most: 128, part: 1 / 8 }

/** The most that is reserved at once for verifications to come. A batch of a rate refills within seconds. */
export function batchOf(limit: Limit, left: number): number {
  if (limit.limit < SMALLEST_BATCHED) return 1
  if (limit.kind === 'quota') return atLeastOne(Math.min(QUOTA_BATCH.most, left * QUOTA_BATCH.part))
  const refilled = (limit.limit / limit.seconds) * RATE_BATCH.seconds
  return atLeastOne(Math.min(Math.max(RATE_BATCH.fewest, limit.limit * RATE_BATCH.part), refilled))
}

const atLeastOne = (units: number): number => Math.max(1, Math.floor(units))

/** Rounding can leave a sum of refills just below a whole number. */
const wholeUnits = (level: number): number => Math.max(0, Math.floor(level + 1e-9))

interface RateState {
  /** What is in the bucket, apart from what is reserved. */
  readonly level: number
  /** The time of that, which never goes back: a clock that does refills nothing until it has caught up. */
  readonly at: number
  readonly leases: Leases
  /** A grant was smaller than a batch. Until a batch is available again, smaller grants are refused, to save writes. */
  readonly isScarce?: boolean | undefined
}

/** By holder, units that are reserved ahead. They are of one limit: once it is changed, nobody uses them. */
type Leases = Readonly<Record<string, readonly [units: number, until: number, limit: number, seconds: number]>>

/** Counted from before the store is asked, so it is longer than any round trip. */
const LEASE_MS = 30_000

function reserveRate(state: string | null, limit: Limit & { kind: 'rate' }, ask: Reservation, now: number): Reserved {
  const bucket = refill(state, limit, now)
  const { [ask.holder]: _ended, ...others } = bucket.leases
  const level = Math.min(bucket.level + ask.returned, limit.limit - heldOf(others, limit))
  const available = wholeUnits(level)
  const wanted = ask.needed + ask.ahead
  const enough = Math.min(wanted, batchOf(limit, available))
  const granted = bucket.isScarce && available < enough ? 0 : Math.min(wanted, available)
  const msOf = (units: number) => Math.ceil((units * limit.seconds * 1_000) / limit.limit)
  const isRefused = granted === 0 && wanted > 0
  const left = isRefused ? 0 : available - granted
  const grant = { granted, validMs: LEASE_MS, window: 0, left, resetMs: msOf(limit.limit - left) }
  const retryMs = isRefused ? Math.max(1, msOf(enough - level)) : null
  // Without a state, the token has been deleted since.
  if (granted === 0 && (ask.returned === 0 || state === null)) return { ...grant, retryMs, state: undefined }
  const ahead = granted - ask.needed
  const lease: Leases = ahead > 0 ? { [ask.holder]: [ahead, now + LEASE_MS, limit.limit, limit.seconds] } : {}
  const isScarce = granted < enough || (bucket.isScarce && left < batchOf(limit, left))
  const after: RateState = { level: level - granted, at: bucket.at, leases: { ...others, ...lease }, isScarce }
  return { ...grant, retryMs, state: JSON.stringify(after) }
}

function heldOf(leases: Leases, { limit, seconds }: Rate): number {
  const held = Object.values(leases).filter(([, , ofLimit, ofSeconds]) => ofLimit === limit && ofSeconds === seconds)
  return held.reduce((sum, [units]) => sum + units, 0)
}

/**
 * Reserved units may not have been used yet, so they still count as part of the bucket: `level` refills only up to the limit
 * minus the reserved units.
 */
function refill(text: string | null, rate: Rate, now: number): RateState {
  const state: RateState = text === null ? { level: rate.limit, at: now, leases: {} } : JSON.parse(text)
  if (!Number.isFinite(state.level) || !Number.isFinite(state.at)) throw new Error('the state of a rate cannot be read')
  const perMs = rate.limit / (rate.seconds * 1_000)
  let { level, at, leases } = state
  const refillUntil = (time: number) => {
    level = Math.min(level + Math.max(0, time - at) * perMs, rate.limit - heldOf(leases, rate))
    at = Math.max(at, time)
  }
  const ends = Object.entries(leases).sort(([, [, one]], [, [, other]]) => one - other)
  for (const [holder, [, until]] of ends) {
    if (until > Math.max(now, at)) break
    refillUntil(until)
    const { [holder]: _ended, ...others } = leases
    leases = others
  }
  refillUntil(now)
  return { ...state, level, at, leases }
}

interface QuotaState {
  readonly per: Quota['per']
  /** The beginning of the day or month that `used` is counted in. */
  readonly from: number
  /** Reserved units are used up, unless they are returned. */
  readonly used: number
}

function reserveQuota(state: string | null, limit: Limit & { kind: 'quota' }, ask: Reservation, now: number): Reserved {
  const before = currentWindow(state, limit, now)
  const { per, from } = before
  const isAsked = ask.needed + ask.ahead > 0
  const used = before.used - (ask.window === from ? Math.min(ask.returned, before.used) : 0)
  const remaining = Math.max(0, limit.limit - used)
  const granted = Math.min(ask.needed + ask.ahead, remaining)
  const end = windowEnd(per, from)
  const resetMs = end === null ? null : Math.max(0, end - now)
  const after: QuotaState = { per, from, used: used + granted }
  // What is only returned was counted by the policy of its time: after a change of the period it stays used.
  const isChanged = before.isNew ? isAsked : after.used !== before.used
  return {
    granted,
    validMs: resetMs ?? Number.MAX_SAFE_INTEGER,
    window: from,
    left: remaining - granted,
    resetMs,
    retryMs: granted > 0 ? null : resetMs,
    state: isChanged ? JSON.stringify(after) : undefined,
  }
}

/**
 * A clock that goes back stays in the later window. A policy that counts by another period goes on with what was used: it may
 * count too much until the new window ends, and never gives units twice.
 */
function currentWindow(text: string | null, { per }: Quota, now: number): QuotaState & { readonly isNew: boolean } {
  const from = windowStart(per, now)
  if (text === null) return { per, from, used: 0, isNew: false }
  const state: QuotaState = JSON.parse(text)
  if (!Number.isSafeInteger(state.used)) throw new Error('the state of a quota cannot be read')
  const end = windowEnd(state.per, state.from)
  if (state.per === per) return from > state.from ? { per, from, used: 0, isNew: false } : { ...state, isNew: false }
  // Stored even if nothing is granted: the new window must end.
  return { per, from, used: end !== null && end <= from ? 0 : state.used, isNew: true }
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
