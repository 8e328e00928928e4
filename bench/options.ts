// What a run is asked to do: its sizes and its patience.
import { parseArgs } from 'node:util'

/** Of a whole run, whose results are a report. */
const TOKENS = 1_000_000
const ROUNDS = 5

const HELP = `npm run bench -- [options]

  --quick              short rounds, 50,000 tokens, no PostgreSQL
  --estates DIR        keep estates there (they are changed by the PUTs); default: a temporary folder
  --tokens N           tokens in the large estate, and in the one account of the deep one; default 1,000,000
  --postgres-tokens N  tokens in the large PostgreSQL database; 0 leaves PostgreSQL out; default 1,000,000
  --rounds N           rounds of each workload; default ${ROUNDS}
  --only TEXT          only workloads whose name contains it (verify, list, list-sub, list-status, list-both, get,
                       search, put, mix), or a part: extras, policies, verifiers, events, bulk, postgres
  --no-peers           without better-auth and Express
  --out DIR            where the results go; default: reports for a whole run, otherwise nowhere`

export type Options = Readonly<ReturnType<typeof readOptions>>

export function readOptions(args: readonly string[]) {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  const sizes = { tokens: text, rounds: text, 'postgres-tokens': text }
  const others = { quick: flag, estates: text, only: text, 'no-peers': flag, out: text, help: flag }
  const { values } = parseArgs({ args: [...args], options: { ...sizes, ...others } })
  if (values.help) {
    console.log(HELP)
    process.exit(0)
  }
  const { quick, estates, only } = values
  const size = (name: keyof typeof sizes, fallback: number, least = 1) => {
    const value = Number(values[name] ?? fallback)
    if (!Number.isInteger(value) || value < least) throw new Error(`--${name} must be a whole number from ${least}`)
    return value
  }
  const tokens = size('tokens', quick ? 50_000 : TOKENS)
  const rounds = size('rounds', quick ? 3 : ROUNDS)
  const postgresTokens = size('postgres-tokens', quick ? 0 : TOKENS, 0)
  const peers = !values['no-peers']
  const isWhole = !quick && peers && only === undefined && postgresTokens > 0 && tokens >= TOKENS && rounds >= ROUNDS
  const [roundMs, warmMs] = quick ? [350, 1_500] : [2_000, 4_000]
  const out = values.out ?? (isWhole ? 'reports' : undefined)
  return { quick, estates, tokens, rounds, roundMs, warmMs, only, peers, postgresTokens, out }
}
