// The domain on a real store of the embedded engine, with a clock that the test sets.
import type { Caller } from '../../src/tokens/model/permissions.ts'
import { Operator } from '../../src/tokens/service/operator.ts'
import { Registry } from '../../src/tokens/service/registry.ts'
import type { Store } from '../../src/tokens/service/store.ts'
import type { Parts } from '../../src/tokens/trust/parts.ts'
import { openEmptySqlite, type TestSqlite } from './sqlite.ts'
import { START } from './store.ts'

export interface TestService {
  readonly opened: TestSqlite
  readonly registry: Registry
  readonly operator: Operator
  readonly clock: { now: number }
  /** The ids told to `onTampered`. */
  readonly tampered: string[]
}

export async function openService(): Promise<TestService> {
  const opened = await openEmptySqlite()
  const clock = { now: START }
  const tampered: string[] = []
  const parts: Parts<Store> = {
    store: opened.store,
    keys: opened.keys,
    stamps: opened.stamps,
    now: () => clock.now,
    onTampered: ({ id }) => void tampered.push(id),
  }
  return { opened, registry: new Registry(parts), operator: new Operator(parts), clock, tampered }
}

/** An account with a key, as a caller, and one sub-account. */
export async function anAccount({ operator, registry }: TestService) {
  const account = await operator.createAccount('Acme')
  const key = await operator.createKey(account.id, 'Console', null)
  const caller: Caller = await registry.authenticate(key.key)
  const fields = { name: 'Branch', email: 'branch@example.com', companyName: 'Branch Ltd' }
  const [subAccount] = await operator.createSubAccounts(account.id, [fields])
  if (subAccount === undefined) throw new Error('no sub-account was made')
  return { account, key, caller, subAccount }
}
