// The time of day as a running server tells it: it never goes back. A machine's clock that is set back must not bring
// what has expired to life again, nor let ids sort before older ones.
import type { Timestamp } from '../tokens/model/token.ts'

/** Less is not worth a word: clocks are drawn straight by a little all the time. */
const NOTABLE_MS = 1_000

export interface ClockParts {
  /** The machine's clock, which may be set. */
  readonly wall: () => number
  /** Milliseconds since any moment, which nobody can set. */
  readonly elapsed: () => number
  /** Told once each time the machine's clock is found to be behind. */
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
    // Goes on from where it was, as fast as ever, until the machine's clock has caught up.
    if (!behind && steady - now.wall >= NOTABLE_MS) {
      behind = true
      onSetBack(steady - now.wall)
    }
    return steady
  }
}
