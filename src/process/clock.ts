// A clock that never goes back. When the machine's clock is set back, expired tokens must stay expired, and new ids must
// still sort after older ones. It could not return from a wrong time far ahead either, so such a time has to last to be believed.
import type { Timestamp } from '../tokens/model/token.ts'

/** Smaller corrections, such as those of NTP, are not reported. */
const REPORTED_MS = 1_000
/** A step ahead of at most a day is followed at once: a machine that slept, or whose clock was an hour late. */
const FAR_AHEAD_MS = 86_400_000
/** A larger one is followed when the machine's clock still says so after this time. */
const BELIEVED_AFTER_MS = 5_000

export interface Reading {
  /** The machine's clock, which may be set back. */
  readonly wall: number
  /** A monotonic clock, in milliseconds. */
  readonly elapsed: number
}

export interface ClockState {
  /** The last reading that was followed. From there, time passes by the monotonic clock. */
  readonly followed: Reading
  readonly isBehind: boolean
  /** How far ahead the machine's clock is, and since when, until it is believed. */
  readonly doubted: { readonly ms: number; readonly since: number } | undefined
}

export type Told = { readonly time: Timestamp; readonly step?: number } & ClockState

/** `step` is reported: how far the machine's clock was set back (negative), or is ahead and not believed yet. */
export function tell(state: ClockState, now: Reading): Told {
  const { followed, isBehind } = state
  const steady = Math.floor(followed.wall + now.elapsed - followed.elapsed)
  const ahead = now.wall - steady
  if (ahead < 0) {
    const isReported = !isBehind && ahead <= -REPORTED_MS
    const told = { time: steady, followed, isBehind: isBehind || isReported, doubted: undefined }
    return isReported ? { ...told, step: ahead } : told
  }
  if (ahead > FAR_AHEAD_MS) {
    const isSame = state.doubted !== undefined && Math.abs(ahead - state.doubted.ms) <= FAR_AHEAD_MS
    if (!isSame) return { time: steady, followed, isBehind, doubted: { ms: ahead, since: now.elapsed }, step: ahead }
    if (now.elapsed - (state.doubted?.since ?? 0) < BELIEVED_AFTER_MS) return { time: steady, ...state }
  }
  return { time: now.wall, followed: now, isBehind: false, doubted: undefined }
}

interface ClockParts {
  readonly wall: () => number
  readonly elapsed: () => number
  readonly onStep: (ms: number) => void
}

export function steadyClock({ wall, elapsed, onStep }: ClockParts): () => Timestamp {
  let state: ClockState = { followed: { wall: wall(), elapsed: elapsed() }, isBehind: false, doubted: undefined }
  return () => {
    const { time, step, ...next } = tell(state, { wall: wall(), elapsed: elapsed() })
    state = next
    if (step !== undefined) onStep(step)
    return time
  }
}
