// Rounds of load on several servers in turn, so that whatever the machine does meanwhile happens to all of them.
import type { Load } from './client.ts'
import type { LoadProcess } from './load.ts'
import type { Options } from './options.ts'
import type { Server } from './server.ts'

export interface Subject {
  readonly name: string
  readonly server: Pick<Server, 'port' | 'cpuMicros' | 'dropLog'>
  /** The name under which the load process knows its script. */
  readonly script: string
  /** Answers at random: see Job. */
  readonly anySuccess?: boolean
  /** Is asked for everything once before it is measured; what that took is found under its name and `FIRST`. */
  readonly remembers?: boolean
}

export const FIRST = ', the first time'

export interface Figures {
  readonly cpuMicros: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** One line of the report. */
export interface Finding {
  readonly what: string
  readonly asked: string
  readonly measured: string
  /** Missing where nothing was asked, or nothing could be measured. */
  readonly met?: boolean
  readonly how: string
}

export type Rounds = ReadonlyMap<string, readonly Figures[]>

export async function interleave(
  load: LoadProcess,
  subjects: readonly Subject[],
  connections: number,
  { rounds, roundMs, warmMs }: Pick<Options, 'rounds' | 'roundMs' | 'warmMs'>,
  watch?: (subject: Subject, load: Load) => void,
): Promise<Rounds> {
  const found = new Map<string, Figures[]>(subjects.map(({ name }) => [name, []]))
  const measure = async ({ server, script, anySuccess }: Subject, milliseconds?: number) => {
    const before = server.cpuMicros()
    const result = await load.run({ port: server.port, script, connections, milliseconds, anySuccess })
    const { requests, seconds, p50, p99 } = result
    const cpuMicros = (server.cpuMicros() - before) / requests
    return { result, figures: { cpuMicros, requestsPerSecond: requests / seconds, p50Ms: p50, p99Ms: p99 } }
  }
  // Without it, a server would be measured while its code is still being compiled.
  for (const subject of subjects) {
    if (subject.remembers) found.set(`${subject.name}${FIRST}`, [(await measure(subject)).figures])
    await measure(subject, subject.anySuccess ? roundMs : warmMs)
  }
  for (let round = 0; round < rounds; round++) {
    // Every second round the other way round: whoever comes first has no advantage from it.
    for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
      subject.server.dropLog()
      const { result, figures } = await measure(subject, roundMs)
      watch?.(subject, result)
      found.get(subject.name)?.push(figures)
    }
  }
  return found
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle - 1)] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2
}

export function figureOf(rounds: Rounds, name: string, figure: keyof Figures): number {
  return median((rounds.get(name) ?? []).map((each) => each[figure]))
}

/** The median of the rounds' own ratios: both sides of each were measured within a few seconds. */
export function ratio(rounds: Rounds, name: string, to: string, figure: keyof Figures): number {
  const [upper, lower] = [rounds.get(name) ?? [], rounds.get(to) ?? []]
  return median(upper.map((each, i) => each[figure] / (lower[i]?.[figure] ?? Number.NaN)))
}
