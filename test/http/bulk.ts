// Bulk operations over HTTP: exactly the tokens that a filter matches are changed, each once, and an undo restores exactly these.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { permissionsOf, type Role } from '../../src/tokens/model/permissions.ts'
import type { Token } from '../../src/tokens/model/token.ts'
import { type Engine, Estate, openedBefore } from '../support/estate.ts'
import { type Ask, bearer, type Heard } from '../support/http.ts'

const TOKEN = '/api/v1/apiClient/token'
const BULK = `${TOKEN}/bulk`
const DAY = 24 * 60 * 60 * 1000

export function describeBulk(engine: Engine): void {
  describe(`bulk operations on the ${engine.name} store`, () => {
    let estate: Estate
    let tags = 0
    before(async () => {
      estate = await Estate.open(engine)
    })
    after(() => estate.close())

    const freshTag = () => `tag ${++tags}`
    const tokens = (count: number, fields: Parameters<Estate['token']>[0] = {}): Promise<Token[]> =>
      Array.fromAsync({ length: count }, () => estate.token(fields))
    const order = (body: object, headers: Ask['headers'] = []) =>
      estate.mineAsks({ method: 'POST', path: BULK, body, headers })
    const get = async (id: string) => (await estate.mineAsks({ path: `${BULK}/${id}` })).json.data
    const undo = (id: string, headers: Ask['headers'] = []) =>
      estate.mineAsks({ method: 'POST', path: `${BULK}/${id}/undo`, headers })
    const keyOf = async (role: Role, subAccounts: readonly string[] | null = null) => {
      const made = await estate.running.operator.createKey(
        estate.mine.accountId,
        role,
        null,
        permissionsOf({ role, subAccounts }),
      )
      return { ...made, headers: [bearer(made.key)] }
    }

    const over = async ({ json, text }: Heard) => {
      assert.equal(json.status, true, text)
      return whenOver(json.data._id)
    }
    const whenOver = async (id: string) => {
      const deadline = performance.now() + 30_000
      for (let found = await get(id); ; found = await get(id)) {
        if (found.status !== 'running') return found
        assert.ok(performance.now() < deadline, JSON.stringify(found))
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    const statusOf = async ({ id }: Token) => (await estate.mineAsks({ path: `${TOKEN}/${id}` })).json.data?.status
    const statusesOf = (some: readonly Token[]) => Array.fromAsync(some, statusOf)
    const historyOf = async ({ id }: Token) =>
      (await estate.mineAsks({ path: `${TOKEN}/${id}/history?limit=100` })).json.data.items as {
        action: string
        by: string
        to: Record<string, unknown>
      }[]

    test('a dry run counts exactly, shows some without credentials, and changes nothing', async () => {
      const tag = freshTag()
      const some = await tokens(12, { tags: [tag] })
      const { status, json, text } = await order({ action: 'disable', filter: { tag }, dryRun: true })
      assert.equal(status, 200)
      assert.equal(json.data.total, 12)
      const newest = some.toReversed().slice(0, 10)
      assert.deepEqual(
        json.data.sample.map(({ _id }: { _id: string }) => _id),
        newest.map(({ id }) => id),
      )
      for (const { credential } of some) assert.ok(!text.includes(credential))
      assert.deepEqual(new Set(await statusesOf(some)), new Set(['active']))
      const { json: page } = await estate.mineAsks({ path: BULK })
      assert.equal(page.data.total, 0)
    })

    test('exactly what matches is changed, each once, with the operation and its reason in one row of the history', async () => {
      const tag = freshTag()
      const mine = await tokens(230, { tags: [tag] })
      const off = await tokens(3, { tags: [tag], status: 'inactive' })
      const others = await tokens(3)
      const { status, json } = await order({ action: 'disable', filter: { tag }, reason: ' they have left ' })
      assert.equal(status, 202)
      const { _id, createdAt, by, byName, ...first } = json.data
      assert.match(_id, /^blk_[0-9a-f]{28}$/)
      assert.match(by, /^key_/)
      assert.equal(byName, 'works')
      assert.ok(Date.parse(createdAt) <= Date.now())
      assert.deepEqual(first, {
        ...{ action: 'disable', status: 'running', total: 233, done: 0, skipped: 0, filter: { tag } },
        ...{ reason: 'they have left', endedAt: null, undo: null, failedBecause: null },
      })
      const ended = await whenOver(_id)
      assert.deepEqual([ended.status, ended.done, ended.skipped], ['done', 230, 3])
      assert.deepEqual(new Set(await statusesOf([...mine, ...off])), new Set(['inactive']))
      assert.deepEqual(new Set(await statusesOf(others)), new Set(['active']))
      for (const token of [mine[0], mine[99], mine[100], mine[229]] as Token[]) {
        const [last, ...before] = await historyOf(token)
        assert.equal(last?.action, 'token.update')
        assert.equal(last?.by, by)
        assert.deepEqual(last?.to, { status: 'inactive', reason: 'they have left', operation: _id })
        assert.deepEqual(
          before.map(({ action }) => action),
          ['token.create'],
        )
        const verified = await estate.ask({ path: '/api/v1/verify', headers: [bearer(token.credential)] })
        assert.equal(verified.status, 401)
      }
      const { json: page } = await estate.mineAsks({ path: `/api/v1/apiClient/history?action=bulk.create` })
      assert.deepEqual(page.data.items[0].to, {
        ...{ action: 'disable', filter: { tag }, total: 233, reason: 'they have left' },
      })
    })

    test('an undo restores exactly what was changed, and nothing that was changed since', async () => {
      const tag = freshTag()
      const some = await tokens(120, { tags: [tag] })
      const off = await tokens(2, { tags: [tag], status: 'inactive' })
      const { _id } = await over(await order({ action: 'disable', filter: { tag } }))
      const [renamed, back, gone] = some as [Token, Token, Token, ...Token[]]
      const change = (token: Token, body: object) =>
        estate.mineAsks({ method: 'PATCH', path: `${TOKEN}/${token.id}`, body })
      await change(renamed, { name: estate.freshName() })
      await change(back, { status: 'active' })
      await change(back, { status: 'inactive' })
      await estate.mineAsks({ method: 'DELETE', path: `${TOKEN}/${gone.id}` })
      const { status } = await undo(_id)
      assert.equal(status, 202)
      const ended = await whenOver(_id)
      assert.deepEqual([ended.status, ended.done, ended.undo], ['undone', 120, { restored: 117, kept: 3 }])
      assert.deepEqual(await statusesOf([renamed, back, ...off]), Array(4).fill('inactive'))
      assert.deepEqual(new Set(await statusesOf(some.slice(3))), new Set(['active']))
      const [last] = await historyOf(some[3] as Token)
      assert.deepEqual(last?.to, { status: 'active', reason: 'undone', operation: _id })
      const again = await undo(_id)
      assert.deepEqual([again.status, again.json.message], [409, 'Conflict'])
      assert.match(again.text, /undone already/)
    })

    test('expire ends now what ends later or never, and an undo gives each its own end again', async () => {
      const tag = freshTag()
      const [later, earlier] = [Date.now() + DAY, Date.now() - DAY]
      const some = [
        ...(await tokens(1, { tags: [tag] })),
        ...(await tokens(1, { tags: [tag], expiresAt: later })),
        ...(await tokens(1, { tags: [tag], expiresAt: earlier })),
      ]
      const endOf = async ({ id }: Token) =>
        (await estate.mineAsks({ path: `${TOKEN}/${id}?include=details` })).json.data.details.expiresAt
      const { _id, done, skipped, createdAt } = await over(await order({ action: 'expire', filter: { tag } }))
      assert.deepEqual([done, skipped], [2, 1])
      const ends = await Array.fromAsync(some, endOf)
      assert.deepEqual(ends, [createdAt, createdAt, new Date(earlier).toISOString()])
      await undo(_id)
      await whenOver(_id)
      assert.deepEqual(await Array.fromAsync(some, endOf), [
        null,
        new Date(later).toISOString(),
        new Date(earlier).toISOString(),
      ])
    })

    test('enable leaves alone what is on; delete removes, and cannot be undone', async () => {
      const tag = freshTag()
      const some = [...(await tokens(2, { tags: [tag] })), ...(await tokens(2, { tags: [tag], status: 'inactive' }))]
      const enabled = await over(await order({ action: 'enable', filter: { tag } }))
      assert.deepEqual([enabled.done, enabled.skipped], [2, 2])
      assert.deepEqual(await statusesOf(some), Array(4).fill('active'))
      const deleted = await over(await order({ action: 'delete', filter: { tag, status: 'active' } }))
      assert.deepEqual([deleted.done, deleted.skipped], [4, 0])
      assert.deepEqual(await statusesOf(some), Array(4).fill(undefined))
      const refused = await undo(deleted._id)
      assert.equal(refused.status, 409)
      assert.equal(refused.headers['x-latchkey-error'], 'bulk-not-undoable')
    })

    test('another total than the expected one changes nothing, in a dry run too', async () => {
      const tag = freshTag()
      const some = await tokens(2, { tags: [tag] })
      for (const dryRun of [false, true]) {
        const { status, headers, text } = await order({ action: 'disable', filter: { tag }, expectedTotal: 3, dryRun })
        assert.deepEqual([status, headers['x-latchkey-error']], [409, 'bulk-total-differs'])
        assert.match(text, /matches 2 tokens now, not 3/)
      }
      assert.deepEqual(await statusesOf(some), ['active', 'active'])
      const { done } = await over(await order({ action: 'disable', filter: { tag }, expectedTotal: 2 }))
      assert.equal(done, 2)
    })

    test('a retry with the same key is the same operation, and with another request a conflict', async () => {
      const tag = freshTag()
      await tokens(1, { tags: [tag] })
      const key = [['idempotency-key', tag]] as const
      const first = await order({ action: 'disable', filter: { tag } }, key)
      const again = await order({ action: 'disable', filter: { tag } }, key)
      assert.equal(again.status, 202)
      assert.equal(again.json.data._id, first.json.data._id)
      assert.equal((await order({ action: 'delete', filter: { tag } }, key)).status, 409)
      const { _id } = await over(first)
      const undone = await undo(_id, [['idempotency-key', `${tag} undo`]])
      assert.equal(undone.status, 202)
      await whenOver(_id)
      assert.equal((await undo(_id, [['idempotency-key', `${tag} undo`]])).json.data.status, 'undone')
    })

    test('by their ids exactly these are counted and changed, with other filters, and none of another account', async () => {
      const tag = freshTag()
      const some = await tokens(3, { tags: [tag] })
      const [one, two] = some as [Token, Token, Token]
      const foreign = await estate.token({}, estate.theirs)
      const ids = [two.id, one.id, one.id, foreign.id, `tok_${'0'.repeat(28)}`]
      const { json } = await order({ action: 'disable', filter: { ids }, dryRun: true })
      assert.equal(json.data.total, 2)
      assert.deepEqual(
        json.data.sample.map(({ _id }: { _id: string }) => _id),
        [two.id, one.id],
      )
      const narrower = await order({ action: 'disable', filter: { ids, search: two.name, tag }, dryRun: true })
      assert.equal(narrower.json.data.total, 1)
      const ended = await over(await order({ action: 'disable', filter: { ids }, expectedTotal: 2 }))
      assert.deepEqual([ended.total, ended.done, ended.filter], [2, 2, { ids }])
      assert.deepEqual(await statusesOf(some), ['inactive', 'inactive', 'active'])
      assert.equal((await estate.ask({ path: '/api/v1/verify', headers: [bearer(foreign.credential)] })).status, 204)
      await undo(ended._id)
      await whenOver(ended._id)
      assert.deepEqual(await statusesOf(some), ['active', 'active', 'active'])
    })

    test('a key for some sub-accounts changes their tokens alone, and sees no operation of the whole account', async () => {
      const tag = freshTag()
      const [one, two] = estate.mine.subAccounts
      const own = await tokens(2, { tags: [tag], subAccountId: one.id })
      const foreign = await tokens(2, { tags: [tag], subAccountId: two.id })
      const { headers } = await keyOf('manager', [one.id])
      const whole = await over(await order({ action: 'enable', filter: { tag } }))
      const asked = await estate.ask({
        method: 'POST',
        path: BULK,
        body: { action: 'disable', filter: { tag } },
        headers,
      })
      assert.equal(asked.json.data.total, 2)
      await whenOver(asked.json.data._id)
      assert.deepEqual(await statusesOf([...own, ...foreign]), ['inactive', 'inactive', 'active', 'active'])
      const outside = { action: 'disable', filter: { subAccountId: two.id } }
      const missing = { action: 'disable', filter: { subAccountId: 'sub_none' } }
      const [refused, nothing] = await Promise.all(
        [outside, missing].map((body) => estate.ask({ method: 'POST', path: BULK, body, headers })),
      )
      assert.equal(refused?.status, 403)
      assert.equal(refused?.text, nothing?.text)
      const { json } = await estate.ask({ path: BULK, headers })
      assert.deepEqual([json.data.total, json.data.items[0]._id], [1, asked.json.data._id])
      for (const [method, path] of [['GET', ''] as const, ['POST', '/undo'] as const]) {
        const heard = await estate.ask({ method, path: `${BULK}/${whole._id}${path}`, headers })
        assert.equal(heard.status, 404)
      }
    })

    test('a viewer may watch and not order', async () => {
      const { headers } = await keyOf('viewer')
      assert.equal((await estate.ask({ path: BULK, headers })).status, 200)
      for (const dryRun of [false, true]) {
        const body = { action: 'disable', filter: {}, dryRun }
        assert.equal((await estate.ask({ method: 'POST', path: BULK, body, headers })).status, 403)
      }
    })

    test('an operation fails where it is once the key by which it was ordered is revoked, and can be undone by another', async () => {
      const tag = freshTag()
      const some = await tokens(150, { tags: [tag] })
      const { id, headers } = await keyOf('owner')
      const { store, registry, operator } = estate.running
      const caller = await registry.authenticate(headers[0]?.[1].replace('Bearer ', '') ?? '')
      const origin = { ...operator.origin(), by: caller.by, authority: caller.authority }
      // Operations of an account are carried out one after the other: this one waits for all others.
      const before = await order({ action: 'enable', filter: { status: 'active' } })
      const ordered = await registry.bulk.order(caller, { action: 'disable', filter: { tag } }, origin)
      await store.revokeKey(id, operator.origin())
      await over(before)
      const ended = await whenOver(ordered.id)
      assert.deepEqual([ended.status, ended.failedBecause], ['failed', 'revoked'])
      assert.equal((await statusesOf(some)).filter((status) => status === 'inactive').length, ended.done)
      await undo(ordered.id)
      assert.equal((await whenOver(ordered.id)).status, 'undone')
      assert.deepEqual(new Set(await statusesOf(some)), new Set(['active']))
    })

    test('every filter of the list is one of an operation, and matches as many', async () => {
      const filters = [
        ...[{}, { status: 'inactive' }, { search: 'name 1' }, { search: 'e' }, { used: 'never' }, { idleDays: 1 }],
        ...[{ suspendedDays: 1 }, { effectiveStatus: 'expired' }, { createdFrom: '2020-01-01T00:00:00Z' }],
        ...[{ expiresBefore: '2980-01-01T00:00:00Z' }, { subAccountId: estate.mine.subAccounts[0].id }],
        ...[
          { tag: ['tag 1', 'tag 1'] },
          { search: 'name', tag: 'tag 2', status: 'inactive' },
          { credentialEnd: 'zzzz' },
        ],
      ]
      for (const filter of filters) {
        const query = new URLSearchParams(
          Object.entries(filter).flatMap(([name, value]) => [value].flat().map((each) => [name, String(each)])),
        )
        const { json } = await estate.mineAsks({ path: `${TOKEN}?${query}` })
        // What it comes to changes nothing: it is enabled only if it is off, and undone.
        const ordered = await order({ action: 'expire', filter, expectedTotal: json.data.total })
        assert.equal(ordered.status, 202, `${JSON.stringify(filter)}: ${ordered.text}`)
        const ended = await over(ordered)
        assert.equal(ended.done + ended.skipped, json.data.total, JSON.stringify(filter))
        await undo(ended._id)
        assert.deepEqual((await whenOver(ended._id)).undo, { restored: ended.done, kept: 0 }, JSON.stringify(filter))
      }
    })
  })
}

/** Decided before any engine is asked. */
export function describeRefusedBulk(engine: Engine): void {
  describe('an order of a bulk operation', () => {
    const estate = openedBefore(engine)

    const refusals: Record<string, [object, RegExp]> = {
      'no action': [{ filter: {} }, /action is required/],
      'no filter': [{ action: 'disable' }, /filter is required/],
      'another action': [{ action: 'rename', filter: {} }, /^action .*disable or enable/],
      'a filter that is none': [{ action: 'disable', filter: [] }, /^filter .*object/],
      'an unknown field': [{ action: 'disable', filter: {}, dryrun: true }, /field "dryrun"/],
      'an unknown filter': [
        { action: 'disable', filter: { state: 'active' } },
        /^filter .*"state"; allowed: subAccountId/,
      ],
      'a page': [{ action: 'disable', filter: { page: 2 } }, /filter has "page"/],
      'an order': [{ action: 'disable', filter: { sort: 'name' } }, /filter has "sort"/],
      'a filter of another type': [{ action: 'disable', filter: { status: true } }, /status .*string/],
      'a filter that is not valid': [{ action: 'disable', filter: { idleDays: 0 } }, /idleDays .*number/],
      'a repeated filter': [{ action: 'disable', filter: { status: ['active'] } }, /status .*once/],
      'no id at all': [{ action: 'disable', filter: { ids: [] } }, /filter.ids filters nothing/],
      'an id of something else': [{ action: 'disable', filter: { ids: ['sub_x'] } }, /ids/],
      'an id that is none': [{ action: 'disable', filter: { ids: [7] } }, /ids/],
      'more ids than a page has': [
        {
          action: 'disable',
          filter: { ids: Array.from({ length: 101 }, (_, n) => `tok_${String(n).padStart(28, '0')}`) },
        },
        /ids/,
      ],
      'no tag at all': [{ action: 'disable', filter: { tag: [] } }, /filter.tag filters nothing/],
      'a search for nothing': [{ action: 'disable', filter: { search: ' ' } }, /filter.search filters nothing/],
      'one of two that filters nothing': [
        { action: 'disable', filter: { status: 'active', search: '' }, dryRun: true },
        /filter.search filters nothing/,
      ],
      'a long reason': [{ action: 'disable', filter: {}, reason: 'x'.repeat(201) }, /^reason .*200/],
      'a reason of two lines': [{ action: 'disable', filter: {}, reason: 'a\nb' }, /^reason .*control/],
      'half a token': [{ action: 'disable', filter: {}, expectedTotal: 1.5 }, /^expectedTotal .*number/],
    }
    for (const [what, [body, message]] of Object.entries(refusals)) {
      test(`${what} is refused, and changes nothing`, async () => {
        const { status, json, text } = await estate.mineAsks({ method: 'POST', path: BULK, body })
        assert.equal(status, 400, text)
        assert.match(json.error.message, message)
      })
    }
  })
}
