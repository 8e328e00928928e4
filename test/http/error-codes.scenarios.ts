// X-Latchkey-Error: what a program reads instead of the sentence. That every failure has one is checked for all scenarios; where a
// scenario of a failure stands elsewhere, it says its code there.
import type { Estate } from '../support/estate.ts'
import { type Ask, bearer } from '../support/http.ts'
import type { Scenario } from './scenario.ts'

const TOKEN = '/api/v1/apiClient/token'

type AskOf = (estate: Estate) => Ask | Promise<Ask>

const asOwner =
  (askOf: AskOf): AskOf =>
  async (estate) => {
    const ask = await askOf(estate)
    return { ...ask, headers: [bearer(estate.mine.key), ...(ask.headers ?? [])] }
  }
const created = (estate: Estate, name: string, more: Partial<Ask> = {}): Ask => ({
  method: 'POST',
  path: TOKEN,
  body: { subAccountId: estate.mine.subAccounts[0].id, name },
  ...more,
})

const failures: Readonly<Record<string, readonly [status: number, ask: AskOf]>> = {
  'invalid-request': [400, asOwner(() => ({ path: `${TOKEN}?page=0` }))],
  'authentication-required': [401, () => ({ path: TOKEN })],
  'token-invalid': [401, () => ({ path: TOKEN, headers: [bearer('lk_key_unknown')] })],
  'token-expired': [401, ({ mine }) => ({ path: TOKEN, headers: [bearer(mine.expiredKey)] })],
  'token-inactive': [
    401,
    async (estate) => ({
      path: '/api/v1/verify',
      headers: [bearer((await estate.token({ status: 'inactive' })).credential)],
    }),
  ],
  'token-cannot-manage': [
    403,
    async (estate) => ({ path: TOKEN, headers: [bearer((await estate.token()).credential)] }),
  ],
  'sub-account-forbidden': [403, asOwner(() => ({ path: `${TOKEN}?subAccountId=sub_none` }))],
  'token-not-found': [404, asOwner(() => ({ path: `${TOKEN}/tok_none` }))],
  'not-found': [404, asOwner(() => ({ path: '/api/v1/nothing-here' }))],
  'method-not-allowed': [405, asOwner(() => ({ path: TOKEN, method: 'DELETE' }))],
  'version-mismatch': [
    412,
    asOwner(async (estate) => ({
      method: 'PUT',
      path: `${TOKEN}/${(await estate.token()).id}`,
      headers: [['if-match', '"99"']],
      body: { status: 'inactive' },
    })),
  ],
  'body-too-large': [413, asOwner((estate) => created(estate, 'x'.repeat(70_000)))],
  'unsupported-media-type': [
    415,
    asOwner((estate) => created(estate, '', { headers: [['content-type', 'text/plain']], body: 'x' })),
  ],
}

export const errorCodeScenarios: readonly Scenario[] = Object.entries(failures).map(
  ([code, [status, ask]]): Scenario => ({
    name: `${status} says ${code} to programs, in a header`,
    ask,
    status,
    headers: { 'x-latchkey-error': code },
    absent: () => ['x-latchkey-error', code],
  }),
)
