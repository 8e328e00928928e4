// A synthetic estate of any size, for trying things out and for measuring.
import type { Operator } from '../tokens/operator.ts'
import type { Output } from './output.ts'
import { startProgress } from './progress.ts'

const BATCH = 1_000

const USES = ['CI', 'Deploy', 'Billing', 'Reports', 'Mobile app', 'Webhook', 'Import', 'Backup', 'Monitoring', 'Sync']
const PLACES = ['production', 'staging', 'Berlin', 'Lisboa', 'São Paulo', 'Kraków', '東京', 'Αθήνα', 'Москва', 'test']

export interface Estate {
  readonly accounts: number
  /** Per account. */
  readonly subAccounts: number
  /** Per account, spread evenly over its sub-accounts. */
  readonly tokens: number
}

export async function seed(operator: Operator, estate: Estate, output: Output) {
  const progress = startProgress(output, 'Tokens', estate.accounts * estate.tokens)
  const accounts: { _id: string; key: string }[] = []
  for (let a = 1; a <= estate.accounts; a++) {
    const account = await operator.createAccount(`Seeded account ${a}`)
    const { key } = await operator.createKey(account.id, 'seed', null)
    accounts.push({ _id: account.id, key })
    const subAccountIds: string[] = []
    for (let s = 0; s < estate.subAccounts; s += BATCH) {
      const list = numbers(s, Math.min(s + BATCH, estate.subAccounts)).map((n) => ({
        name: `Sub-account ${n + 1}`,
        email: `ops@tenant-${a}-${n + 1}.example`,
        companyName: `Tenant ${a}-${n + 1} Ltd`,
      }))
      for (const { id } of await operator.createSubAccounts(account.id, list)) subAccountIds.push(id)
    }
    // One batch is sealed here while the one before it is being written.
    let writing: Promise<unknown> = Promise.resolve()
    for (let t = 0; t < estate.tokens; t += BATCH) {
      const batch = numbers(t, Math.min(t + BATCH, estate.tokens))
      const before = writing
      writing = operator.createTokens(batch.map((n) => seededToken(account.id, subAccountIds, n)))
      await before
      progress.advance(batch.length)
    }
    await writing
  }
  progress.done()
  const { subAccounts, tokens } = estate
  return { accounts, subAccounts: estate.accounts * subAccounts, tokens: estate.accounts * tokens }
}

/** One in ten is inactive. */
function seededToken(accountId: string, subAccountIds: readonly string[], n: number) {
  const name = `${USES[n % USES.length]} ${PLACES[Math.floor(n / USES.length) % PLACES.length]} ${n + 1}`
  const subAccountId = subAccountIds[n % subAccountIds.length] ?? ''
  return { accountId, subAccountId, name, status: n % 10 === 3 ? ('inactive' as const) : ('active' as const) }
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index)
}
