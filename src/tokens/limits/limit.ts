// What is left of a rate or a quota. Processes reserve units of large limits in batches and use them up by themselves, so that few
// verifications write; all processes together never use more than a limit allows. Pure: stored states in, stored states out.

import type { VerifiedToken } from '../model/token.ts'
import type { Limit, Policies, PolicyOwner, Quota, Rate } from '../verify/policy.ts'

/** A limit that a verification needs one unit of. `subject` is the token or the sub-account. */
export interface LimitUse {
  readonly account: string
  readonly subject: string
  readonly limit: Limit
  readonly owner: PolicyOwner
}

type Owned = Pick<VerifiedToken, 'id' | 'accountId' | 'subAccountId'>

/** Rates before quotas, the token's before its sub-account's. */
export function limitsOf({ id, accountId: account, subAccountId }: Owned, { token, subAccount }: Policies): LimitUse[] {
  const uses: LimitUse[] = []
  for (const kind of ['rate', 'quota'] as const) {
    const [own, ceiling] = [token?.[kind], subAccount?.[kind]]
    if (own !== undefined) uses.push({ account, subject: id, owner: 'token', limit: own })
    if (ceiling !== undefined) uses.push({ account, subject: subAccountId, owner: 'sub-account', limit: ceiling })
  }
  return uses
}

/** What verifications of one account ask for. */
export interface Ask {
  readonly rows: readonly RowAsk[]
  /** For each verification the rows that it needs a unit of, as positions in `rows`, in the order of the checks. */
  readonly takes: readonly (readonly number[])[]
}

export interface RowAsk {
  readonly subject: string
  readonly limit: Limit
  /**
   * Of the process's last reservation, which it uses no longer. Of a rate, when it asks for more: all units. Of a quota, when it ends
   * and asks for nothing: those that it has not used.
   */
  readonly ended: number
  /** In which they were reserved. */
  readonly window: number
  /** The process knows nothing of the limit yet. No quota is reserved for it: it may ask only once, and would lose the rest. */
  readonly isFirst: boolean
}

export interface Reserved {
  /** Undefined where the state cannot be read, or no verification needs the row. */
  readonly rows: readonly (RowAnswer | undefined)[]
  /** For each verification the first row without a unit for it. It gets none of the others then. */
  readonly refusedBy: readonly (number | undefined)[]
  /** Rows that somebody else had locked: they are as they were, and what needs them asks again. */
  readonly locked: readonly number[]
}

export interface RowAnswer {
  /** Units for verifications to come. */
  readonly ahead: number
  /** What to report as ended with the next question. */
  readonly reserved: number
  readonly window: number
  /** For how long they may be used, counted from before the question was asked. */
  readonly validMs: number
  readonly left: number
  /** Until the limit is full again; null for never. */
  readonly resetMs: number | null
  /** Until somebody can get something again; null for never. */
  readonly retryMs: number | null
}

interface After {
  readonly answer?: RowAnswer
  /** Undefined where nothing has changed. */
  readonly state: string | undefined
}

interface Opened {
  /** How many can be taken. */
  readonly usable: number
  take(units: number, ask: RowAsk): After
}

/** A state is null before the first reservation, undefined where it is locked; `now` is the time of the store that keeps it. */
export function reserve(states: readonly (string | null | undefined)[], { rows, takes }: Ask, now: number) {
  const opened = rows.map(({ limit }, n) => {
    const state = states[n]
    return state === undefined ? undefined : ifReadable(() => open(state, limit, now))
  })
  const taken = rows.map(() => 0)
  const refusedBy = takes.map((needed) => {
    const empty = needed.find((n) => (taken[n] ?? 0) >= (opened[n]?.usable ?? 0))
    if (empty === undefined) for (const n of needed) taken[n] = (taken[n] ?? 0) + 1
    return empty
  })
  const asked = new Set(takes.flat())
  const after = rows.map((row, n): After | undefined =>
    asked.has(n) ? opened[n]?.take(taken[n] ?? 0, row) : ifReadable(() => returnUnused(states[n] ?? null, row)),
  )
  const locked = [...rows.keys()].filter((n) => states[n] === undefined)
  const reserved: Reserved = { rows: after.map((each) => each?.answer), refusedBy, locked }
  return { reserved, states: after.map((each) => each?.state) }
}

/** What a process that holds none could still get, reservations of others counted as used. */
export function leftOf(...args: Parameters<typeof open>): number {
  return open(...args).usable
}

function open(state: string | null, limit: Limit, now: number): Opened {
  return limit.kind === 'rate' ? openRate(state, limit, now) : openQuota(state, limit, now)
}

/** Of a state that cannot be read nothing is granted, and others that are asked for together get theirs. */
function ifReadable<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** Units of smaller limits are never reserved in advance. */
const SMALLEST_BATCHED = 1_000
/** One write is for about 100 verifications. What a process holds when it is killed is lost, so a batch is not larger. */
const RATE_BATCH = { fewest: 100, part: 1 / 32, seconds: 6 }
const QUOTA_BATCH = { most: 128, part: 1 / 8 }

/** How many are reserved at once. A batch of a rate refills within seconds; of a quota it shrinks towards the end. */
export function batchOf(limit: Limit, left: number): number {
  if (limit.limit < SMALLEST_BATCHED) return 1
  if (limit.kind === 'quota') return atLeastOne(Math.min(QUOTA_BATCH.most, left * QUOTA_BATCH.part))
  const refilled = (limit.limit / limit.seconds) * RATE_BATCH.seconds
  return atLeastOne(Math.min(Math.max(RATE_BATCH.fewest, limit.limit * RATE_BATCH.part), refilled))
}

const atLeastOne = (units: number): number => Math.max(1, Math.floor(units))

interface RateState {
  /** What is in the bucket, apart from what is reserved. */
  readonly level: number
  /** The time of that, which never goes back: a clock that does refills nothing until it has caught up. */
  readonly at: number
  /** How many units processes may have reserved and not used yet. Nobody uses them after `until`. */
  readonly reserved: number
  readonly until: number
  /** The limit that they are reserved of. Under another one nobody uses them. */
  readonly of: string
}

const nameOf = ({ limit, seconds }: Rate): string => `${limit}/${seconds}`

/** What is reserved of a rate ends at one time for all processes, at most so long after the first of them has reserved. */
const RESERVED_MS = 600_000
/** The part of a bucket that may be reserved. The rest is for processes that hold nothing. */
const RESERVED_PART = 1 / 2

/** Rounding can leave a sum of refills just below a whole number. */
const wholeUnits = (level: number): number => Math.max(0, Math.floor(level + 1e-9))

function openRate(text: string | null, limit: Limit & Rate, now: number): Opened {
  const bucket = refill(text, limit, now)
  const batch = batchOf(limit, limit.limit)
  // Less than a batch is not given out: an empty bucket would cost a write for each unit.
  const usableOf = (level: number) => (wholeUnits(level) < batch ? 0 : wholeUnits(level))
  const msOf = (units: number) => Math.ceil((units * limit.seconds * 1_000) / limit.limit)
  return {
    usable: usableOf(bucket.level),
    take(units, { ended, window }) {
      const reserved = window === bucket.until ? Math.max(0, bucket.reserved - ended) : bucket.reserved
      const isFree = reserved === 0 || bucket.of === nameOf(limit)
      // Half of what may still be reserved: something is left for further processes, however many there are.
      const most = Math.floor((limit.limit * RESERVED_PART - reserved) / 2)
      const ahead = units > 0 && isFree ? Math.max(0, Math.min(batch - units, most)) : 0
      const level = bucket.level - units - ahead
      const after: RateState = {
        ...{ level, at: bucket.at, reserved: reserved + ahead, of: isFree ? nameOf(limit) : bucket.of },
        until: reserved === 0 ? bucket.at + RESERVED_MS : bucket.until,
      }
      const left = usableOf(level)
      const answer = {
        // Who gets nothing writes nothing, and reports the same again.
        ...(units > 0 ? { reserved: ahead, window: after.until } : { reserved: ended, window }),
        ...{ ahead, validMs: after.until - bucket.at, left },
        resetMs: msOf(limit.limit - left),
        retryMs: left > 0 ? 0 : Math.max(1, msOf(batch - level)),
      }
      return { answer, state: units > 0 ? JSON.stringify(after) : undefined }
    },
  }
}

/**
 * Reserved units may not have been used yet, so they still count as part of the bucket: `level` refills only up to the limit
 * minus the reserved units.
 */
function refill(text: string | null, rate: Rate, now: number): RateState {
  const of = nameOf(rate)
  const empty = { reserved: 0, until: 0, of }
  const state = text === null ? { ...empty, level: rate.limit, at: now } : { of, ...readRate(text) }
  const perMs = rate.limit / (rate.seconds * 1_000)
  const time = Math.max(now, state.at)
  const end = Math.min(time, Math.max(state.at, state.until))
  const full = rate.limit - (state.of === of ? state.reserved : 0)
  const level = Math.min(state.level + (end - state.at) * perMs, full)
  if (time < state.until) return { ...state, level, at: time }
  return { ...empty, level: Math.min(level + (time - end) * perMs, rate.limit), at: time }
}

function readRate(text: string): Omit<RateState, 'of'> {
  const { leases, ...state } = JSON.parse(text)
  // The former version kept what each process had reserved, and until when.
  const former: number[][] = Object.values(leases ?? {})
  if (leases) state.reserved = former.reduce((sum, [units = 0]) => sum + units, 0)
  if (leases) state.until = Math.max(0, ...former.map(([, until = 0]) => until))
  const { level, at, reserved, until } = state
  if (![level, at, reserved, until].every(Number.isFinite)) throw new Error('the state of a rate cannot be read')
  return state
}

interface QuotaState {
  readonly per: Quota['per']
  /** The beginning of the day or month that `used` is counted in. */
  readonly from: number
  /** Reserved units are used up, unless they are returned. */
  readonly used: number
}

function openQuota(text: string | null, limit: Limit & Quota, now: number): Opened {
  const { isNew, ...before } = currentWindow(text, limit, now)
  const usable = Math.max(0, limit.limit - before.used)
  const end = windowEnd(before.per, before.from)
  const resetMs = end === null ? null : Math.max(0, end - now)
  return {
    usable,
    take(units, { isFirst }) {
      const ahead = units === 0 || isFirst ? 0 : Math.max(0, Math.min(batchOf(limit, usable), usable) - units)
      const after: QuotaState = { ...before, used: before.used + units + ahead }
      const left = Math.max(0, limit.limit - after.used)
      const answer = {
        ...{ ahead, reserved: 0, window: before.from, validMs: resetMs ?? Number.MAX_SAFE_INTEGER },
        ...{ left, resetMs, retryMs: left > 0 ? 0 : resetMs },
      }
      // A window of another period is stored even if nothing is granted: it must end.
      return { answer, state: isNew || units > 0 ? JSON.stringify(after) : undefined }
    },
  }
}

/** Of a quota, unless it is counted in another window by now. Of a rate nothing is returned. */
function returnUnused(text: string | null, { limit, ended, window }: RowAsk): After {
  if (text === null || limit.kind === 'rate') return { state: undefined }
  const state = readQuota(text)
  const after = { ...state, used: Math.max(0, state.used - ended) }
  return { state: state.per === limit.per && state.from === window ? JSON.stringify(after) : undefined }
}

function readQuota(text: string): QuotaState {
  const state = JSON.parse(text)
  if (!Number.isSafeInteger(state.used)) throw new Error('the state of a quota cannot be read')
  return state
}

/**
 * A clock that goes back stays in the later window. A policy that counts by another period goes on with what was used: it may
 * count too much until the new window ends, and never gives units twice.
 */
function currentWindow(text: string | null, { per }: Quota, now: number): QuotaState & { readonly isNew: boolean } {
  const from = windowStart(per, now)
  if (text === null) return { per, from, used: 0, isNew: false }
  const state = readQuota(text)
  const end = windowEnd(state.per, state.from)
  if (state.per === per) return from > state.from ? { per, from, used: 0, isNew: false } : { ...state, isNew: false }
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
