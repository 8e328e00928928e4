// Creates synthetic accounts and tokens, for tests and measurements.
import { setImmediate } from 'node:timers/promises'
import { Failure, OperatorError } from '../../tokens/model/errors.ts'
import type { Operator } from '../../tokens/service/operator.ts'
import type { Output } from '../terminal/output.ts'
import { startProgress } from '../terminal/progress.ts'
import { Waiting } from './waiting.ts'

/** Small, so that this process notices soon when the store can take more. */
const BATCH = 200

const USES = ['CI', 'Deploy', 'Billing', 'Reports', 'Mobile app', 'Webhook', 'Import', 'Backup', 'Monitoring', 'Sync']
const PLACES = ['production', 'staging', 'Berlin', 'Lisboa', 'São Paulo', 'Kraków', '東京', 'Αθήνα', 'Москва', 'test']

export interface Estate {
  readonly accounts: number
  /** Per account. */
  readonly subAccounts: number
  /** Per account, spread evenly over its sub-accounts. */
  readonly tokens: number
}

interface SeededAccount {
  readonly _id: string
  readonly key: string
}

export async function seed(operator: Operator, estate: Estate, output: Output) {
  const all = estate.accounts * estate.tokens
  let made = 0
  try {
    const accounts = await seedAccounts(operator, estate.accounts, output)
    const progress = startProgress(output, 'Tokens', all)
    const advance = (tokens: number) => {
      made += tokens
      progress.advance(tokens)
    }
    await fill(operator, accounts, estate, advance).finally(() => progress.done())
    return { accounts, subAccounts: estate.accounts * estate.subAccounts, tokens: all }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new OperatorError(`Seeding ended after ${made} of ${all} tokens, which are kept. ${error.message}.`)
  }
}

/**
 * Keys cannot be read back: each is printed at once, so that an interrupted run loses none. With --json, to standard error,
 * since standard output must be one JSON document.
 */
async function seedAccounts(operator: Operator, count: number, output: Output): Promise<readonly SeededAccount[]> {
  const accounts: SeededAccount[] = []
  for (let a = 1; a <= count; a++) {
    const { id: _id } = await operator.createAccount(`Seeded account ${a}`)
    const { key } = await operator.createKey(_id, 'seed', null)
    accounts.push({ _id, key })
    if (output.json) output.stderr(`${_id} ${key}`)
    else output.line(`${_id} ${key}`)
  }
  return accounts
}

async function fill(
  operator: Operator,
  accounts: readonly SeededAccount[],
  { subAccounts, tokens }: Estate,
  advance: (tokens: number) => void,
): Promise<void> {
  const waiting = new Waiting()
  try {
    for (const [index, { _id: accountId }] of accounts.entries()) {
      const subAccountIds = await seedSubAccounts(operator, accountId, index + 1, subAccounts)
      for (const batch of batches(tokens)) {
        const created = operator.createTokens(batch.map((n) => seededToken(accountId, subAccountIds, n)))
        await waiting.add(created.then(() => advance(batch.length)))
        // Messages to the writer thread are sent between two turns of the event loop.
        await setImmediate()
      }
    }
    await waiting.all()
  } finally {
    // After a failure, what was begun is still counted.
    await waiting.ended()
  }
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

/** The numbers from 0 to `count` - 1, in batches. */
function* batches(count: number): Generator<number[]> {
  for (let from = 0; from < count; from += BATCH) {
    yield Array.from({ length: Math.min(BATCH, count - from) }, (_, index) => from + index)
  }
}
