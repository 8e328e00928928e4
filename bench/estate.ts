// Estates: seeded by the product's own command, kept where asked, and looked into through its own API.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { askJson, type Envelope } from './ask.ts'
import { get } from './requests.ts'

export const PRODUCT = join(import.meta.dirname, '..', 'bin', 'latchkey.mjs')

export interface Shape {
  readonly name: string
  readonly accounts: number
  /** Per account. */
  readonly subAccounts: number
  /** Per account. */
  readonly tokens: number
}

export interface Estate extends Shape {
  readonly dataDir: string
  readonly keys: readonly string[]
  /** How long seeding took, where this run did it. */
  readonly seedSeconds: number | undefined
}

/** Seeds the estate unless it is there already. */
export async function prepareEstate(folder: string, shape: Shape): Promise<Estate> {
  const home = join(folder, `${shape.name}-${shape.accounts}x${shape.subAccounts}x${shape.tokens}`)
  const report = join(home, 'seed.json')
  let seedSeconds: number | undefined
  if (!existsSync(report)) {
    rmSync(home, { recursive: true, force: true })
    mkdirSync(home, { recursive: true })
    const begun = performance.now()
    const printed = await seed({ LATCHKEY_DATA_DIR: join(home, 'data') }, shape)
    seedSeconds = (performance.now() - begun) / 1000
    writeFileSync(`${report}.new`, printed)
    renameSync(`${report}.new`, report)
  }
  // One that was made by an earlier version would be migrated by the first server, which could take longer than it has.
  await run(['migrate'], { LATCHKEY_DATA_DIR: join(home, 'data') })
  const { accounts } = JSON.parse(readFileSync(report, 'utf8')) as { accounts: { key: string }[] }
  return { ...shape, dataDir: join(home, 'data'), keys: accounts.map(({ key }) => key), seedSeconds }
}

export function seed(store: Record<string, string>, { accounts, subAccounts, tokens }: Shape): Promise<string> {
  const sizes = ['--accounts', accounts, '--sub-accounts', subAccounts, '--tokens', tokens].map(String)
  return run(['seed', ...sizes, '--json'], store)
}

/** Returns what the command prints. */
async function run(command: readonly string[], store: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, [PRODUCT, ...command], {
    env: { ...process.env, ...store },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`latchkey ${command[0]} ended with ${code}`)
  return printed
}

export interface SampledToken {
  readonly _id: string
  readonly name: string
  readonly token: string
  readonly status: 'active' | 'inactive'
  readonly subAccount: { readonly _id: string }
}

export interface Scope {
  readonly query: string
  readonly total: number
}

export interface SampledAccount {
  readonly key: string
  readonly total: number
  readonly tokens: readonly SampledToken[]
  readonly subAccounts: readonly Scope[]
  readonly statuses: readonly Scope[]
  readonly both: readonly Scope[]
}

interface Page {
  readonly items: readonly SampledToken[]
  readonly total: number
}

const PAGE = 100

/** Reads up to `wanted` tokens of each account, evenly over its whole length, and the sizes of what can be listed. */
export async function sample(
  port: number,
  estate: Estate,
  wanted: number,
  mostSubAccounts = estate.subAccounts,
): Promise<SampledAccount[]> {
  const accounts: SampledAccount[] = []
  for (const key of estate.keys) {
    const list = async (query: string) =>
      (await askJson<Envelope<Page>>(port, get(`/api/v1/apiClient/token?${query}`, key))).data
    const { total } = await list('limit=1')
    const pages = Math.ceil(total / PAGE)
    const step = Math.max(1, Math.floor(pages / Math.ceil(wanted / PAGE)))
    const tokens: SampledToken[] = []
    for (let page = 1; page <= pages && tokens.length < wanted; page += step) {
      tokens.push(...(await list(`limit=${PAGE}&page=${page}`)).items)
    }
    const sized = async (queries: readonly string[]) => {
      const scopes: Scope[] = []
      for (const query of queries) scopes.push({ query, total: (await list(`${query}&limit=1`)).total })
      return scopes.filter((scope) => scope.total > 0)
    }
    const ids = [...new Set(tokens.map(({ subAccount }) => subAccount._id))].slice(0, mostSubAccounts)
    const subAccounts = await sized(ids.map((id) => `subAccountId=${id}`))
    const statuses = await sized(['status=active', 'status=inactive'])
    const pairs = subAccounts.flatMap(({ query }) => statuses.map((status) => `${query}&${status.query}`))
    accounts.push({ key, total, tokens, subAccounts, statuses, both: await sized(pairs) })
  }
  return accounts
}
