// How far a long command is: a bar on a terminal; elsewhere, or if nobody knows how much there is, a line on standard error every
// few seconds.
import { Presets, SingleBar } from 'cli-progress'
import type { OnBytes } from '../../tokens/upkeep/backup.ts'
import type { OnPhase } from '../../tokens/upkeep/copy.ts'
import type { Output } from './output.ts'

const LINE_EVERY_MS = 5_000

export interface Progress {
  advance(by: number): void
  /** Nothing is shown any more. May be called again. */
  done(): void
}

export function startProgress(output: Output, label: string, total: number | undefined, unit = ''): Progress {
  if (!output.showsProgress || total === undefined) {
    return progressLines((line) => output.stderr(line), { label: label.trim(), total, unit })
  }
  const format = `${label} {bar} {percentage}% | {value}/{total}${unit} | {eta_formatted} left`
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

interface Measured {
  readonly label: string
  readonly total: number | undefined
  /** With a space before it. */
  readonly unit: string
}

/** A command that ends sooner than the first line is due prints none. `now` is in milliseconds. */
export function progressLines(
  write: (line: string) => void,
  { label, total, unit }: Measured,
  now: () => number = () => performance.now(),
): Progress {
  const begunAt = now()
  let [lastAt, finished] = [begunAt, 0]
  return {
    advance(by) {
      finished += by
      const at = now()
      if (at - lastAt < LINE_EVERY_MS || finished === total) return
      lastAt = at
      const left = total === undefined ? '' : `, ${leftOf(finished, total, at - begunAt)}`
      write(`${label}: ${finished}${total === undefined ? '' : ` of ${total}`}${unit}${left}`)
    },
    done() {},
  }
}

function leftOf(finished: number, total: number, elapsedMs: number): string {
  const leftMs = (elapsedMs / Math.max(finished, 1)) * Math.max(0, total - finished)
  return `${formatDuration(leftMs)} left`
}

/** Rounded: it is an estimate. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1_000))
  if (seconds < 90) return `${seconds} s`
  return seconds < 5_400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3_600).toFixed(1)} h`
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
export function startBytes(output: Output, label: string, all: number | undefined): Progress {
  const bar = startProgress(output, label, all === undefined ? undefined : Math.ceil(all / 1e6), ' MB')
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
