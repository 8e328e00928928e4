// Estates: seeded by the product's own command, kept where asked, and looked into through its own API.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { askData, bearer, get } from './requests.ts'
import { Server } from './server.ts'

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
}

export function serve(name: string, { dataDir }: Estate, env?: Readonly<Record<string, string>>): Promise<Server> {
  return Server.start({ name, args: [PRODUCT, 'serve'], env: { ...env, LATCHKEY_DATA_DIR: dataDir } })
}

/** Seeds the estate unless it is there already. */
export async function prepareEstate(folder: string, shape: Shape): Promise<Estate> {
  const home = join(folder, `${shape.name}-${shape.accounts}x${shape.subAccounts}x${shape.tokens}`)
  const [file, dataDir] = [join(home, 'keys.json'), join(home, 'data')]
  if (!existsSync(file)) {
    rmSync(home, { recursive: true, force: true })
    mkdirSync(home, { recursive: true })
    writeFileSync(`${file}.new`, JSON.stringify(await seed({ LATCHKEY_DATA_DIR: dataDir }, shape)))
    renameSync(`${file}.new`, file)
  }
  // One that was made by an earlier version would be migrated by the first server, which could take longer than it has.
  await run(['migrate'], { LATCHKEY_DATA_DIR: dataDir })
  return { ...shape, dataDir, keys: JSON.parse(readFileSync(file, 'utf8')) as string[] }
}

/** Returns the keys of its accounts. */
export async function seed(
  store: Record<string, string>,
  { accounts, subAccounts, tokens }: Shape,
): Promise<readonly string[]> {
  const sizes = ['--accounts', accounts, '--sub-accounts', subAccounts, '--tokens', tokens].map(String)
  const report = JSON.parse(await run(['seed', ...sizes, '--json'], store)) as { accounts: { key: string }[] }
  return report.accounts.map(({ key }) => key)
}

/** Returns what the command prints. */
async function run(command: readonly string[], store: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, [PRODUCT, ...command], {
    env: { ...process.env, ...store },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
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

export interface Page {
  readonly items: readonly SampledToken[]
  readonly total: number
}

const PAGE = 100

export const TOKEN = '/api/v1/apiClient/token'
export const listRequest = (key: string, query: string) => get(`${TOKEN}?${query}`, bearer(key))

/** Reads up to `wanted` tokens of each account, evenly over its whole length, and the sizes of what can be listed. */
export async function sample(
  port: number,
  keys: readonly string[],
  wanted: number,
  mostSubAccounts?: number,
): Promise<SampledAccount[]> {
  const accounts: SampledAccount[] = []
  for (const key of keys) {
    const list = (query: string) => askData<Page>(port, listRequest(key, query))
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
