// The report of a Patroni cluster, written from the rounds of a run.
import type { Observed } from './load.ts'
import type { Mode } from './patroni.ts'

export interface Round extends Observed {
  readonly mode: Mode
  readonly kind: string
  readonly how: string
}

export interface Circumstances {
  readonly date: string
  readonly seed: number
  readonly load: number
  readonly machine: string
  readonly versions: string
}

export function clusterReport(
  rounds: readonly Round[],
  { date, seed, load, machine, versions }: Circumstances,
): string {
  return `# A cluster that fails over by itself

Written by \`npm run test:cluster\`. Lost: a confirmed change that is not stored in the end. Older than an answer: a verdict that
contradicts the last confirmed change of its token. Without service: the longest time between two successes of a caller.

${versions}; ${machine}; ${date}, seed ${seed}, load ${load}.

| failure | standbys | rounds | confirmed, refused, of open outcome | lost | done twice | verdicts | decided by verifiers | older than an answer | without verification, s | without changes, s |
|---|---|---|---|---|---|---|---|---|---|---|
${rowsOf(rounds).join('\n')}

${[...new Set(rounds.map(({ kind, how }) => `- **${kind}**: ${how}`))].join('\n')}
`
}

function rowsOf(rounds: readonly Round[]): string[] {
  const groups = Map.groupBy(rounds, ({ mode, kind }) => `${mode}: ${kind}`)
  // The control below what it controls.
  const inOrder = [...groups.values()].toSorted((one, other) => Number(isControl(one)) - Number(isControl(other)))
  return inOrder.map((group) => {
    const sum = (figure: Figure) => count(group.reduce((total, round) => total + round[figure], 0))
    const [first] = group
    const cells = [
      first?.kind,
      STANDBYS[first?.mode ?? 'synchronous'],
      group.length,
      `${sum('acknowledged')}, ${sum('refused')}, ${sum('unknown')}`,
      ...[
        sum('lost'),
        sum('twice'),
        sum('verdicts'),
        sum('fromMemory'),
        count(group.reduce((total, each) => total + stale(each), 0)),
      ],
      ...(['withoutVerificationMs', 'withoutChangesMs'] as const).map((figure) => range(group, figure)),
    ]
    return `| ${cells.join(' | ')} |`
  })
}

type Figure = 'acknowledged' | 'refused' | 'unknown' | 'lost' | 'twice' | 'verdicts' | 'fromMemory'

const STANDBYS: Readonly<Record<Mode, string>> = {
  synchronous: 'synchronous',
  asynchronous: 'asynchronous, a control',
  etcd3: 'synchronous, Patroni with `etcd3`, a control',
}

const isControl = ([round]: readonly Round[]) => round?.mode !== 'synchronous'

const count = (figure: number) => figure.toLocaleString('en')

function stale({ acceptedOff, refusedOn }: Round): number {
  return acceptedOff + refusedOn
}

function range(rounds: readonly Round[], figure: 'withoutVerificationMs' | 'withoutChangesMs'): string {
  const seconds = rounds.map((round) => (round[figure] / 1_000).toFixed(1)).toSorted((a, b) => Number(a) - Number(b))
  const [least, most] = [seconds[0], seconds.at(-1)]
  return least === most ? `${least}` : `${least} to ${most}`
}

/** What keeps a run from being a success. */
export function faultsOf(rounds: readonly Round[]): string[] {
  const wrong = ({ lost, twice, problems, ...round }: Round) =>
    lost + twice + stale({ lost, twice, problems, ...round })
  const faults = rounds
    .filter(({ mode }) => mode === 'synchronous')
    .filter((round) => wrong(round) + round.problems.length > 0)
    .map((round) => `${round.kind}: ${wrong(round)} wrong. ${round.problems.slice(0, 3).join('; ')}`)
  const controls = rounds.filter(({ mode }) => mode === 'asynchronous')
  if (controls.length > 0 && !controls.some((round) => wrong(round) > 0)) {
    faults.push('The control failed: asynchronous standbys lost nothing')
  }
  return faults
}
