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
  /** Where the results are written; undefined: nowhere. */
  readonly out: string | undefined
}

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
  const { quick } = values
  return {
    quick,
    estates: values.estates,
    tokens: whole('tokens', values.tokens, quick ? 50_000 : 1_000_000),
    rounds: whole('rounds', values.rounds, quick ? 3 : 5),
    roundMs: quick ? 350 : 2_000,
    warmMs: quick ? 1_500 : 4_000,
    only: values.only,
    peers: !values['no-peers'],
    postgresTokens:
      values['postgres-tokens'] === '0'
        ? 0
        : whole('postgres-tokens', values['postgres-tokens'], quick ? 0 : 1_000_000),
    out: values.only === undefined ? (values.out ?? 'docs/bench') : values.out,
  }
}

function whole(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} must be a whole number from 1`)
  return value
}
