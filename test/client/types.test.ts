// What the compiler refuses and what it knows: `npm run check` fails where one of these lines is wrong.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createClient,
  type HistoryEntry,
  type LatchkeyErrorCode,
  type ListTokensParams,
  type Page,
  type Token,
  type TokenPage,
  type Verdict,
} from '../../client/latchkey-client.ts'

type Same<Left, Right> =
  (<Any>() => Any extends Left ? 1 : 2) extends <Any>() => Any extends Right ? 1 : 2 ? true : false
const holds = <_Claim extends true>(): void => undefined

/** Never called: it only has to compile. */
async function callsThatCompile(): Promise<void> {
  const client = createClient()
  const page = await client.listTokens({ status: 'active', limit: 5 })
  holds<Same<typeof page, TokenPage>>()
  const asPage: Page<Token> = page
  for await (const token of client.listTokens()) holds<Same<typeof token, Token>>()
  for await (const entry of client.listAccountHistory()) holds<Same<typeof entry, HistoryEntry>>()
  const { data, etag } = await client.getToken({ id: 'x' }).withResponse()
  holds<Same<typeof data, Token>>()
  holds<Same<typeof etag, string | undefined>>()
  const verdict = await client.verify('x')
  holds<Same<typeof verdict, Verdict>>()
  if (verdict.accepted) verdict.tokenId.trim()
  else verdict.reason.trim()
  const { permissions } = await client.whoami()
  holds<Same<typeof permissions.subAccounts, readonly string[] | null>>()
  const params: ListTokensParams = { search: 'ci', subAccountId: undefined }
  const codes: LatchkeyErrorCode[] = ['token-not-found', 'timeout', 'a-code-of-a-later-version']
  void [asPage, params, codes]
}

async function callsThatDoNotCompile(): Promise<void> {
  const client = createClient()
  // @ts-expect-error: no such status
  client.listTokens({ status: 'off' })
  // @ts-expect-error: a misspelt parameter
  client.listTokens({ sub_account: 'x' })
  // @ts-expect-error: the id is missing
  client.getToken()
  // @ts-expect-error: the name is missing
  client.createToken({ body: { subAccountId: 'x' } })
  // @ts-expect-error: one token is not a list of pages
  for await (const _ of client.getToken({ id: 'x' })) break
  // @ts-expect-error: verification needs a credential
  client.verify()
  const verdict = await client.verify('x')
  // @ts-expect-error: who is refused has no token
  verdict.tokenId.trim()
  // @ts-expect-error: answers are not changed
  ;(await client.whoami()).account.name = 'other'
}

test('calls are checked by the compiler: parameters, data, pages, verdicts and codes', () => {
  assert.equal(typeof callsThatCompile, 'function')
  assert.equal(typeof callsThatDoNotCompile, 'function')
})
