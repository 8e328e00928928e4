// Who is asking: the account, the caller, and what the caller may do.
import type { Estate } from '../support/estate.ts'
import { bearer } from '../support/http.ts'
import { refusal, type Scenario, success, unauthenticated } from './scenario.ts'

const WHOAMI = '/api/v1/apiClient/whoami'

interface Someone {
  readonly account: { readonly id: string; readonly name: string }
  readonly keyId: string
}
let asked: Someone

async function someoneAsks(estate: Estate) {
  const { operator } = estate.running
  const { id, name } = await operator.createAccount('Who')
  const key = await operator.createKey(id, 'Deploy “script”', null)
  estate.secrets.add(key.key)
  asked = { account: { id, name }, keyId: key.id }
  return { path: WHOAMI, headers: [bearer(key.key)] }
}

export const whoamiScenarios: readonly Scenario[] = [
  {
    name: 'an account key learns its account, its own id and name, and that it may do everything',
    ask: someoneAsks,
    status: 200,
    headers: { 'cache-control': 'no-store', 'x-latchkey-error': null },
    body: ({ text }) => {
      const expected = {
        account: { _id: asked.account.id, name: asked.account.name },
        caller: { kind: 'key', _id: asked.keyId, name: 'Deploy “script”' },
        permissions: { role: 'owner', reveal: true, subAccounts: null },
      }
      if (text !== JSON.stringify(success('Caller retrieved successfully', expected))) throw new Error(text)
    },
    absent: ({ mine, theirs }) => ['lk_key_', mine.accountId, theirs.accountId],
  },
  {
    name: 'nobody learns anything about nobody',
    ask: () => ({ path: WHOAMI }),
    status: 401,
    headers: { 'x-latchkey-error': 'authentication-required' },
    body: unauthenticated('Authentication required'),
  },
  {
    name: 'a revoked key does not learn whose it was',
    ask: ({ mine }) => ({ path: WHOAMI, headers: [bearer(mine.revokedKey)] }),
    status: 401,
    body: unauthenticated('Invalid token'),
    absent: ({ mine }) => [mine.accountId, 'Mine'],
  },
  {
    name: 'a sub-account’s token is no caller',
    ask: async (estate) => ({ path: WHOAMI, headers: [bearer((await estate.token()).credential)] }),
    status: 403,
    body: refusal('token-cannot-manage'),
  },
]
