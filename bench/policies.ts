// What a policy costs: the same server is asked for tokens without one and for tokens with scopes, addresses and a rate, in turn.
import { prepareEstate, sample, serve, TOKEN } from './estate.ts'
import type { LoadProcess } from './load.ts'
import { type Finding, figureOf, interleave, ratio } from './measure.ts'
import type { Options } from './options.ts'
import { askData, bearer, get, withBody } from './requests.ts'
import { WORK } from './server.ts'

const TOKENS = 200
const POLICY = {
  scopes: ['orders:read', 'items:*'],
  addresses: ['127.0.0.0/8', '2001:db8::/32'],
  rate: { limit: 1_000_000, seconds: 10 },
}

export async function policyCost(options: Options, load: LoadProcess): Promise<Finding> {
  const estate = await prepareEstate(WORK, { name: 'policies', accounts: 1, subAccounts: 10, tokens: TOKENS * 4 })
  const server = await serve('policies', estate)
  const [account] = await sample(server.port, estate.keys, TOKENS * 4)
  const active = account?.tokens.filter(({ status }) => status === 'active') ?? []
  const [plain, restricted] = [active.slice(0, TOKENS), active.slice(TOKENS, TOKENS * 2)]
  for (const { _id } of restricted) {
    const change = withBody('PATCH', `${TOKEN}/${_id}`, bearer(account?.key ?? ''), { policy: POLICY })
    await askData(server.port, change)
  }
  const teach = (name: string, path: string, tokens: typeof active) =>
    load.teach(name, [{ share: 1, status: 204, groups: [tokens.map(({ token }) => get(path, bearer(token)))] }])
  await teach('without policy', '/api/v1/verify', plain)
  await teach('with policy', '/api/v1/verify?scope=items:read', restricted)
  const subjects = ['without policy', 'with policy'].map((name) => ({ name, server, script: name, remembers: true }))
  const found = await interleave(load, subjects, 16, options)
  await server.stop()
  const cost = ratio(found, 'with policy', 'without policy', 'cpuMicros')
  return {
    what: 'verify with scopes, addresses and a rate: CPU against without a policy',
    asked: '≤ 1.25×',
    measured: `${cost.toFixed(2)}× (${figureOf(found, 'with policy', 'cpuMicros').toFixed(1)} µs)`,
    met: cost <= 1.25,
    how: `${TOKENS} tokens of each kind on one server, asked in turn; ?scope=items:read, a rate that is never used up`,
  }
}
