// A synthetic estate of any size, for trying things out and for measuring.
import { setImmediate } from 'node:timers/promises'
import { Failure, OperatorError } from '../tokens/errors.ts'
import type { Operator } from '../tokens/operator.ts'
import type { Output } from './output.ts'
import { startProgress } from './progress.ts'

const BATCH = 1_000
/** Those that wait for the writer are committed together, while the next are sealed here. */
const MOST_WAITING = 4

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
  const all = estate.accounts * estate.tokens
  const progress = startProgress(output, 'Tokens', all)
  let made = 0
  try {
    const accounts = await fill(operator, estate, (tokens) => {
      made += tokens
      progress.advance(tokens)
    })
    return { accounts, subAccounts: estate.accounts * estate.subAccounts, tokens: all }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new OperatorError(`Seeding ended after ${made} of ${all} tokens, which stay. ${error.message}.`)
  } finally {
    progress.done()
  }
}

async function fill(operator: Operator, { accounts, subAccounts, tokens }: Estate, advance: (tokens: number) => void) {
  const made: { _id: string; key: string }[] = []
  const waiting: Promise<void>[] = []
  for (let a = 1; a <= accounts; a++) {
    const account = await operator.createAccount(`Seeded account ${a}`)
    const { key } = await operator.createKey(account.id, 'seed', null)
    made.push({ _id: account.id, key })
    const subAccountIds = await seedSubAccounts(operator, account.id, a, subAccounts)
    for (const batch of batches(tokens)) {
      const created = operator.createTokens(batch.map((n) => seededToken(account.id, subAccountIds, n)))
      waiting.push(created.then(() => advance(batch.length)))
      // Whatever becomes of it is told when its turn comes.
      waiting.at(-1)?.catch(() => {})
      if (waiting.length === MOST_WAITING) await waiting.shift()
      // What this thread has for the writer goes over between two turns of its event loop.
      await setImmediate()
    }
  }
  for (const each of waiting) await each
  return made
}

async function seedSubAccounts(operator: Operator, accountId: string, a: number, count: number): Promise<string[]> {
  const ids: string[] = []
  for (const batch of batches(count)) {
    const list = batch.map((n) => ({
      name: `Sub-account ${n + 1}`,
      email: `ops@tenant-${a}-${n + 1}.example`,
      companyName: `Tenant ${a}-${n + 1} Ltd`,
    }))
    for (const { id } of await operator.createSubAccounts(accountId, list)) ids.push(id)
  }
  return ids
}

/** One in ten is inactive. */
function seededToken(accountId: string, subAccountIds: readonly string[], n: number) {
  const name = `${USES[n % USES.length]} ${PLACES[Math.floor(n / USES.length) % PLACES.length]} ${n + 1}`
  const subAccountId = subAccountIds[n % subAccountIds.length] ?? ''
  return { accountId, subAccountId, name, status: n % 10 === 3 ? ('inactive' as const) : ('active' as const) }
}

/** The numbers from 0 on, so many, in batches. */
function* batches(count: number): Generator<number[]> {
  for (let from = 0; from < count; from += BATCH) {
    yield Array.from({ length: Math.min(BATCH, count - from) }, (_, index) => from + index)
  }
}
