// An account whose tokens are all active and at their first version, for tests that change and verify them by the thousand.
import { type Latchkey, openLatchkey } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'

export interface Target {
  readonly id: string
  readonly credential: string
}

export interface Targets {
  readonly accountId: string
  readonly subAccountId: string
  readonly key: string
  readonly tokens: readonly Target[]
}

export async function makeTargets({ operator, registry }: Latchkey, count: number): Promise<Targets> {
  const { id: accountId } = await operator.createAccount('Acme')
  const { key } = await operator.createKey(accountId, 'test', null)
  const [owner] = await operator.createSubAccounts(accountId, [{ name: 'S', email: 's@x.example', companyName: 'C' }])
  const subAccountId = owner?.id ?? ''
  const records = await operator.createTokens(
    Array.from({ length: count }, (_, n) => ({ accountId, subAccountId, name: `T${n}` })),
  )
  const caller = operator.actFor(accountId)
  const tokens = await Array.fromAsync(records, async ({ id }) => ({
    id,
    credential: (await registry.getToken(caller, id)).credential,
  }))
  return { accountId, subAccountId, key, tokens }
}

/** The same in a store that nobody has open. */
export async function makeTargetsIn(env: Readonly<Record<string, string>>, count: number): Promise<Targets> {
  const latchkey = await openLatchkey(readConfig(env))
  try {
    return await makeTargets(latchkey, count)
  } finally {
    await latchkey.store.close()
  }
}
