// A progress bar on a terminal, silence elsewhere.
import { Presets, SingleBar } from 'cli-progress'
import type { OnPhase } from '../tokens/upkeep/copy.ts'
import type { Output } from './output.ts'

export interface Progress {
  advance(by: number): void
  done(): void
}

export function startProgress(output: Output, label: string, total: number): Progress {
  if (!output.showsProgress) return { advance() {}, done() {} }
  const format = `${label} {bar} {percentage}% | {value}/{total} | {eta_formatted} left`
  // A signal ends the process as it stands: what the bar had changed about the terminal would stay changed.
  const bar = new SingleBar({ format, stream: process.stderr, linewrap: true }, Presets.shades_classic)
  bar.start(total, 0)
  return { advance: (by) => bar.increment(by), done: () => bar.stop() }
}

/** One bar after the other. */
export async function showingPhases<Result>(
  output: Output,
  work: (onPhase: OnPhase) => Promise<Result>,
): Promise<Result> {
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
