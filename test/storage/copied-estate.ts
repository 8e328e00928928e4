// An estate in which every state of everything occurs, and everything that the API says of it.
import type { Latchkey } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'
import { type RunningServer, startServer } from '../../src/serve/serving.ts'
import { COUNTED, type TokenUsage } from '../../src/tokens/usage/usage.ts'
import { bearer, send } from '../support/http.ts'
import { names } from '../support/oracle.ts'
import { fc } from '../support/properties.ts'
import { runs } from '../support/runs.ts'

/** The clock of every server that is asked here, so that answers can be compared. */
const NOW = Date.UTC(2026, 5, 1)
const HOUR = 3_600_000
const API = '/api/v1/apiClient'
/** More than the 1,000 that go over in one part, also after one of 13 was deleted. */
const TOKENS = runs(1_120, 1_300)
/** Of how many tokens two are asked for: no multiple of 13, by which they differ. Fewer than in `npm run test:faults`. */
const EVERY = runs(18, 6)
/** How many of 17 credentials are verified: no number by which tokens differ divides 17. */
const VERIFIED = runs(6, 17)

export interface CopiedEstate {
  readonly keys: readonly string[]
  /** Expired or revoked. */
  readonly refusedKeys: readonly string[]
  readonly credentials: readonly string[]
  readonly tokenIds: readonly string[]
  /** Of the first account, with a quota of which some is used. */
  readonly limitedIds: readonly string[]
  readonly subAccountIds: readonly string[]
  /** A creation that was made with an Idempotency-Key, to be asked for again. */
  readonly creation: object
}

type Environment = Readonly<Record<string, string>>
type Server = RunningServer & Latchkey

/** Runs a server on the store for as long as `work` takes. */
export async function served<Result>(env: Environment, work: (server: Server) => Promise<Result>): Promise<Result> {
  const server = await startServer(readConfig({ PORT: '0', LATCHKEY_APP_VERSION: '9.9.9', ...env }), {
    now: () => NOW,
  })
  try {
    return await work(server)
  } finally {
    await server.stop()
  }
}

export async function build(server: Server): Promise<CopiedEstate> {
  const accounts = [await account(server, 'First'), await account(server, 'Zwölf'), await account(server, '空')]
  const made = await Promise.all(accounts.map(({ id, owners }, n) => tokensOf(server, id, owners, n)))
  for (const { id } of accounts) await bulk(server, id)
  const { id: subAccountId } = accounts[0]?.owners[0] ?? { id: '' }
  const creation = { subAccountId, name: 'Asked for twice' }
  const limitedIds = await limited(server, accounts[0]?.id ?? '')
  await create(server.url, accounts[0]?.key ?? '', creation)
  await server.registry.verification.uses.flush()
  await usageOfFormerDays(server, made.flatMap(({ used }) => used).slice(0, 20))
  await server.rotateMasterKey(() => () => {})
  // Otherwise a server would do so later, and another history would be compared.
  await server.announceExpiring()
  return {
    keys: accounts.map(({ key }) => key),
    refusedKeys: accounts.flatMap(({ refusedKeys }) => refusedKeys),
    credentials: made.flatMap(({ credentials }) => credentials),
    tokenIds: made.flatMap(({ ids }) => ids),
    limitedIds,
    subAccountIds: accounts.flatMap(({ owners }) => owners.map(({ id }) => id)),
    creation,
  }
}

/** Nothing is sent to them: both are off. One has a former secret, too. */
async function webhooks({ operator, registry, store }: Server, accountId: string) {
  const caller = operator.actFor(accountId)
  for (const events of [null, ['token.*', 'key.create']]) {
    const { webhook } = await registry.webhooks.create(caller, { url: 'https://8.8.8.8/', events }, operator.origin())
    await registry.webhooks.update(caller, webhook.id, { status: 'inactive', order: 'none' }, operator.origin())
    if (events === null) await registry.webhooks.rotate(caller, webhook.id, operator.origin())
    const attempted = { seq: webhook.position + 1, event: 'token.create' }
    await store.settleDelivery(webhook.id, attempted, { kind: 'failed', responseStatus: 500, error: 'Ü' }, NOW)
  }
}

/** One that is done, one that is undone, and one that deletes nothing. */
async function bulk({ operator, registry, bulkWork, store }: Server, accountId: string) {
  const caller = operator.actFor(accountId)
  const work = bulkWork({
    onChanged: () => {},
    onFailed: (_, error) => {
      throw error
    },
  })
  const carriedOut = async (id: string) => {
    while ((await store.findBulk(accountId, id))?.status === 'running') {
      await work.begin()
      await work.settled()
    }
  }
  const orders = [
    { action: 'expire', filter: { tag: ['red', 'ü "x"'], effectiveStatus: 'active' } },
    { action: 'disable', filter: { tag: 'red' }, reason: 'Ü' },
    { action: 'delete', filter: { search: 'ß', suspendedDays: '1' } },
  ] as const
  for (const request of orders) {
    const { id } = await registry.bulk.order(caller, request, operator.origin())
    await carriedOut(id)
    if (request.action !== 'disable') continue
    await registry.bulk.undo(caller, id, operator.origin())
    await carriedOut(id)
  }
  await work.stop()
}

/** Of days whose hours are kept, and of others. */
async function usageOfFormerDays({ registry, store }: Server, tokens: readonly Omit<TokenUsage, 'counts'>[]) {
  const counts = COUNTED.map((_, n) => n + 1)
  for (const days of [2, 40]) {
    const report = { source: 'prc_former', number: days, tokens: tokens.map((token) => ({ ...token, counts })) }
    await store.addUsage((NOW - days * 24 * HOUR) / HOUR, [report], NOW)
  }
  while (await registry.usage.age());
}

async function account(server: Server, name: string) {
  const { operator, registry, store, verifiers } = server
  const { id } = await operator.createAccount(name)
  const works = await operator.createKey(id, 'works', null)
  const expired = await operator.createKey(id, 'expired', NOW - 1)
  const revoked = await operator.createKey(id, 'revoked', null)
  await operator.revokeKey(revoked.id)
  const signedInFrom = { requestId: 'r-1', address: '192.0.2.7', userAgent: 'Browser/1.0' }
  await registry.sessions.start(
    { subject: `person of ${name}`, email: null, claims: { groups: ['ü'] } },
    id,
    signedInFrom,
  )
  await registry.sessions.spend([`sign-in of ${name}`])
  // Evicted, and its lease ended: a change need not wait for it.
  const { lease } = await verifiers.begin(await registry.authenticate(works.key), { name: 'till' }, operator.origin())
  await verifiers.evictAny(lease, operator.origin())
  await store.endLease(lease, 1)
  await webhooks(server, id)
  const fields = ['Ä', 'B', 'Suspended', 'Empty'].map((each) => ({
    name: `${name} ${each}`,
    email: `${each.toLowerCase()}@x.example`,
    companyName: `${each} & Söhne`,
  }))
  const owners = await operator.createSubAccounts(id, fields)
  const origin = { ...operator.origin(), requestId: 'r-1', address: '192.0.2.7' }
  await registry.updateSubAccount(operator.actFor(id), owners[2]?.id ?? '', { status: 'suspended' }, origin)
  await registry.portal.create(operator.actFor(id), { subAccountId: owners[0]?.id ?? '', may: ['read'] }, origin)
  return { id, owners, key: works.key, refusedKeys: [expired.key, revoked.key] }
}

async function tokensOf(
  { operator, registry }: Server,
  accountId: string,
  owners: readonly { readonly id: string }[],
  n: number,
) {
  const caller = operator.actFor(accountId)
  const origin = operator.origin()
  const count = n === 2 ? 20 : TOKENS / 2
  const unique = [...new Set(fc.sample(names, 2 * count))].slice(0, count)
  const list = unique.map((name, index) => ({
    accountId,
    subAccountId: owners[index % 3]?.id ?? '',
    name,
    status: index % 5 === 0 ? ('inactive' as const) : ('active' as const),
    expiresAt: index % 7 === 0 ? NOW + (index % 2 === 0 ? HOUR : -HOUR) : null,
    credential: index % 11 === 0 ? `imported-${n}-${index}-${'x'.repeat(30)}` : undefined,
    createdAt: NOW - index * HOUR,
    ...(index % 4 === 0 ? { tags: index % 8 === 0 ? ['red', 'ü "x"'] : ['red'], metadata: { index } } : {}),
    ...(index % 9 === 0 ? { policy: { scopes: ['a', 'b:*'], addresses: ['::/0', '0.0.0.0/0'] } } : {}),
  }))
  const records = await operator.createTokens(list)
  const ids = records.map(({ id }) => id)
  const credentials = await Array.fromAsync(ids, async (id) => (await registry.getToken(caller, id)).credential)
  for (const [index, id] of ids.entries()) {
    if (index % 13 === 1) await registry.updateToken(caller, id, { name: `Renamed ${index} ß` }, origin)
    if (index % 13 === 2) await registry.updateToken(caller, id, { status: 'inactive' }, origin)
    if (index % 13 === 3) await registry.rotateToken(caller, id, index % 2 === 0 ? 3_600 : 0, origin)
    if (index % 13 === 4) await registry.deleteToken(caller, id, origin)
    // All of them, since asking for everything below would be uses too; what is refused stays unused.
    await registry.verification.verify(credentials[index] ?? '', '127.0.0.1')
  }
  const used = records.map(({ id, subAccountId }) => ({ tokenId: id, subAccountId, accountId }))
  return { ids, credentials, used }
}

/** Tokens of a sub-account with a policy, each used a few times. */
async function limited({ operator, registry }: Server, accountId: string): Promise<string[]> {
  const policy = { scopes: ['orders:*'], quota: { limit: 1_000, per: 'ever' } }
  const [owner] = await operator.createSubAccounts(accountId, [
    { name: 'Limited', email: 'l@x.example', companyName: 'L', policy, metadata: { kept: true } },
  ])
  const records = await operator.createTokens(
    [3, 5].map((limit) => ({
      ...{ accountId, subAccountId: owner?.id ?? '', name: `Limited to ${limit}` },
      policy: { quota: { limit, per: 'ever' } },
    })),
  )
  for (const { id } of records) {
    const { credential } = await registry.getToken(operator.actFor(accountId), id)
    for (let n = 0; n < 4; n++) await registry.verification.verify(credential)
  }
  return records.map(({ id }) => id)
}

async function create(url: string, key: string, body: object) {
  const headers = [bearer(key), ['idempotency-key', 'once'] as const]
  return send(url, { method: 'POST', path: '/api/v1/apiClient/token', headers, body })
}

/** Everything the API says of the estate, as it goes over the wire, but for what is of the moment. */
export async function transcript(env: Environment, estate: CopiedEstate): Promise<readonly string[]> {
  return served(env, async ({ url, store }) => {
    // What is verified here is counted nowhere: the next transcript would differ.
    store.addUsage = async () => {}
    const heard: string[] = []
    const ask = async (path: string, credential: string) => void heard.push(await answer(url, path, credential))
    for (const key of estate.refusedKeys) await ask(`${API}/token`, key)
    for (const key of estate.keys) {
      for (const path of listsOf(estate)) await ask(`${API}${path}`, key)
      for (const id of estate.tokenIds.filter((_, n) => n % EVERY < 2))
        await ask(`${API}/token/${id}?include=details`, key)
      for (const id of estate.tokenIds.filter((_, n) => n % (7 * EVERY) < 3))
        await ask(`${API}/token/${id}/history`, key)
    }
    for (const id of estate.limitedIds) await ask(`${API}/token/${id}/explain`, estate.keys[0] ?? '')
    for (const credential of estate.credentials.filter((_, n) => n % 17 < VERIFIED))
      await ask('/api/v1/verify', credential)
    const again = await create(url, estate.keys[0] ?? '', estate.creation)
    return [...heard, again.text]
  })
}

/** Only the lists: what an engine does not copy but make itself, such as counts and search indexes, shows in them. */
export async function lists(env: Environment, estate: CopiedEstate): Promise<readonly string[]> {
  return served(env, ({ url }) =>
    Array.fromAsync(
      estate.keys.flatMap((key) => listsOf(estate).map((path) => ({ key, path }))),
      ({ key, path }) => answer(url, `${API}${path}`, key),
    ),
  )
}

async function answer(url: string, path: string, credential: string): Promise<string> {
  const { status, headers, text } = await send(url, { path, headers: [bearer(credential)] })
  const { date: _, 'x-request-id': __, ...rest } = headers
  return `${path} ${status} ${JSON.stringify(rest)} ${text}`
}

/** Later pages of one list: what the engines make themselves shows on the first page of the others. */
function listsOf({ subAccountIds }: CopiedEstate): string[] {
  const filters = ['page=1', 'page=2', 'page=7', 'status=inactive', 'search=a', 'search=SS', 'search=%25']
  const more = ['search=renamed&status=active', 'tag=red', 'tag=red&tag=%C3%BC%20%22x%22', 'tag=none']
  const owners = subAccountIds.map((id) => `subAccountId=${id}`)
  const tokens = [...filters, ...more, ...owners].map((filter) => `/token?limit=100&include=details&${filter}`)
  const history = [1, 2, 20].map((page) => `/history?limit=100&page=${page}`)
  return [
    ...tokens,
    ...history,
    '/webhook?limit=100',
    '/token/bulk?limit=100',
    '/sub-account?limit=100',
    '/sub-account?search=S%C3%B6hne',
    '/overview',
  ]
}
