// A progress bar on a terminal, silence elsewhere.
import { Presets, SingleBar } from 'cli-progress'
import type { OnBytes } from '../tokens/upkeep/backup.ts'
import type { OnPhase } from '../tokens/upkeep/copy.ts'
import type { Output } from './output.ts'

export interface Progress {
  advance(by: number): void
  /** Nothing is shown any more. May be called again. */
  done(): void
}

export function startProgress(output: Output, label: string, total: number): Progress {
  if (!output.showsProgress) return { advance() {}, done() {} }
  const format = `${label} {bar} {percentage}% | {value}/{total} | {eta_formatted} left`
  // `linewrap: true` leaves the terminal's settings unchanged: a signal would end the process before they are restored.
  const bar = new SingleBar({ format, stream: process.stderr, linewrap: true }, Presets.shades_classic)
  bar.start(total, 0)
  let isShown = true
  return {
    advance: (by) => {
      if (isShown) bar.increment(by)
    },
    done: () => {
      if (isShown) bar.stop()
      isShown = false
    },
  }
}

/** Shows one bar after the other. */
export async function showPhases<Result>(output: Output, work: (onPhase: OnPhase) => Promise<Result>): Promise<Result> {
  let progress: Progress | undefined
  try {
    return await work((phase, rows) => {
      progress?.done()
      const bar = startProgress(output, phase.padEnd(8), rows)
      progress = bar
      return (by) => bar.advance(by)
    })
  } finally {
    progress?.done()
  }
}

/** Advances by bytes, and shows megabytes. */
export function startBytes(output: Output, label: string, all: number): Progress {
  const bar = startProgress(output, label, Math.ceil(all / 1e6))
  let [bytes, shown] = [0, 0]
  const advance = (by: number) => {
    bytes += by
    const begun = Math.ceil(bytes / 1e6)
    // An advance by 0 would make the estimated time infinite.
    if (begun > shown) bar.advance(begun - shown)
    shown = begun
  }
  return { advance, done: bar.done }
}

export async function showBytes<Result>(
  output: Output,
  label: string,
  work: (onBytes: OnBytes) => Promise<Result>,
): Promise<Result> {
  let progress: Progress | undefined
  let before = 0
  try {
    return await work((done, all) => {
      progress ??= startBytes(output, label, all)
      progress.advance(done - before)
      before = done
    })
  } finally {
    progress?.done()
  }
}
