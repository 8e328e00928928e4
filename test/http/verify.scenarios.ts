// Verification for gateways, and introspection: decisions part 9.
import assert from 'node:assert/strict'
import type { Estate } from '../support/estate.ts'
import { type Ask, bearer } from '../support/http.ts'
import { invalid, playedOnce, refusal, type Scenario, unauthenticated } from './scenario.ts'

const VERIFY = '/api/v1/verify'
const verify = (credential: string, method = 'GET'): Ask => ({ method, path: VERIFY, headers: [bearer(credential)] })

function refused(name: string, ask: (estate: Estate) => Ask | Promise<Ask>, message: string, reason: string): Scenario {
  return {
    name,
    ask,
    status: 401,
    body: unauthenticated(message),
    headers: { 'x-latchkey-reason': reason, 'x-latchkey-token-id': null, 'x-latchkey-account-id': null },
  }
}

const suspendedSubAccount = async (estate: Estate): Promise<string> => {
  const { operator, registry } = estate.running
  const fields = { name: 'Suspended', email: 's@x.example', companyName: 'S' }
  const [made] = await operator.createSubAccounts(estate.mine.accountId, [fields])
  const caller = operator.actFor(estate.mine.accountId)
  await registry.updateSubAccount(caller, made?.id ?? '', { status: 'suspended' }, operator.origin())
  return made?.id ?? ''
}

const INTROSPECT = '/oauth2/introspect'
const FORM = ['content-type', 'application/x-www-form-urlencoded'] as const
const introspect = (estate: Estate, token: string): Ask => ({
  method: 'POST',
  path: INTROSPECT,
  headers: [bearer(estate.mine.key), FORM],
  body: new URLSearchParams({ token }).toString(),
})

/** Credentials that are not active for the caller, each of its own kind. */
const notActive: Readonly<Record<string, (estate: Estate) => Promise<string>>> = {
  'an unknown credential': async () => 'lk_tok_unknown',
  garbage: async () => '\u00e9 %$',
  'an account key': async ({ mine }) => mine.key,
  'an inactive token': async (estate) => (await estate.token({ status: 'inactive' })).credential,
  'an expired token': async (estate) => (await estate.token({ expiresAt: 1000 })).credential,
  'a token of a suspended sub-account': async (estate) =>
    (await estate.token({ subAccountId: await suspendedSubAccount(estate) })).credential,
  'another account’s token': async (estate) => (await estate.token({}, estate.theirs)).credential,
}

export const verifyScenarios: readonly Scenario[] = [
  ...playedOnce(
    ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map(
      (method): Scenario => ({
        name: `an active credential passes, whichever method the gateway forwards (${method})`,
        ask: async (estate) => verify((await estate.token()).credential, method),
        status: 204,
        headers: {
          'x-latchkey-token-id': /^tok_/,
          'x-latchkey-sub-account-id': /^sub_/,
          'x-latchkey-account-id': /^acc_/,
          'x-latchkey-token-version': '1',
        },
        body: (heard) => assert.equal(heard.text, ''),
      }),
    ),
  ),
  {
    name: 'whatever body a gateway forwards is not read',
    ask: async (estate) => ({
      ...verify((await estate.token()).credential, 'POST'),
      body: 'x'.repeat(200_000),
    }),
    status: 204,
  },
  {
    name: 'the identity is that of the token',
    async ask(estate) {
      return verify((await estate.token({ name: 'Identity', credential: 'identity-credential' })).credential)
    },
    status: 204,
    async body(heard, estate) {
      const token = await estate.running.operator.findByCredential('identity-credential')
      assert.equal(heard.headers['x-latchkey-token-id'], token?.id)
      assert.equal(heard.headers['x-latchkey-sub-account-id'], estate.mine.subAccounts[0].id)
      assert.equal(heard.headers['x-latchkey-account-id'], estate.mine.accountId)
    },
  },
  refused('no credential is refused', () => ({ path: VERIFY }), 'Authentication required', 'unknown'),
  refused('an unknown credential is refused', () => verify('lk_tok_nothing'), 'Invalid token', 'unknown'),
  refused('an account key is no token', ({ mine }) => verify(mine.key), 'Invalid token', 'unknown'),
  refused(
    'two credentials are none',
    async (estate) => {
      const { credential } = await estate.token()
      return { path: VERIFY, headers: [bearer(credential), bearer(credential)] }
    },
    'Authentication required',
    'unknown',
  ),
  refused(
    'an inactive token is refused, and its holder told why',
    async (estate) => verify((await estate.token({ status: 'inactive' })).credential),
    'Token inactive',
    'inactive',
  ),
  refused(
    'an expired token is refused',
    async (estate) => verify((await estate.token({ expiresAt: estate.running.operator.origin().at })).credential),
    'Token expired',
    'expired',
  ),
  refused(
    'a token of a suspended sub-account is refused',
    async (estate) => verify((await estate.token({ subAccountId: await suspendedSubAccount(estate) })).credential),
    'Token inactive',
    'suspended',
  ),
  refused(
    'a deleted token is unknown',
    async (estate) => {
      const token = await estate.token()
      await estate.mineAsks({ method: 'DELETE', path: `/api/v1/apiClient/token/${token.id}` })
      return verify(token.credential)
    },
    'Invalid token',
    'unknown',
  ),
  refused(
    'a token is refused by the very next verification after it was disabled',
    async (estate) => {
      const token = await estate.token()
      assert.equal((await estate.ask(verify(token.credential))).status, 204)
      await estate.mineAsks({
        method: 'PUT',
        path: `/api/v1/apiClient/token/${token.id}`,
        body: { status: 'inactive' },
      })
      return verify(token.credential)
    },
    'Token inactive',
    'inactive',
  ),
  {
    name: 'a token that is enabled again passes again',
    async ask(estate) {
      const token = await estate.token({ status: 'inactive' })
      await estate.mineAsks({ method: 'PUT', path: `/api/v1/apiClient/token/${token.id}`, body: { status: 'active' } })
      return verify(token.credential)
    },
    status: 204,
    headers: { 'x-latchkey-token-version': '2' },
  },
  ...Object.entries(notActive).map(
    ([what, credential]): Scenario => ({
      name: `introspection of ${what} is exactly {"active":false}`,
      ask: async (estate) => introspect(estate, await credential(estate)),
      status: 200,
      headers: { 'cache-control': 'no-store', 'content-type': /^application\/json/ },
      body: { active: false },
    }),
  ),
  {
    name: 'introspection tells whose an active credential is',
    ask: async (estate) => introspect(estate, (await estate.token({ expiresAt: 4_102_444_800_000 })).credential),
    status: 200,
    headers: { 'cache-control': 'no-store' },
    body(heard, { mine }) {
      const { iat, token_id, ...rest } = heard.json
      assert.ok(Number.isInteger(iat))
      assert.match(token_id, /^tok_/)
      assert.deepEqual(rest, {
        active: true,
        sub: mine.subAccounts[0].id,
        client_id: mine.accountId,
        exp: 4_102_444_800,
        token_type: 'Bearer',
        sub_account_id: mine.subAccounts[0].id,
        account_id: mine.accountId,
        token_version: 1,
      })
    },
  },
  {
    name: 'introspection says until when a credential works that was rotated out',
    async ask(estate) {
      const { id, credential } = await estate.token({ expiresAt: 4_102_444_800_000 })
      const path = `/api/v1/apiClient/token/${id}/rotate`
      await estate.mineAsks({ method: 'POST', path, body: { overlapSeconds: 3_600 } })
      return introspect(estate, credential)
    },
    status: 200,
    async body({ json }, estate) {
      const { data } = (await estate.mineAsks({ path: `/api/v1/apiClient/token/${json.token_id}?include=details` }))
        .json
      assert.equal(json.exp, Math.floor(Date.parse(data.details.formerCredentialUntil) / 1000))
    },
  },
  {
    name: 'introspection without a token is refused',
    ask: ({ mine }) => ({ method: 'POST', path: INTROSPECT, headers: [bearer(mine.key), FORM], body: 'x=1' }),
    status: 400,
    body: invalid(/^token .* sent$/),
  },
  {
    name: 'introspection of two tokens at once is refused',
    ask: ({ mine }) => ({
      method: 'POST',
      path: INTROSPECT,
      headers: [bearer(mine.key), FORM],
      body: 'token=a&token=b',
    }),
    status: 400,
    body: invalid(/^token .* once$/),
  },
  {
    name: 'introspection of a credential that is not UTF-8 is refused, rather than of another that it could be read as',
    ask: ({ mine }) => ({
      method: 'POST',
      path: INTROSPECT,
      headers: [bearer(mine.key), FORM],
      body: Buffer.from('token=\xff', 'latin1'),
    }),
    status: 400,
    body: invalid(/UTF-8/),
  },
  ...['application/json', 'form'].map(
    (type): Scenario => ({
      name: `introspection with the content type "${type}" is refused, and told to send a form`,
      ask: ({ mine }) => ({
        method: 'POST',
        path: INTROSPECT,
        headers: [bearer(mine.key), ['content-type', type]],
        body: '{"token":"x"}',
      }),
      status: 415,
      body: refusal('unsupported-media-type', /application\/x-www-form-urlencoded$/),
    }),
  ),
  {
    name: 'a sub-account token cannot introspect',
    ask: async (estate) => ({
      method: 'POST',
      path: INTROSPECT,
      headers: [bearer((await estate.token()).credential), FORM],
      body: 'token=x',
    }),
    status: 403,
    body: refusal('token-cannot-manage'),
  },
]
