// What a run is asked to do: its sizes and its patience.
import { parseArgs } from 'node:util'

export interface Options {
  readonly quick: boolean
  /** Where estates are kept between runs; undefined: a temporary folder. */
  readonly estates: string | undefined
  /** In the large estate, and in the one account of the deep one. */
  readonly tokens: number
  readonly rounds: number
  readonly roundMs: number
  readonly warmMs: number
  /** Only workloads whose name contains this; everything else is skipped. */
  readonly only: string | undefined
  readonly peers: boolean
  /** In the large database of the PostgreSQL engine; 0: it is left out. */
  readonly postgresTokens: number
  /** Where the results are written; undefined: nowhere, as for a run that leaves something out and is not told where. */
  readonly out: string | undefined
}

/** Of a whole run, whose results are kept beside the code. */
const TOKENS = 1_000_000
const ROUNDS = 5

export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      estates: { type: 'string' },
      tokens: { type: 'string' },
      rounds: { type: 'string' },
      only: { type: 'string' },
      'no-peers': { type: 'boolean', default: false },
      'postgres-tokens': { type: 'string' },
      out: { type: 'string' },
    },
  })
  const { quick, only, 'no-peers': noPeers } = values
  const tokens = whole('tokens', values.tokens, quick ? 50_000 : TOKENS)
  const rounds = whole('rounds', values.rounds, quick ? 3 : ROUNDS)
  const postgresTokens =
    values['postgres-tokens'] === '0' ? 0 : whole('postgres-tokens', values['postgres-tokens'], quick ? 0 : TOKENS)
  const leavesOut = quick || noPeers || only !== undefined || postgresTokens === 0
  const isWhole = !leavesOut && tokens >= TOKENS && rounds >= ROUNDS
  return {
    quick,
    estates: values.estates,
    tokens,
    rounds,
    roundMs: quick ? 350 : 2_000,
    warmMs: quick ? 1_500 : 4_000,
    only,
    peers: !noPeers,
    postgresTokens,
    out: values.out ?? (isWhole ? 'docs/bench' : undefined),
  }
}

function whole(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number from 1`)
  return value
}
