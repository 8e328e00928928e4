// The rest of a token's life, its sub-account's, and the record of both: decisions part 9.
import assert from 'node:assert/strict'
import type { Estate } from '../support/estate.ts'
import { type Ask, bearer } from '../support/http.ts'
import { unknownTokens } from './list.scenarios.ts'
import {
  invalid,
  invalidFields,
  NOT_FOUND,
  NOT_YOURS,
  playedOnce,
  refusal,
  type Scenario,
  success,
} from './scenario.ts'

const TOKEN = '/api/v1/apiClient/token'
const STEERING = /^name .*control/
const NOT_AN_OVERLAP = /^overlapSeconds .*0 to 2592000$/
const NO_TIME = /^expiresAt .*2030-01-31T12:00:00Z$/
const SUB_ACCOUNT = '/api/v1/apiClient/sub-account'

const mine = (estate: Estate, ask: Ask): Ask => ({ ...ask, headers: [bearer(estate.mine.key), ...(ask.headers ?? [])] })
const create = (estate: Estate, fields: object, ...headers: (readonly [string, string])[]): Ask =>
  mine(estate, {
    method: 'POST',
    path: TOKEN,
    headers,
    body: { subAccountId: estate.mine.subAccounts[0].id, name: estate.freshName(), ...fields },
  })
const verified = async (estate: Estate, credential: string) =>
  (await estate.ask({ path: '/api/v1/verify', headers: [bearer(credential)] })).status

const badCreations: readonly [string, object, RegExp][] = [
  ['without a name', { name: undefined }, /^name is required/],
  ['without a sub-account', { subAccountId: undefined }, /^subAccountId is required/],
  ['with an empty name', { name: ' ' }, /^name .*empty/],
  ['with a bad status', { status: 'paused' }, /^status .*active or inactive/],
  ['with a time that is none', { expiresAt: 'tomorrow' }, NO_TIME],
  ['with a time without a zone', { expiresAt: '2030-01-31T12:00:00' }, NO_TIME],
  ['with a number as time', { expiresAt: 5 }, NO_TIME],
  ['with a control character in its name', { name: 'a\u0007' }, STEERING],
  ['with a number as sub-account', { subAccountId: 5 }, /^subAccountId .*string/],
]

const tokenScenarios: readonly Scenario[] = [
  {
    name: 'a created token is answered with 201, whole, and authenticates at once',
    ask: (estate) => create(estate, { name: 'Created' }),
    status: 201,
    async body(heard, estate) {
      const { _id, token, createdAt, ...rest } = heard.json.data
      assert.match(_id, /^tok_[0-9a-f]{28}$/)
      assert.match(token, /^lk_tok_[0-9A-Za-z]{49}$/)
      assert.match(createdAt, /Z$/)
      const { id, name, email, companyName } = estate.mine.subAccounts[0]
      assert.deepEqual(rest, { name: 'Created', status: 'active', subAccount: { _id: id, name, email, companyName } })
      assert.equal(heard.json.message, 'API token created successfully')
      assert.equal(heard.json.show_message, 1)
      assert.equal(await verified(estate, token), 204)
    },
  },
  {
    name: 'a token can be created inactive, and with an end',
    ask: (estate) => create(estate, { status: 'inactive', expiresAt: '2030-01-31T12:00:00+02:00' }),
    status: 201,
    async body(heard, estate) {
      const again = await estate.mineAsks({ path: `${TOKEN}/${heard.json.data._id}?include=details` })
      assert.equal(again.json.data.details.expiresAt, '2030-01-31T10:00:00.000Z')
      assert.equal(heard.json.data.status, 'inactive')
    },
  },
  ...badCreations.map(
    ([what, fields, reason]): Scenario => ({
      name: `creation ${what} is refused`,
      ask: (estate) => create(estate, fields),
      status: 400,
      body: invalidFields(reason),
    }),
  ),
  {
    name: 'creation under another account’s sub-account is refused as under an unknown one',
    ask: (estate) => create(estate, { subAccountId: estate.theirs.subAccounts[0].id }),
    status: 403,
    body: NOT_YOURS,
  },
  {
    name: 'creation with a taken name is refused',
    async ask(estate) {
      return create(estate, { name: (await estate.token()).name })
    },
    status: 400,
    asksEngine: true,
    body: refusal('duplicate-name'),
  },
  {
    name: 'a retry with the same Idempotency-Key returns the same token',
    async ask(estate) {
      const ask = create(estate, { name: 'Once' }, ['idempotency-key', 'retry-1'])
      assert.equal((await estate.ask(ask)).status, 201)
      return ask
    },
    status: 201,
    async body(heard, estate) {
      const found = await estate.mineAsks({ path: `${TOKEN}?search=Once` })
      assert.deepEqual(found.json.data.items, [heard.json.data])
    },
  },
  {
    name: 'the same Idempotency-Key with another body is an error, and makes nothing',
    async ask(estate) {
      await estate.ask(create(estate, {}, ['idempotency-key', 'retry-2']))
      return create(estate, { name: 'Other body' }, ['idempotency-key', 'retry-2'])
    },
    status: 409,
    async body(heard, estate) {
      refusal('idempotency-conflict')(heard)
      const found = await estate.mineAsks({ path: `${TOKEN}?search=Other+body` })
      assert.equal(found.json.data.total, 0)
    },
  },
  {
    name: "another caller's Idempotency-Key is free: nobody learns that it was used, or can take it",
    async ask(estate) {
      const { mine: owner, running, secrets } = estate
      const [scope] = owner.subAccounts
      const permissions = { role: 'manager', reveal: false, subAccounts: [scope.id] } as const
      const { key } = await running.operator.createKey(owner.accountId, 'Scoped', null, permissions)
      secrets.add(key)
      const first = await estate.ask(create(estate, {}, ['idempotency-key', 'retry-3']))
      assert.equal(first.status, 201)
      const headers = [bearer(key), ['idempotency-key', 'retry-3']] as const
      return { ...create(estate, { name: 'Of another caller' }), headers }
    },
    status: 201,
    body: ({ json }, { secrets }) => void secrets.add(json.data.token),
  },
  {
    name: 'a deleted token is gone, and its name free',
    async ask(estate) {
      const token = await estate.token({ name: 'To delete' })
      const gone = await estate.mineAsks({ method: 'DELETE', path: `${TOKEN}/${token.id}` })
      assert.equal(gone.text, JSON.stringify(success('API token deleted successfully', { _id: token.id }, 1)))
      assert.equal((await estate.mineAsks({ path: `${TOKEN}/${token.id}` })).text, JSON.stringify(NOT_FOUND))
      return create(estate, { name: 'To delete' })
    },
    status: 201,
  },
  {
    name: 'a stale If-Match does not delete',
    async ask(estate) {
      const token = await estate.token({ name: 'Kept by If-Match' })
      return mine(estate, { method: 'DELETE', path: `${TOKEN}/${token.id}`, headers: [['if-match', '"2"']] })
    },
    status: 412,
    async body(_, estate) {
      const found = await estate.mineAsks({ path: `${TOKEN}?search=Kept+by+If-Match` })
      assert.equal(found.json.data.total, 1)
    },
  },
  {
    name: 'rotation without overlap ends the former credential at once, and keeps id and name',
    async ask(estate) {
      const { id } = await estate.token({ name: 'Rotated', credential: 'rotate-me' })
      return mine(estate, { method: 'POST', path: `${TOKEN}/${id}/rotate` })
    },
    status: 200,
    async body(heard, estate) {
      assert.equal(heard.json.message, 'API token rotated successfully')
      const found = await estate.mineAsks({ path: `${TOKEN}?search=Rotated` })
      assert.deepEqual(found.json.data.items, [heard.json.data])
      assert.equal(await verified(estate, 'rotate-me'), 401)
      assert.equal(await verified(estate, heard.json.data.token), 204)
    },
    headers: { etag: '"2"' },
  },
  {
    name: 'with an overlap both credentials work, and disabling the token ends both',
    async ask(estate) {
      const { id } = await estate.token({ credential: 'rotate-slowly' })
      return mine(estate, { method: 'POST', path: `${TOKEN}/${id}/rotate`, body: { overlapSeconds: 600 } })
    },
    status: 200,
    async body(heard, estate) {
      const { _id, token } = heard.json.data
      assert.deepEqual([await verified(estate, 'rotate-slowly'), await verified(estate, token)], [204, 204])
      await estate.mineAsks({ method: 'PUT', path: `${TOKEN}/${_id}`, body: { status: 'inactive' } })
      assert.deepEqual([await verified(estate, 'rotate-slowly'), await verified(estate, token)], [401, 401])
    },
  },
  ...[-1, 1.5, '60', 2_592_001, null].map(
    (overlapSeconds): Scenario => ({
      name: `an overlap of ${JSON.stringify(overlapSeconds)} seconds is refused`,
      async ask(estate) {
        const { id } = await estate.token()
        return mine(estate, { method: 'POST', path: `${TOKEN}/${id}/rotate`, body: { overlapSeconds } })
      },
      status: 400,
      body(heard) {
        invalidFields(NOT_AN_OVERLAP)(heard)
        const { message, details } = heard.json.error
        assert.deepEqual(details, [{ field: 'overlapSeconds', message }])
      },
    }),
  ),
  {
    name: 'a stale If-Match does not rotate',
    async ask(estate) {
      const { id } = await estate.token({ credential: 'not-yet-rotated' })
      return mine(estate, { method: 'POST', path: `${TOKEN}/${id}/rotate`, headers: [['if-match', '"2"']] })
    },
    status: 412,
    async body(_heard, estate) {
      assert.equal(await verified(estate, 'not-yet-rotated'), 204)
    },
  },
  ...[7, [5], null].map(
    (body): Scenario => ({
      name: `a rotation with the body ${JSON.stringify(body)} is refused`,
      async ask(estate) {
        const { id } = await estate.token()
        return mine(estate, { method: 'POST', path: `${TOKEN}/${id}/rotate`, body })
      },
      status: 400,
      body: invalid(/body .*object/),
    }),
  ),
  ...playedOnce(
    ['DELETE ', 'POST /rotate', 'GET /history'].flatMap((verb) =>
      unknownTokens().map(
        ({ name, id }): Scenario => ({
          name: `${verb.trim()} of ${name} is answered as not found`,
          async ask(estate) {
            // Another kind's id, a long one and the like have no history either.
            const [method = '', rest = ''] = verb.split(' ')
            return mine(estate, { method, path: `${TOKEN}/${await id(estate)}${rest}` })
          },
          status: 404,
          body: NOT_FOUND,
        }),
      ),
    ),
  ),
  {
    name: 'details are added only on request, and tell what blocks a token',
    async ask(estate) {
      return mine(estate, { path: `${TOKEN}/${(await estate.token({ expiresAt: 5000 })).id}?include=details` })
    },
    status: 200,
    body: (heard) =>
      assert.deepEqual(heard.json.data.details, {
        expiresAt: '1970-01-01T00:00:05.000Z',
        lastUsedAt: null,
        usage: { day: 0, week: 0, month: 0 },
        version: 1,
        formerCredentialUntil: null,
        formerCredentialLastUsedAt: null,
        formerCredentialLastUsedFrom: null,
        effectiveStatus: 'expired',
        blockedBy: 'expiry',
        credentialUnreadable: false,
        metadata: null,
        tags: [],
        policy: null,
      }),
  },
  {
    name: 'last use is told after it was flushed, and changes neither version nor ETag',
    async ask(estate) {
      const token = await estate.token()
      assert.equal(await verified(estate, token.credential), 204)
      await estate.running.registry.verification.uses.flush()
      return mine(estate, { path: `${TOKEN}/${token.id}?include=details` })
    },
    status: 200,
    headers: { etag: '"1"' },
    body: (heard) => assert.match(heard.json.data.details.lastUsedAt, /Z$/),
  },
  {
    name: 'include of anything else is refused',
    ask: (estate) => mine(estate, { path: `${TOKEN}?include=everything` }),
    status: 400,
    body: invalid(/^include .*details/),
  },
]

const subAccountScenarios: readonly Scenario[] = [
  {
    name: 'a sub-account is created, and shown with its counts',
    ask: (estate) =>
      mine(estate, {
        method: 'POST',
        path: SUB_ACCOUNT,
        body: { name: ' New ', email: 'n@x.example', companyName: 'N' },
      }),
    status: 201,
    body(heard) {
      const { _id, createdAt, ...rest } = heard.json.data
      assert.match(_id, /^sub_/)
      assert.match(createdAt, /Z$/)
      assert.deepEqual(rest, {
        name: 'New',
        email: 'n@x.example',
        companyName: 'N',
        status: 'active',
        suspendedAt: null,
        tokens: { active: 0, inactive: 0 },
        policy: null,
        metadata: null,
      })
    },
  },
  ...(
    [
      [{ name: undefined }, /^name is required/],
      [{ email: undefined }, /^email is required/],
      [{ companyName: undefined }, /^companyName is required/],
      ...['nobody', '@', 'a@', '@b', 'a@b@c', 'a b@c'].map((email) => [{ email }, /^email .*e-mail/]),
    ] as [object, RegExp][]
  ).map(
    ([fields, reason]): Scenario => ({
      name: `a sub-account with ${Object.entries(fields).flat().join(' ')} is refused by name`,
      ask: (estate) =>
        mine(estate, {
          method: 'POST',
          path: SUB_ACCOUNT,
          body: { name: 'A', email: 'a@x.example', companyName: 'N', ...fields },
        }),
      status: 400,
      body: invalidFields(reason),
    }),
  ),
  ...playedOnce(
    Object.entries({ name: 'mine tWO', address: 'TWO@mine', company: 'two LTD' }).map(
      ([what, text]): Scenario => ({
        name: `sub-accounts are searched by ${what}, in any letter case`,
        ask: (estate) => mine(estate, { path: `${SUB_ACCOUNT}?search=${encodeURIComponent(text)}&limit=5` }),
        status: 200,
        body(heard, estate) {
          assert.equal(heard.json.message, 'Found 1 sub-account(s)')
          assert.equal(heard.json.data.items[0]._id, estate.mine.subAccounts[1].id)
        },
        absent: (estate) => [estate.theirs.subAccounts[1].id],
      }),
    ),
  ),
  ...['GET', 'PATCH'].flatMap((method) =>
    ['sub_unknown', 'theirs'].map(
      (which): Scenario => ({
        name: `${method} of ${which === 'theirs' ? 'another account’s' : 'an unknown'} sub-account gets the documented 403`,
        ask: (estate) =>
          mine(estate, {
            method,
            path: `${SUB_ACCOUNT}/${which === 'theirs' ? estate.theirs.subAccounts[0].id : which}`,
            body: method === 'PATCH' ? { name: 'Mine now' } : undefined,
          }),
        status: 403,
        body: NOT_YOURS,
      }),
    ),
  ),
  {
    name: 'suspending stops every token at once, and resuming restores exactly what was',
    async ask(estate) {
      const fields = { name: 'Cut off', email: 'c@x.example', companyName: 'C' }
      const [made] = await estate.running.operator.createSubAccounts(estate.mine.accountId, [fields])
      const subAccountId = made?.id ?? ''
      const path = `${SUB_ACCOUNT}/${subAccountId}`
      const on = await estate.token({ subAccountId })
      const off = await estate.token({ subAccountId, status: 'inactive' })
      const both = async () => [await verified(estate, on.credential), await verified(estate, off.credential)]
      assert.deepEqual(await both(), [204, 401])
      await estate.mineAsks({ method: 'PATCH', path, body: { status: 'suspended' } })
      assert.deepEqual(await both(), [401, 401])
      const shown = await estate.mineAsks({ path: `${TOKEN}/${on.id}?include=details` })
      assert.equal(shown.json.data.status, 'active')
      assert.deepEqual(
        [shown.json.data.details.effectiveStatus, shown.json.data.details.blockedBy],
        ['suspended', 'sub-account'],
      )
      await estate.mineAsks({ method: 'PATCH', path, body: { status: 'active' } })
      assert.deepEqual(await both(), [204, 401])
      return mine(estate, { path })
    },
    status: 200,
    body: (heard) =>
      assert.deepEqual([heard.json.data.status, heard.json.data.tokens], ['active', { active: 1, inactive: 1 }]),
  },
  {
    name: 'an update of a sub-account is held to the rules of any update',
    ask: (estate) =>
      mine(estate, {
        method: 'PATCH',
        path: `${SUB_ACCOUNT}/${estate.mine.subAccounts[0].id}`,
        body: { status: 'paused' },
      }),
    status: 400,
    body: invalidFields(/^status .*active or suspended/),
  },
]

const historyScenarios: readonly Scenario[] = [
  {
    name: 'a token’s history tells who did what, newest first, and never a credential',
    async ask(estate) {
      const token = await estate.token({ name: 'Watched' })
      const path = `${TOKEN}/${token.id}`
      const headers = [['x-request-id', 'change-1']] as const
      await estate.mineAsks({ method: 'PUT', path, headers, body: { name: 'Watched closely', status: 'inactive' } })
      await estate.mineAsks({ method: 'POST', path: `${path}/rotate` })
      await estate.mineAsks({ method: 'DELETE', path })
      return mine(estate, { path: `${path}/history` })
    },
    status: 200,
    body(heard) {
      const { items, total } = heard.json.data
      assert.equal(total, 4)
      assert.deepEqual(
        items.map(({ action }: { action: string }) => action),
        ['token.delete', 'token.rotate', 'token.update', 'token.create'],
      )
      const [, , update, creation] = items
      assert.match(update.by, /^key_/)
      assert.deepEqual([update.requestId, update.address], ['change-1', '127.0.0.1'])
      assert.deepEqual(
        [update.from, update.to],
        [
          { name: 'Watched', status: 'active' },
          { name: 'Watched closely', status: 'inactive' },
        ],
      )
      assert.equal(creation.by, 'operator')
      assert.doesNotMatch(heard.text, /lk_tok_/)
    },
  },
  {
    name: 'a range of the history includes `from` and excludes `before`',
    async ask(estate) {
      const { id } = await estate.token()
      const path = `${TOKEN}/${id}/history`
      const [{ at }] = (await estate.mineAsks({ path })).json.data.items
      const total = async (query: string) => (await estate.mineAsks({ path: `${path}?${query}` })).json.data.total
      assert.deepEqual([await total(`from=${at}`), await total(`before=${at}`)], [1, 0])
      return mine(estate, { path: `${path}?to=${at}` })
    },
    status: 400,
    body: invalidFields(/parameter "to"/),
  },
  ...[
    ['history', ['from', 'before']],
    ['token', ['createdFrom', 'createdBefore', 'expiresFrom', 'expiresBefore']],
  ].flatMap(([path, names]) =>
    [names ?? []].flat().map(
      (name): Scenario => ({
        name: `${name} of ${path} is no day that does not exist`,
        ask: (estate) => mine(estate, { path: `/api/v1/apiClient/${path}?${name}=2026-02-31T00:00:00Z` }),
        status: 400,
        body: invalid(new RegExp(`^${name} .*ISO 8601`)),
      }),
    ),
  ),
  ...['history', 'history of a token'].map(
    (which): Scenario => ({
      name: `the ${which} is read to its end by the position of the last entry, in both directions`,
      async ask(estate) {
        const { id } = await estate.token()
        for (const name of ['two', 'three', 'four', 'five']) {
          await estate.mineAsks({ method: 'PUT', path: `${TOKEN}/${id}`, body: { name: `${id} ${name}` } })
        }
        const path = which === 'history' ? '/api/v1/apiClient/history' : `${TOKEN}/${id}/history`
        const read = async (query: string) => (await estate.mineAsks({ path: `${path}?limit=2&${query}` })).json.data
        const seqs = ({ items }: { items: { seq: number }[] }) => items.map(({ seq }) => seq)
        const [fifth, fourth] = seqs(await read(''))
        const older = await read(`beforePosition=${fourth}`)
        const [third = 0, second = 0] = seqs(older)
        assert.deepEqual([older.hasNextPage, older.hasPrevPage, older.page], [true, false, 1])
        const newer = await read(`after=${second}`)
        assert.deepEqual(seqs(newer), [third, fourth])
        assert.deepEqual([newer.total, newer.hasNextPage], [3, true])
        const last = await read(`after=${fourth}`)
        assert.deepEqual([seqs(last), last.total, last.hasNextPage], [[fifth], 1, false])
        assert.equal((await read('after=0&by=nobody')).total, 0)
        return mine(estate, { path: `${path}?after=${fifth}` })
      },
      status: 200,
      body: ({ json }) => assert.deepEqual([json.data.items, json.data.total], [[], 0]),
    }),
  ),
  ...(
    [
      ['after=-1', /^after .*position/],
      ['after=', /^after .*position/],
      ['after=1.5', /^after .*position/],
      ['after=99999999999999999', /^after .*position/],
      ['beforePosition=AAAAAAAAAAAAAAAAAAAAAA', /^beforePosition .*position/],
      ['after=1&page=1', /^after .*page/],
      ['beforePosition=1&page=2', /^beforePosition .*page/],
      ['after=1&beforePosition=9', /^after .*beforePosition/],
      ['after=1&after=2', /^after .*once/],
    ] as const
  ).map(
    ([query, reason]): Scenario => ({
      name: `no entry of the history is at ${query}`,
      ask: (estate) => mine(estate, { path: `/api/v1/apiClient/history?${query}` }),
      status: 400,
      body: invalid(reason),
    }),
  ),
  {
    name: 'the account’s history is paged and holds nothing of another account',
    ask: (estate) => mine(estate, { path: '/api/v1/apiClient/history?limit=100' }),
    status: 200,
    body: (heard) => assert.match(heard.json.message, /^Found \d+ history entry\(s\)$/),
    absent: (estate) => [estate.theirs.accountId, estate.theirs.subAccounts[0].id],
  },
  {
    name: 'a change that changes nothing leaves no trace',
    async ask(estate) {
      const token = await estate.token()
      await estate.mineAsks({ method: 'PUT', path: `${TOKEN}/${token.id}`, body: { status: 'active' } })
      return mine(estate, { path: `${TOKEN}/${token.id}/history` })
    },
    status: 200,
    body: (heard) => assert.equal(heard.json.data.total, 1),
  },
]

export const lifecycleScenarios: readonly Scenario[] = [...tokenScenarios, ...subAccountScenarios, ...historyScenarios]
