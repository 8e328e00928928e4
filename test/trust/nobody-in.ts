// Every route × method × identity, from the routes that the server really has: a route that nobody has thought about here
// fails, and so does an expectation without a route.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Engine, Estate } from '../support/estate.ts'
import { type Ask, bearer, closeConnections, type Heard } from '../support/http.ts'
import { LOOPBACK } from '../support/webhook-receiver.ts'

const TOKEN = '/api/v1/apiClient/token'
const SUB_ACCOUNT = '/api/v1/apiClient/sub-account'
const KEY = '/api/v1/apiClient/key'
const VERIFIER = '/api/v1/apiClient/verifier'
const BULK = '/api/v1/apiClient/token/bulk'
const GRANT = '/api/v1/apiClient/grant'
const WEBHOOK = '/api/v1/apiClient/webhook'
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** What the owner is told, and what another account is told of the same thing, when `ask` is filled in for the owner. */
interface Guarded {
  readonly ask: (estate: Estate) => (Partial<Ask> & { path: string }) | Promise<Partial<Ask> & { path: string }>
  readonly owner: number
  readonly other: number
  /** The same request for something that does not exist: another account must get its answer to the byte. */
  readonly missing?: string
  /** What it asks for was made for the whole account: a key for some sub-accounts does not see it. */
  readonly ofAll?: true
}

const withToken =
  (more: Partial<Ask> = {}, suffix = '') =>
  async (estate: Estate) => ({
    path: `${TOKEN}/${(await estate.token()).id}${suffix}`,
    ...more,
  })
const ofSubAccount = (path: string, body?: (id: string) => object) => (estate: Estate) => {
  const { id } = estate.mine.subAccounts[0]
  return { path: path.replace(':id', id), ...(body === undefined ? {} : { body: body(id) }) }
}
const NOWHERE = 'tok_019b2f0c5a3c8e1d2c3b4a5f6e7d'

/** Old ones make room, since an account has only so many. Nothing listens there, and nothing happens that it gets. */
async function webhookOf({ running: { operator, registry }, mine }: Estate): Promise<string> {
  const caller = operator.actFor(mine.accountId)
  const { items } = await registry.webhooks.list(caller, { page: 1, limit: 20 })
  const old = items.slice(10).map(({ webhook }) => registry.webhooks.delete(caller, webhook.id, operator.origin()))
  await Promise.all(old)
  const fields = { url: 'http://127.0.0.1:2/', events: ['account.rename'] }
  return (await registry.webhooks.create(caller, fields, operator.origin())).webhook.id
}

const LONG_AGO = { createdBefore: '2000-01-01T00:00:00Z' } as const

/** About nothing, so that all of it is over at once. */
async function bulkOf({ running: { operator, registry }, mine }: Estate): Promise<string> {
  const request = { action: 'disable', filter: LONG_AGO } as const
  return (await registry.bulk.order(operator.actFor(mine.accountId), request, operator.origin())).id
}

export const guarded: Readonly<Record<string, Guarded>> = {
  [`GET ${TOKEN}`]: { ask: () => ({ path: TOKEN }), owner: 200, other: 200 },
  [`POST ${TOKEN}`]: {
    ask: (estate) => ({
      path: TOKEN,
      body: { subAccountId: estate.mine.subAccounts[0].id, name: estate.freshName() },
    }),
    owner: 201,
    other: 403,
  },
  [`GET ${TOKEN}/sub-account/:subAccountId`]: {
    ask: ofSubAccount(`${TOKEN}/sub-account/:id`),
    owner: 200,
    other: 403,
    missing: `${TOKEN}/sub-account/sub_none`,
  },
  [`GET ${TOKEN}/:id`]: { ask: withToken(), owner: 200, other: 404, missing: `${TOKEN}/${NOWHERE}` },
  [`PUT ${TOKEN}/:id`]: {
    ask: withToken({ body: { status: 'inactive' } }),
    owner: 200,
    other: 404,
    missing: `${TOKEN}/${NOWHERE}`,
  },
  [`PATCH ${TOKEN}/:id`]: {
    ask: withToken({ body: { status: 'inactive' } }),
    owner: 200,
    other: 404,
    missing: `${TOKEN}/${NOWHERE}`,
  },
  [`DELETE ${TOKEN}/:id`]: { ask: withToken(), owner: 200, other: 404, missing: `${TOKEN}/${NOWHERE}` },
  [`POST ${TOKEN}/:id/rotate`]: {
    ask: withToken({}, '/rotate'),
    owner: 200,
    other: 404,
    missing: `${TOKEN}/${NOWHERE}/rotate`,
  },
  [`POST ${TOKEN}/:id/reveal`]: {
    ask: withToken({}, '/reveal'),
    owner: 200,
    other: 404,
    missing: `${TOKEN}/${NOWHERE}/reveal`,
  },
  [`GET ${TOKEN}/:id/explain`]: {
    ask: withToken({}, '/explain'),
    owner: 200,
    other: 404,
    missing: `${TOKEN}/${NOWHERE}/explain`,
  },
  [`GET ${TOKEN}/:id/history`]: {
    ask: withToken({}, '/history'),
    owner: 200,
    other: 404,
    missing: `${TOKEN}/${NOWHERE}/history`,
  },
  [`GET ${BULK}`]: { ask: () => ({ path: BULK }), owner: 200, other: 200 },
  [`POST ${BULK}`]: {
    ask: ({ mine }) => ({
      path: BULK,
      body: { action: 'enable', filter: { subAccountId: mine.subAccounts[0].id, ...LONG_AGO } },
    }),
    owner: 202,
    other: 403,
  },
  [`GET ${BULK}/:id`]: {
    ask: async (estate) => ({ path: `${BULK}/${await bulkOf(estate)}` }),
    owner: 200,
    other: 404,
    missing: `${BULK}/blk_none`,
    ofAll: true,
  },
  [`POST ${BULK}/:id/undo`]: {
    ask: async (estate) => ({ path: `${BULK}/${await bulkOf(estate)}/undo` }),
    owner: 202,
    other: 404,
    missing: `${BULK}/blk_none/undo`,
    ofAll: true,
  },
  [`GET ${TOKEN}/:id/usage`]: {
    ask: withToken({}, '/usage'),
    owner: 200,
    other: 404,
    missing: `${TOKEN}/${NOWHERE}/usage`,
  },
  [`GET ${TOKEN}/:id/recent`]: {
    ask: withToken({}, '/recent'),
    owner: 200,
    other: 404,
    missing: `${TOKEN}/${NOWHERE}/recent`,
  },
  'GET /api/v1/apiClient/usage': {
    ask: ofSubAccount('/api/v1/apiClient/usage?subAccountId=:id'),
    owner: 200,
    other: 403,
    missing: '/api/v1/apiClient/usage?subAccountId=sub_none',
  },
  'GET /api/v1/apiClient/history': { ask: () => ({ path: '/api/v1/apiClient/history' }), owner: 200, other: 200 },
  // Without a mistake in it, the answer would not end.
  'GET /api/v1/apiClient/events': {
    ask: () => ({ path: '/api/v1/apiClient/events?after=x' }),
    owner: 400,
    other: 400,
  },
  'GET /api/v1/apiClient/overview': { ask: () => ({ path: '/api/v1/apiClient/overview' }), owner: 200, other: 200 },
  'GET /api/v1/apiClient/whoami': { ask: () => ({ path: '/api/v1/apiClient/whoami' }), owner: 200, other: 200 },
  'GET /api/v1/apiClient/session': { ask: () => ({ path: '/api/v1/apiClient/session' }), owner: 200, other: 200 },
  [`GET ${GRANT}`]: { ask: () => ({ path: GRANT }), owner: 200, other: 200 },
  [`POST ${GRANT}/test`]: {
    ask: () => ({ path: `${GRANT}/test`, body: { claims: { groups: ['support'] } } }),
    owner: 200,
    other: 200,
  },
  'DELETE /api/v1/apiClient/session/:id': {
    ask: () => ({ path: '/api/v1/apiClient/session/ses_none' }),
    owner: 404,
    other: 404,
  },
  'GET /api/v1/apiClient/portal-session': {
    ask: () => ({ path: '/api/v1/apiClient/portal-session' }),
    owner: 200,
    other: 200,
  },
  'DELETE /api/v1/apiClient/portal-session/:id': {
    ask: () => ({ path: '/api/v1/apiClient/portal-session/por_none' }),
    owner: 404,
    other: 404,
  },
  'POST /api/v1/apiClient/portal-session': {
    ask: ({ mine }) => ({
      path: '/api/v1/apiClient/portal-session',
      body: { subAccountId: mine.subAccounts[0].id },
    }),
    owner: 201,
    other: 403,
  },
  [`GET ${SUB_ACCOUNT}`]: { ask: () => ({ path: SUB_ACCOUNT }), owner: 200, other: 200 },
  [`POST ${SUB_ACCOUNT}`]: {
    ask: () => ({ path: SUB_ACCOUNT, body: { name: 'New', email: 'new@new.example', companyName: 'New' } }),
    owner: 201,
    other: 201,
  },
  [`GET ${SUB_ACCOUNT}/:id`]: {
    ask: ofSubAccount(`${SUB_ACCOUNT}/:id`),
    owner: 200,
    other: 403,
    missing: `${SUB_ACCOUNT}/sub_none`,
  },
  [`PATCH ${SUB_ACCOUNT}/:id`]: {
    ask: ofSubAccount(`${SUB_ACCOUNT}/:id`, () => ({ metadata: { changed: true } })),
    owner: 200,
    other: 403,
    missing: `${SUB_ACCOUNT}/sub_none`,
  },
  [`POST ${SUB_ACCOUNT}/:id/policy-impact`]: {
    ask: ofSubAccount(`${SUB_ACCOUNT}/:id/policy-impact`, () => ({ policy: { scopes: [] } })),
    owner: 200,
    other: 403,
    missing: `${SUB_ACCOUNT}/sub_none/policy-impact`,
  },
  [`GET ${KEY}`]: { ask: () => ({ path: KEY }), owner: 200, other: 200 },
  [`POST ${KEY}`]: { ask: () => ({ path: KEY, body: { name: 'New', role: 'viewer' } }), owner: 201, other: 201 },
  [`DELETE ${KEY}/:id`]: {
    ask: async ({ running, mine }) => {
      const permissions = { role: 'viewer', reveal: false, subAccounts: [mine.subAccounts[0].id] } as const
      return { path: `${KEY}/${(await running.operator.createKey(mine.accountId, 'k', null, permissions)).id}` }
    },
    owner: 200,
    other: 404,
    missing: `${KEY}/key_none`,
  },
  [`GET ${VERIFIER}`]: { ask: () => ({ path: VERIFIER }), owner: 200, other: 200 },
  // A lease that began would make later changes wait.
  [`POST ${VERIFIER}/lease`]: {
    ask: () => ({ path: `${VERIFIER}/lease`, body: { lease: 'vfr_none', position: 'none' } }),
    owner: 410,
    other: 410,
  },
  [`POST ${VERIFIER}/verify`]: {
    ask: async (estate) => ({ path: `${VERIFIER}/verify`, body: { credential: (await estate.token()).credential } }),
    owner: 200,
    other: 200,
  },
  [`DELETE ${VERIFIER}/:id`]: { ask: () => ({ path: `${VERIFIER}/vfr_none` }), owner: 404, other: 404 },
  'POST /api/v1/apiClient/leak': {
    ask: async (estate) => ({
      path: '/api/v1/apiClient/leak',
      body: { text: `x ${(await estate.token()).credential} y` },
    }),
    owner: 200,
    other: 200,
  },
  'GET /api/v1/leaks/gitlab/v1/revocable_token_types': {
    ask: () => ({ path: '/api/v1/leaks/gitlab/v1/revocable_token_types' }),
    owner: 200,
    other: 200,
  },
  'POST /api/v1/leaks/gitlab/v1/revoke_tokens': {
    ask: async (estate) => ({
      path: '/api/v1/leaks/gitlab/v1/revoke_tokens',
      body: [{ type: 'gitleaks_rule_id_latchkey-token', token: (await estate.token()).credential, location: '' }],
    }),
    owner: 204,
    other: 204,
  },
  'POST /api/v1/leaks/trufflehog': {
    ask: async (estate) => ({
      path: '/api/v1/leaks/trufflehog',
      body: { latchkey: { token: [(await estate.token()).credential] } },
    }),
    owner: 200,
    other: 403,
  },
  [`GET ${WEBHOOK}`]: { ask: () => ({ path: WEBHOOK }), owner: 200, other: 200 },
  [`POST ${WEBHOOK}`]: { ask: () => ({ path: WEBHOOK, body: { url: 'http://10.0.0.1/' } }), owner: 400, other: 400 },
  ...Object.fromEntries(
    (
      [
        ['GET', ''],
        ['PATCH', '', { status: 'inactive' }],
        ['POST', '/rotate'],
        ['POST', '/test'],
        ['GET', '/deliveries'],
      ] as const
    ).map(([method, rest, body]) => [
      `${method} ${WEBHOOK}/:id${rest}`,
      {
        ask: async (estate: Estate) => ({
          path: `${WEBHOOK}/${await webhookOf(estate)}${rest}`,
          ...(body && { body }),
        }),
        owner: 200,
        other: 404,
        missing: `${WEBHOOK}/whk_none${rest}`,
      },
    ]),
  ),
  [`DELETE ${WEBHOOK}/:id`]: {
    ask: async (estate) => ({ path: `${WEBHOOK}/${await webhookOf(estate)}` }),
    owner: 200,
    other: 404,
    missing: `${WEBHOOK}/whk_none`,
  },
  ...Object.fromEntries(
    ['redeliver', 'skip'].map((change) => [
      `POST ${WEBHOOK}/:id/deliveries/:deliveryId/${change}`,
      { ask: () => ({ path: `${WEBHOOK}/whk_none/deliveries/whk_none_1/${change}` }), owner: 404, other: 404 },
    ]),
  ),
  'POST /oauth2/introspect': {
    ask: async (estate) => ({
      path: '/oauth2/introspect',
      headers: [['content-type', 'application/x-www-form-urlencoded']],
      body: `token=${(await estate.token()).credential}`,
    }),
    owner: 200,
    other: 200,
  },
}

/** Open to all, and the same to all. */
const open: Readonly<Record<string, number>> = {
  '/': 404,
  '/healthz': 200,
  '/readyz': 200,
  '/metrics': 200,
  '/openapi.json': 200,
  '/docs': 200,
  '/docs/': 200,
  '/docs/static/index.html': 302,
  '/docs/static/swagger-initializer.js': 200,
  '/docs/*': 404,
  '/docs/json': 200,
  '/docs/yaml': 200,
  '/auth/session': 200,
  '/console': 308,
  '/console/*': 200,
  '/portal': 308,
  '/portal/*': 404,
}

const VERIFY = '/api/v1/verify'

type Identity = keyof typeof identities
const identities = {
  none: async (): Promise<string | undefined> => undefined,
  garbage: async () => 'lk_key_garbage',
  'a random key of the right form': async () => 'lk_key_0000000000000000000000000000000000000000000000000',
  'an expired key': async ({ mine }: Estate) => mine.expiredKey,
  'a revoked key': async ({ mine }: Estate) => mine.revokedKey,
  'a sub-account’s token': async (estate: Estate) => (await estate.token()).credential,
  'an inactive token': async (estate: Estate) => (await estate.token({ status: 'inactive' })).credential,
  'another account': async ({ theirs }: Estate) => theirs.key,
  'the owner': async ({ mine }: Estate) => mine.key,
}

/** Who is turned away from every guarded route, with what status and message. */
const TURNED_AWAY: Readonly<Partial<Record<Identity, readonly [number, string]>>> = {
  none: [401, 'Authentication required'],
  garbage: [401, 'Invalid token'],
  'a random key of the right form': [401, 'Invalid token'],
  'an expired key': [401, 'Token expired'],
  'a revoked key': [401, 'Invalid token'],
  'a sub-account’s token': [403, 'Forbidden'],
  'an inactive token': [401, 'Token inactive'],
}

interface RealRoute {
  readonly path: string
  readonly methods: readonly string[]
}

/** The server's own table, as it prints it: a tree, each branch the rest of its parent's path. */
function routesOf(printed: string): RealRoute[] {
  const above: string[] = []
  return printed
    .split('\n')
    .filter((line) => line.includes('── '))
    .map((line) => {
      const depth = line.indexOf('── ') / 4
      const [, part = '', methods = ''] = /── (\S+)(?: \((.*)\))?$/.exec(line) ?? []
      above.length = Math.floor(depth)
      // A star stands for a whole part of the path.
      above.push(part === '*' && !above.at(-1)?.endsWith('/') ? '/*' : part)
      return { path: above.join(''), methods: methods.split(', ') }
    })
}

const patternOf = ({ path }: RealRoute) => new RegExp(`^${path.replaceAll('*', '.*').replaceAll(/:\w+/g, '[^/]+')}$`)

export function describeNobodyIn(engine: Engine): void {
  describe(`nobody in, on the ${engine.name} store`, () => {
    let estate: Estate
    let routes: RealRoute[]
    let everybody: readonly (readonly [Identity, string | undefined])[]
    before(async () => {
      estate = await Estate.open(engine, LOOPBACK)
      routes = routesOf(estate.running.server.printRoutes({ commonPrefix: false }))
      await estate.token({ name: 'Something of mine' })
      everybody = await Promise.all(
        Object.entries(identities).map(async ([identity, of]) => [identity as Identity, await of(estate)] as const),
      )
    })
    after(async () => {
      closeConnections()
      await estate.close()
    })

    const askAs = async (ask: Ask, credential: string | undefined): Promise<Heard> =>
      estate.ask({
        ...ask,
        headers: [...(ask.headers ?? []), ...(credential === undefined ? [] : [bearer(credential)])],
      })

    const isGuarded = (path: string) => /^\/(api|oauth2)\//.test(path) && path !== VERIFY

    test('every route of the server has an expectation, and every expectation a route', () => {
      const real = routes.flatMap(({ path, methods }) =>
        methods.filter((method) => method !== 'HEAD').map((method) => `${method} ${path}`),
      )
      const expected = [
        ...Object.keys(guarded),
        ...Object.keys(open).map((path) => `GET ${path}`),
        // Its code is all that it needs: test/http/portal.test.ts.
        'POST /api/v1/portal/session',
        ...METHODS.filter((method) => method !== 'HEAD').map((method) => `${method} ${VERIFY}`),
      ]
      assert.deepEqual(real.sort(), expected.sort())
    })

    test('the table is read rightly: a route that is not there is missed', () => {
      assert.deepEqual(routesOf('└── / (GET, HEAD)\n    └── new (POST)\n        └── /:id (GET)'), [
        { path: '/', methods: ['GET', 'HEAD'] },
        { path: '/new', methods: ['POST'] },
        { path: '/new/:id', methods: ['GET'] },
      ])
    })

    for (const [route, { ask, owner, other, missing }] of Object.entries(guarded)) {
      const [method = '', path = ''] = route.split(' ')
      const methods = method === 'GET' ? ['GET', 'HEAD'] : [method]
      for (const asked of methods) {
        test(`${asked} ${path}: the owner, nobody else, and another account as if it did not exist`, async () => {
          for (const [identity, credential] of everybody) {
            const question = { ...(await ask(estate)), method: asked }
            const heard = await askAs(question, credential)
            const [status, message] = TURNED_AWAY[identity] ?? [identity === 'the owner' ? owner : other]
            assert.equal(heard.status, status, `${identity}: ${heard.text}`)
            if (message !== undefined && asked !== 'HEAD') assert.equal(heard.json.message, message, identity)
            if (identity !== 'the owner') assertNothingOfMine(estate, heard, identity)
          }
        })
      }
      if (missing !== undefined) {
        test(`${method} ${path}: what belongs to another account and what does not exist are the same to the byte`, async () => {
          const theirs = await ask(estate)
          const [foreign, nothing] = [
            await askAs({ ...theirs, method }, estate.theirs.key),
            await askAs({ ...theirs, method, path: missing }, estate.theirs.key),
          ]
          assert.equal(foreign.text, nothing.text)
          assert.deepEqual(comparable(foreign), comparable(nothing))
        })
      }
    }

    test('a method that a guarded route does not have is told to callers only', async () => {
      for (const { path } of routes.filter(({ path }) => isGuarded(path))) {
        // Another route may have this path as one of an id.
        const known = routes.filter((route) => patternOf(route).test(path)).flatMap(({ methods }) => methods)
        for (const method of METHODS.filter((each) => !known.includes(each))) {
          for (const [identity, credential] of everybody) {
            const heard = await askAs({ method, path: path.replaceAll(/:\w+/g, 'x') }, credential)
            assert.equal(heard.status, TURNED_AWAY[identity]?.[0] ?? 405, `${method} ${path} as ${identity}`)
          }
        }
      }
    })

    test('verification says yes to an active token of a sub-account, whatever the method, and to nothing else', async () => {
      for (const method of METHODS) {
        for (const [identity, credential] of everybody) {
          const heard = await askAs({ method, path: VERIFY }, credential)
          const accepted = identity === 'a sub-account’s token'
          assert.equal(heard.status, accepted ? 204 : 401, `${method} as ${identity}`)
          assert.equal('x-latchkey-account-id' in heard.headers, accepted)
        }
      }
    })

    for (const [path, status] of Object.entries(open)) {
      test(`${path} is open to all and tells nothing of anybody`, async () => {
        for (const method of METHODS) {
          for (const [identity, credential] of everybody.filter(([each]) => ['none', 'the owner'].includes(each))) {
            const heard = await askAs({ method, path: path.replace('*', 'x') }, credential)
            // Below /docs there is nothing else, by whatever method.
            const otherwise = path === '/docs/*' ? 404 : 405
            const expected = ['GET', 'HEAD'].includes(method) ? status : otherwise
            assert.equal(heard.status, expected, `${method} as ${identity}`)
            assertNothingOfMine(estate, heard, identity)
          }
        }
      })
    }

    test('no policy, however wide, lets anybody in who was not', async () => {
      const wide = { scopes: ['a:*', 'b'], addresses: ['0.0.0.0/0', '::/0'], rate: { limit: 1_000_000, seconds: 1 } }
      const policy = wide as never
      const dead = [
        await estate.token({ policy, status: 'inactive' }),
        await estate.token({ policy, expiresAt: 1_000 }),
      ].map(({ credential }) => credential)
      const nobodies = everybody.filter(([identity]) => identity !== 'a sub-account’s token').map(([, each]) => each)
      for (const credential of [...dead, ...nobodies]) {
        for (const query of ['', '?scope=b', '?scope=b&scope=a:c']) {
          const heard = await askAs({ path: `${VERIFY}${query}` }, credential)
          assert.equal(heard.status, 401)
          for (const header of ['x-latchkey-scopes', 'ratelimit', 'ratelimit-policy']) {
            assert.equal(heard.headers[header], undefined, header)
          }
        }
      }
    })

    test('introspection tells the owner alone that a token is active', async () => {
      const question = { ...(await guarded['POST /oauth2/introspect']?.ask(estate)), method: 'POST' } as Ask
      assert.equal((await askAs(question, estate.mine.key)).json.active, true)
      assert.equal((await askAs(question, estate.theirs.key)).text, '{"active":false}')
    })
  })
}

function assertNothingOfMine({ mine, secrets }: Estate, { text, headers }: Heard, identity: string): void {
  const said = text + JSON.stringify(headers)
  const own = [mine.accountId, mine.key, ...mine.subAccounts.flatMap(({ id, name, email }) => [id, name, email])]
  for (const each of [...own, ...secrets, 'Something of mine']) assert.ok(!said.includes(each), `${identity}: ${each}`)
}

function comparable({ status, headers }: Heard): object {
  return { status, ...headers, 'x-request-id': '', date: '' }
}
