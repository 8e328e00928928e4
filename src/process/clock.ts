// A clock that never goes back. When the machine's clock is set back, expired tokens must stay expired, and new ids must
// still sort after older ones.
import type { Timestamp } from '../tokens/model/token.ts'

/** Smaller corrections, such as those of NTP, are not reported. */
const REPORTED_MS = 1_000

interface ClockParts {
  /** The machine's clock, which may be set back. */
  readonly wall: () => number
  /** A monotonic clock, in milliseconds. */
  readonly elapsed: () => number
  /** Called once each time the machine's clock was set back. */
  readonly onSetBack: (ms: number) => void
}

export function steadyClock({ wall, elapsed, onSetBack }: ClockParts): () => Timestamp {
  let last = { wall: wall(), elapsed: elapsed() }
  let behind = false
  return () => {
    const now = { wall: wall(), elapsed: elapsed() }
    const steady = Math.floor(last.wall + now.elapsed - last.elapsed)
    if (now.wall >= steady) {
      last = now
      behind = false
      return now.wall
    }
    // Continues by the monotonic clock until the machine's clock has caught up.
    if (!behind && steady - now.wall >= REPORTED_MS) {
      behind = true
      onSetBack(steady - now.wall)
    }
    return steady
  }
}
