// Sessions of the portal: what they may do and what they may not, for how long, from where, and what the history says of them.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { PORTAL_USES, type PortalUse } from '../../src/tokens/model/permissions.ts'
import { CODE_MINUTES } from '../../src/tokens/portal/session.ts'
import { type Engine, Estate, sqliteEngine } from '../support/estate.ts'
import { type Ask, bearer, closeConnections, type Heard } from '../support/http.ts'
import { postgresEngine } from '../support/postgres.ts'
import { LOOPBACK } from '../support/webhook-receiver.ts'
import { guarded } from '../trust/nobody-in.ts'

const SESSION = '/api/v1/apiClient/portal-session'
const BEGIN = '/api/v1/portal/session'
const TOKEN = '/api/v1/apiClient/token'
const APP = 'https://app.example.com'
const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Every route that is open to a session, and what it has to be for. */
const USES: Readonly<Record<string, PortalUse>> = {
  [`GET ${TOKEN}`]: 'read',
  [`GET ${TOKEN}/sub-account/:subAccountId`]: 'read',
  [`GET ${TOKEN}/:id`]: 'read',
  [`POST ${TOKEN}`]: 'create',
  [`POST ${TOKEN}/:id/rotate`]: 'rotate',
  [`PUT ${TOKEN}/:id`]: 'disable',
  [`GET ${TOKEN}/:id/usage`]: 'usage',
  [`GET ${TOKEN}/:id/recent`]: 'usage',
  'GET /api/v1/apiClient/usage': 'usage',
}

/** Callers of other kinds than account keys and people. */
const NEVER = ['POST /oauth2/introspect', 'POST /api/v1/leaks/trufflehog', 'POST /api/v1/leaks/gitlab/v1/revoke_tokens']

interface Begun {
  readonly session: string
  readonly expiresAt: string
  readonly may: readonly PortalUse[]
}

function describePortal(engine: Engine): void {
  describe(`the portal, on the ${engine.name} store`, () => {
    let estate: Estate
    const clock = { offset: 0 }
    const now = () => Date.now() + clock.offset
    before(async () => {
      estate = await Estate.open(engine, LOOPBACK, now)
    })
    after(async () => {
      closeConnections()
      await estate.close()
    })

    const own = () => estate.mine.subAccounts[0].id
    const create = (fields: object = {}, key = estate.mine.key): Promise<Heard> =>
      estate.ask({ method: 'POST', path: SESSION, body: { subAccountId: own(), ...fields }, headers: [bearer(key)] })
    const codeOf = async (fields: object = {}, key?: string): Promise<string> => {
      const heard = await create(fields, key)
      assert.equal(heard.status, 201, heard.text)
      const { code, url } = heard.json.data
      assert.equal(url, `/portal/#code=${code}`)
      estate.secrets.add(code)
      return code
    }
    const begin = (code: string, headers: Ask['headers'] = []) =>
      estate.ask({ method: 'POST', path: BEGIN, body: { code }, headers })
    const begun = async (fields: object = {}, key?: string, headers?: Ask['headers']): Promise<Begun> => {
      const heard = await begin(await codeOf(fields, key), headers)
      assert.equal(heard.status, 200, heard.text)
      estate.secrets.add(heard.json.data.session)
      return heard.json.data
    }
    const askAs = ({ session }: Begun, ask: Ask) =>
      estate.ask({ ...ask, headers: [...(ask.headers ?? []), bearer(session)] })
    const keyOf = async (
      role: 'owner' | 'manager' | 'viewer',
      fields: { subAccounts?: string[]; endsIn?: number } = {},
    ) => {
      const { subAccounts = null, endsIn } = fields
      const expiresAt = endsIn === undefined ? null : now() + endsIn
      const { operator } = estate.running
      return operator.createKey(estate.mine.accountId, role, expiresAt, { role, reveal: true, subAccounts })
    }

    test('a session is for what it says, and for nothing else, on every route', async () => {
      for (const may of [...PORTAL_USES.map((use) => [use]), PORTAL_USES]) {
        const session = await begun({ may })
        assert.deepEqual(session.may, may)
        for (const [route, { ask, owner }] of Object.entries(guarded)) {
          const [method = ''] = route.split(' ')
          const heard = await askAs(session, { ...(await ask(estate)), method })
          const use = USES[route]
          const isOpen = use !== undefined && may.includes(use)
          const refused = NEVER.includes(route) || route.startsWith('GET /api/v1/leaks') ? 401 : 403
          assert.equal(heard.status, isOpen ? owner : refused, `${route} for ${may}: ${heard.text}`)
          if (refused === 403 && !isOpen) assert.equal(heard.headers['x-latchkey-error'], 'not-allowed')
        }
      }
    })

    test('it sees its sub-account only, no credential but new ones, and no metadata', async () => {
      const session = await begun()
      const mine = await estate.token({ metadata: { risk: 'high' }, name: 'Shown in the portal' })
      const [, other] = estate.mine.subAccounts
      const { id: foreign } = await estate.token({ subAccountId: other.id })
      const list = await askAs(session, { path: `${TOKEN}?include=details&search=Shown%20in%20the` })
      const [shown] = list.json.data.items
      assert.equal(shown._id, mine.id)
      assert.match(shown.token, /^lk_tok_…....$/)
      assert.equal(shown.details.metadata, null)
      const csv = await askAs(session, { path: `${TOKEN}?format=csv` })
      assert.ok(csv.text.includes('Shown in the portal') && !csv.text.includes('risk'), csv.text)
      for (const { text } of [list, csv]) assert.ok(!text.includes(mine.credential) && !text.includes(foreign))
      const missing = await askAs(session, { path: `${TOKEN}/tok_none` })
      for (const path of [`${TOKEN}/${foreign}`, `${TOKEN}/${foreign}/usage`]) {
        const heard = await askAs(session, { path })
        assert.deepEqual([heard.status, heard.text], [404, missing.text])
      }
      const body = { subAccountId: other.id, name: 'Elsewhere' }
      assert.equal((await askAs(session, { method: 'POST', path: TOKEN, body })).status, 403)
      const made = await askAs(session, {
        method: 'POST',
        path: TOKEN,
        body: { subAccountId: own(), name: 'Made there' },
      })
      assert.match(made.json.data.token, /^lk_tok_[0-9A-Za-z]{49}$/)
      assert.match((await askAs(session, { path: `${TOKEN}/${made.json.data._id}` })).json.data.token, /^lk_tok_…....$/)
    })

    test('how and from where a token was used is for sessions with `usage` only: in details, filters, orders and CSV', async () => {
      const [reading, both] = [await begun({ may: ['read'] }), await begun({ may: ['read', 'usage'] })]
      const { id, credential } = await estate.token()
      assert.equal((await estate.ask({ path: '/api/v1/verify', headers: [bearer(credential)] })).status, 204)
      const rotated = { method: 'POST', path: `${TOKEN}/${id}/rotate`, body: { overlapSeconds: 3_600 } }
      assert.equal((await estate.mineAsks(rotated)).status, 200)
      assert.equal((await estate.ask({ path: '/api/v1/verify', headers: [bearer(credential)] })).status, 204)
      await estate.running.registry.verification.flush()
      const useIn = async (session: Begun) => {
        const { details } = (await askAs(session, { path: `${TOKEN}/${id}?include=details` })).json.data
        const { lastUsedAt, usage, formerCredentialLastUsedAt, formerCredentialLastUsedFrom } = details
        return [lastUsedAt !== null, usage.day, formerCredentialLastUsedAt !== null, formerCredentialLastUsedFrom]
      }
      assert.deepEqual(await useIn(both), [true, 2, true, '127.0.0.1'])
      assert.deepEqual(await useIn(reading), [false, 0, false, null])
      for (const query of [
        'used=never',
        'idleDays=1',
        'sort=lastUsedAt',
        'sort=-lastUsedAt',
        'format=csv&used=never',
      ]) {
        for (const path of [`${TOKEN}?${query}`, `${TOKEN}/sub-account/${own()}?${query}`]) {
          const [closed, open] = [await askAs(reading, { path }), await askAs(both, { path })]
          assert.deepEqual([closed.status, open.status], [403, 200], path)
          assert.equal(closed.headers['x-latchkey-error'], 'not-allowed')
        }
      }
      const lineIn = async (session: Begun) => {
        const { text } = await askAs(session, { path: `${TOKEN}?format=csv` })
        const [header = '', ...lines] = text.split('\r\n')
        return lines.find((line) => line.startsWith(id))?.split(',')[header.split(',').indexOf('lastUsedAt')]
      }
      assert.notEqual(await lineIn(both), '')
      assert.equal(await lineIn(reading), '')
    })

    test('it disables, at once, and changes nothing else: what was disabled stays so', async () => {
      const session = await begun({ may: ['disable'] })
      const { id, credential, name } = await estate.token()
      const put = (body: object) => askAs(session, { method: 'PUT', path: `${TOKEN}/${id}`, body })
      const verify = async () => (await estate.ask({ path: '/api/v1/verify', headers: [bearer(credential)] })).status
      for (const body of [{ name: 'Other' }, { status: 'active' }, { status: 'inactive', name: 'Other' }]) {
        const heard = await put(body)
        assert.deepEqual([heard.status, heard.headers['x-latchkey-error']], [403, 'not-allowed'])
      }
      assert.equal(await verify(), 204)
      const off = await put({ status: 'inactive' })
      assert.deepEqual([off.status, off.json.data.status, off.json.data.name], [200, 'inactive', name])
      assert.equal(await verify(), 401)
      assert.equal((await put({ status: 'active' })).status, 403)
    })

    test('a code works once, for the first who presents it, within 15 minutes, and is no session', async () => {
      const code = await codeOf()
      const outcomes = await Promise.all([1, 2, 3].map(() => begin(code)))
      assert.deepEqual(outcomes.map(({ status }) => status).sort(), [200, 401, 401])
      assert.equal((await begin(code)).status, 401)
      const other = await codeOf()
      for (const path of [TOKEN, `${TOKEN}/tok_none`]) {
        assert.equal((await estate.ask({ path, headers: [bearer(other)] })).status, 401)
      }
      const { session } = await begun()
      for (const wrong of [
        session,
        `${other}A`,
        other.slice(0, -1),
        'lk_portal_',
        'lk_portal_AAAA',
        '',
        'x',
        estate.mine.key,
      ]) {
        assert.equal((await begin(wrong)).status, 401, wrong)
      }
      clock.offset += CODE_MINUTES * MINUTE
      const late = await begin(other)
      clock.offset -= CODE_MINUTES * MINUTE
      assert.deepEqual([late.status, late.json.message], [401, 'Token expired'])
      assert.equal((await begin(other)).status, 200)
    })

    test('a session ends when it says, an hour after it was made unless asked otherwise', async () => {
      const madeAt = now()
      const [usual, short] = [await begun(), await begun({ expiresInSeconds: 90 })]
      const lasts = ({ expiresAt }: Begun) => Math.round((Date.parse(expiresAt) - madeAt) / 10_000) * 10_000
      assert.deepEqual([lasts(usual), lasts(short)], [HOUR, 90_000])
      clock.offset += 2 * MINUTE
      const [open, over] = [await askAs(usual, { path: TOKEN }), await askAs(short, { path: TOKEN })]
      clock.offset -= 2 * MINUTE
      assert.equal(open.status, 200)
      assert.deepEqual([over.status, over.json.message], [401, 'Token expired'])
    })

    test('a session ends with the key that has made it: at once when the key is revoked, also what it has begun', async () => {
      const { id, key } = await keyOf('manager')
      const [session, unused] = [await begun({}, key), await codeOf({}, key)]
      assert.equal((await askAs(session, { path: TOKEN })).status, 200)
      const token = await estate.token()
      const caller = estate.running.operator.actFor(estate.mine.accountId)
      const portal = estate.running.registry.portal
      const admitted = await portal.admit(await portal.open('session', session.session), () => undefined)
      await estate.running.registry.keys.revoke(caller, id, estate.running.operator.origin())
      assert.equal((await askAs(session, { path: TOKEN })).status, 401)
      assert.equal((await begin(unused)).status, 401)
      // As a request does whose key was revoked after the request was let in.
      const { by, authority } = admitted
      const origin = { by, authority, at: now(), requestId: null, address: null }
      const change = estate.running.registry.updateToken(admitted, token.id, { status: 'inactive' }, origin)
      await assert.rejects(change, { code: 'token-invalid' })
    })

    test('no session can do more or last longer than its maker', async () => {
      const [, other] = estate.mine.subAccounts
      const [viewer, scoped, short] = [
        await keyOf('viewer'),
        await keyOf('manager', { subAccounts: [other.id] }),
        await keyOf('owner', { endsIn: 10 * MINUTE }),
      ]
      assert.equal((await create({}, viewer.key)).status, 403)
      const foreign = await create({}, scoped.key)
      assert.deepEqual(
        [foreign.status, foreign.text],
        [403, (await create({ subAccountId: 'sub_none' }, scoped.key)).text],
      )
      assert.equal((await create({ subAccountId: other.id }, scoped.key)).status, 201)
      assert.equal((await create({ subAccountId: estate.theirs.subAccounts[0].id })).status, 403)
      const within = await begun({}, short.key)
      assert.ok(Date.parse(within.expiresAt) <= now() + 10 * MINUTE)
      const longer = await create({ expiresInSeconds: 3_600 }, short.key)
      assert.equal(longer.status, 400)
      assert.match(longer.json.error.message, /^expiresInSeconds .*\d\dZ/)
      // No session makes others, and no key.
      const session = await begun()
      assert.equal((await create({}, session.session)).status, 403)
    })

    test('bad requests change nothing and say what is wrong', async () => {
      for (const [fields, message] of [
        [{ subAccountId: undefined }, /^subAccountId is required/],
        [{ may: [] }, /^may .*read, create/],
        [{ may: ['read', 'read'] }, /^may must/],
        [{ may: ['delete'] }, /^may must/],
        [{ may: 'read' }, /^may must/],
        [{ origin: 'https://app.example.com/' }, /^origin .*https:\/\/app\.example\.com$/],
        [{ origin: 'null' }, /^origin must/],
        [{ origin: 'file:///x' }, /^origin must/],
        [{ origin: 'https://App.example.com' }, /^origin must/],
        [{ expiresInSeconds: 0 }, /^expiresInSeconds .*1 to 86400$/],
        [{ expiresInSeconds: 86_401 }, /^expiresInSeconds must/],
        [{ expiresInSeconds: 1.5 }, /^expiresInSeconds must/],
        [{ expires: 1 }, /expires/],
      ] as const) {
        const heard = await create(fields)
        assert.equal(heard.status, 400, heard.text)
        assert.match(heard.json.error.message, message)
      }
      for (const body of [{}, { code: 1 }, { code: 'x', more: 1 }, '{']) {
        const headers = [['content-type', 'application/json']] as const
        assert.equal(
          (await estate.ask({ method: 'POST', path: BEGIN, body: JSON.stringify(body), headers })).status,
          400,
        )
      }
    })

    test('pages of its origin may use it and read the answers, and no other page', async () => {
      const from = (origin: string, ...more: [string, string][]) => [['origin', origin] as const, ...more]
      const code = await codeOf({ origin: APP })
      const elsewhere = await begin(code, from('https://evil.example'))
      assert.deepEqual(
        [elsewhere.status, elsewhere.headers['x-latchkey-error'], allowed(elsewhere)],
        [403, 'forbidden', undefined],
      )
      assert.ok(elsewhere.json.error.message.includes(APP))
      const there = await begin(code, from(APP))
      assert.deepEqual([there.status, allowed(there), there.headers.vary], [200, APP, 'Origin'])
      assert.deepEqual([allowed(await begin(code, from(APP)))], [APP])
      const session: Begun = there.json.data
      estate.secrets.add(session.session)
      const { id } = await estate.token()
      const put: Ask = { method: 'PUT', path: `${TOKEN}/${id}`, body: { status: 'inactive' } }
      for (const ask of [{ path: TOKEN }, put]) {
        for (const headers of [
          from('https://evil.example'),
          from('null'),
          from(`${APP}:8443`),
          from(APP.replace('https', 'http')),
          [['sec-fetch-site', 'same-origin'] as const],
          [['sec-fetch-site', 'none'] as const],
        ]) {
          const heard = await askAs(session, { ...ask, headers })
          assert.deepEqual([heard.status, allowed(heard)], [403, undefined], JSON.stringify(headers))
        }
      }
      const token = await estate.mineAsks({ path: `${TOKEN}/${id}` })
      assert.equal(token.json.data.status, 'active')
      const heard = await askAs(session, { ...put, headers: from(APP, ['sec-fetch-site', 'cross-site']) })
      assert.deepEqual([heard.status, allowed(heard)], [200, APP])
      assert.match(String(heard.headers['access-control-expose-headers']), /X-Latchkey-Error/)
      assert.equal(heard.headers['access-control-allow-credentials'], undefined)
      // A program, which names no origin.
      assert.equal((await askAs(session, { path: TOKEN })).status, 200)
      clock.offset += 2 * HOUR
      const over = await askAs(session, { path: TOKEN, headers: from(APP) })
      clock.offset -= 2 * HOUR
      assert.deepEqual([over.status, allowed(over)], [401, APP])
      // Other callers get none.
      const keys = await estate.mineAsks({ path: TOKEN, headers: from(APP) })
      assert.deepEqual([keys.status, allowed(keys)], [200, undefined])
    })

    test('preflights are answered for every origin, on the paths of the portal, and for nothing else', async () => {
      const origin = 'https://never-seen.example'
      const ask = (path: string, more: Ask['headers'] = [['access-control-request-method', 'PUT']]) =>
        estate.ask({ method: 'OPTIONS', path, headers: [['origin', origin], ...more] })
      for (const path of [TOKEN, `${TOKEN}/tok_1?x=y`, BEGIN]) {
        const heard = await ask(path)
        assert.deepEqual([heard.status, allowed(heard), heard.headers.vary], [204, origin, 'Origin'])
        assert.match(String(heard.headers['access-control-allow-headers']), /authorization.*if-match/)
        assert.equal(heard.headers['access-control-allow-credentials'], undefined)
      }
      for (const path of ['/api/v1/verify', '/oauth2/introspect', '/auth/session', '/metrics', '/']) {
        assert.equal(allowed(await ask(path)), undefined, path)
      }
      assert.equal((await ask(TOKEN, [])).status, 401)
    })

    test('the history says who has made the session, and of each change in which session it was made', async () => {
      const session = await begun({ may: ['create'], origin: APP })
      const body = { subAccountId: own(), name: estate.freshName() }
      const made = await askAs(session, { method: 'POST', path: TOKEN, body })
      assert.equal(made.status, 201, made.text)
      const { items } = (await estate.mineAsks({ path: `/api/v1/apiClient/history?subAccountId=${own()}&limit=2` }))
        .json.data
      const [change, opened] = items
      assert.deepEqual([change.action, opened.action], ['token.create', 'sub-account.portal'])
      const { session: id, ...facts } = opened.to
      assert.deepEqual(facts, { may: ['create'], origin: APP, expiresAt: session.expiresAt })
      assert.match(id, /^por_[0-9a-f]{28}$/)
      assert.deepEqual([change.by, opened.subject], [`portal:${id}`, own()])
    })

    test('an idempotency key of a session is its own', async () => {
      const [one, two] = [await begun(), await begun()]
      const ask = (name: string): Ask => ({
        ...{ method: 'POST', path: TOKEN, headers: [['idempotency-key', 'once']] },
        body: { subAccountId: own(), name },
      })
      const first = await askAs(one, ask('Once'))
      const again = await askAs(one, ask('Once'))
      assert.deepEqual([first.status, again.status], [201, 201])
      assert.equal(again.json.data._id, first.json.data._id)
      assert.equal((await askAs(one, ask('Other'))).status, 409)
      assert.equal((await askAs(two, ask('Another'))).status, 201)
    })

    test('no code and no session is in the log or at rest', async () => {
      assert.deepEqual(await estate.whereSecretsLie(), [])
    })
  })
}

const allowed = ({ headers }: Heard) => headers['access-control-allow-origin']

describePortal(sqliteEngine)
describePortal(postgresEngine)

test('the link to the portal has the address of the service where it is set, with or without sign-in', async () => {
  const estate = await Estate.open(sqliteEngine, { LATCHKEY_PUBLIC_URL: 'https://tokens.example.com' })
  const body = { subAccountId: estate.mine.subAccounts[0].id }
  const heard = await estate.mineAsks({ method: 'POST', path: SESSION, body })
  const { code, url } = heard.json.data
  closeConnections()
  await estate.close()
  assert.equal(url, `https://tokens.example.com/portal/#code=${code}`)
})
