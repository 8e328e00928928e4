// The demo account of `npm start`, with tokens in every state.
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Latchkey } from '../../compose.ts'
import { replacePrivate } from '../../process/private-file.ts'
import type { BulkToken, Operator } from '../../tokens/service/operator.ts'

const DAY_MS = 24 * 60 * 60 * 1000

const SUB_ACCOUNTS = [
  { name: 'Berlin agency', email: 'ops@berlin-agency.example', companyName: 'Berlin Agency GmbH' },
  { name: 'Lisbon studio', email: 'team@lisbon-studio.example', companyName: 'Estúdio de Lisboa, Lda' },
  { name: 'Northwind reseller', email: 'it@northwind.example', companyName: 'Northwind Traders' },
  { name: 'Paused tenant', email: 'billing@paused.example', companyName: 'Paused & Co.' },
]

const NAMES = [
  'CI pipeline',
  'Mobile app',
  'Nightly import',
  'Billing export',
  'Status page',
  'Zapier',
  'Data warehouse',
]

/** Returns the lines to print: with a new account key, which it also saves to a file; later, with the name of that file. */
export function keepDemo(key: string | undefined, url: string, dataDir: string): readonly string[] {
  const file = join(dataDir, 'demo.txt')
  if (key === undefined) {
    const where = existsSync(file) ? [`Account key and first steps: ${file}`] : []
    return [`Console: ${url}/console/`, ...where]
  }
  const lines = [
    'A demo account is ready.',
    `  Account key  ${key}`,
    `  Try it       curl -H "Authorization: Bearer ${key}" "${url}/api/v1/apiClient/token?limit=3"`,
    `  Console      ${url}/console/#key=${key}`,
    `  API page     ${url}/docs`,
    `  Kept in      ${file}`,
  ]
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  replacePrivate(file, `${lines.slice(0, -1).join('\n')}\n`)
  return lines
}

/** Returns the account key, which `keep` gets as soon as it is made; undefined if the store was not empty. */
export async function makeDemo(
  { operator, registry }: Latchkey,
  keep: (key: string) => void = () => {},
): Promise<string | undefined> {
  if ((await operator.listAccounts()).length > 0) return undefined
  const account = await operator.createAccount('Demo account')
  const { key } = await operator.createKey(account.id, 'demo', null)
  keep(key)
  const subAccounts = await operator.createSubAccounts(account.id, SUB_ACCOUNTS)
  const tokens = subAccounts.flatMap(({ id }, n) => demoTokens(operator, account.id, id, n))
  const records = await operator.createTokens(tokens)

  const used = records.filter((_, index) => index % 3 !== 0)
  const now = operator.origin().at
  for (const [index, { id }] of used.entries()) registry.verification.uses.note(id, now - index * 7 * 60 * 60 * 1000)
  await registry.verification.uses.flush()
  const paused = subAccounts.at(-1)
  const caller = operator.actFor(account.id)
  if (paused) await registry.updateSubAccount(caller, paused.id, { status: 'suspended' }, operator.origin())
  return key
}

/** Of seven tokens, one is inactive, one expired, and one expires soon. */
function demoTokens(operator: Operator, accountId: string, subAccountId: string, n: number): BulkToken[] {
  const now = operator.origin().at
  return NAMES.map((name, index) => ({
    accountId,
    subAccountId,
    name,
    status: index === 2 ? 'inactive' : 'active',
    createdAt: now - (index * 11 + n * 3 + 1) * DAY_MS,
    expiresAt: index === 4 ? now - DAY_MS : index === 5 ? now + 14 * DAY_MS : null,
  }))
}
