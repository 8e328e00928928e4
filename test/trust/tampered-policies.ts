// Someone who can write the database, but does not have the master key, widens no policy. Held to by both engines.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { examine } from '../../src/cli/store/doctor.ts'
import { judge } from '../../src/tokens/verify/verdict.ts'
import { type Engine, Estate } from '../support/estate.ts'
import { bearer, closeConnections } from '../support/http.ts'
import { askFor } from '../support/limits.ts'
import { type ByHand, openByHand } from './by-hand.ts'

const POLICY = { scopes: ['read'], rate: { limit: 1, seconds: 3_600 } }
const WIDER = JSON.stringify({ scopes: ['read', 'admin:*'] })

interface Rows {
  readonly id: string
  readonly credential: string
  readonly subAccountId: string
}

type Alter = (db: ByHand, own: Rows, other: Rows) => Promise<unknown>

const set = (table: 'tokens' | 'sub_accounts', what: string) => (db: ByHand, id: string, from: string) =>
  db.run(`UPDATE ${table} SET ${what.replaceAll('OTHER', `${table} o WHERE o.id = ?2`)} WHERE id = ?1`, id, from)

const ofToken =
  (what: string): Alter =>
  (db, own, other) =>
    set('tokens', what)(db, own.id, other.id)
const ofSubAccount =
  (what: string): Alter =>
  (db, own, other) =>
    set('sub_accounts', what)(db, own.subAccountId, other.subAccountId)

const MOVED = 'policy = (SELECT policy FROM OTHER)'
const KEPT = `policy = coalesce(policy, ?2)`

const alterations: Readonly<Record<string, readonly ['token' | 'sub-account', Alter]>> = {
  'a policy widened': ['token', (db, { id }) => db.run('UPDATE tokens SET policy = ?2 WHERE id = ?1', id, WIDER)],
  'a policy that allows all': [
    'token',
    (db, { id }) => db.run('UPDATE tokens SET policy = ?2 WHERE id = ?1', id, '{}'),
  ],
  'a policy removed': ['token', (db, { id }) => db.run('UPDATE tokens SET policy = NULL WHERE id = ?1', id)],
  'a policy that is no JSON': ['token', (db, { id }) => db.run("UPDATE tokens SET policy = '{' WHERE id = ?1", id)],
  'a policy written with other spaces': [
    'token',
    (db, { id }) => db.run("UPDATE tokens SET policy = policy || ' ' WHERE id = ?1", id),
  ],
  'a policy moved from another token': ['token', ofToken(MOVED)],
  'a policy and a stamp moved from another token': ['token', ofToken(`${MOVED}, stamp = (SELECT stamp FROM OTHER)`)],
  'the policy of its sub-account widened': [
    'sub-account',
    (db, { subAccountId }) => db.run('UPDATE sub_accounts SET policy = ?2 WHERE id = ?1', subAccountId, WIDER),
  ],
  'the policy of its sub-account removed': [
    'sub-account',
    (db, { subAccountId }) => db.run('UPDATE sub_accounts SET policy = NULL WHERE id = ?1', subAccountId),
  ],
  'the policy of another sub-account': ['sub-account', ofSubAccount(MOVED)],
  'the policy and stamp of another sub-account': [
    'sub-account',
    ofSubAccount(`${MOVED}, stamp = (SELECT stamp FROM OTHER)`),
  ],
}

export function describeTamperedPolicies(engine: Engine): void {
  describe(`a policy altered by hand on the ${engine.name} store lets nobody in:`, () => {
    let estate: Estate
    let db: ByHand
    const altered = new Set<string>()
    before(async () => {
      estate = await Estate.open(engine)
      db = await openByHand(estate.config)
    })
    after(async () => {
      await db.close()
      closeConnections()
      await estate.close()
    })

    async function make(policy: object | null): Promise<Rows> {
      const fields = { name: estate.freshName(), email: 'p@x.example', companyName: 'P', policy: policy as never }
      const [owner] = await estate.running.operator.createSubAccounts(estate.mine.accountId, [fields])
      const subAccountId = owner?.id ?? ''
      return { ...(await estate.token({ subAccountId, policy: policy as never })), subAccountId }
    }
    const verify = (credential: string, scope = 'admin:all') =>
      estate.ask({ path: `/api/v1/verify?scope=${scope}`, headers: [bearer(credential)] })

    for (const [what, [kind, alter]] of Object.entries(alterations)) {
      test(what, async () => {
        const [own, other] = [await make(POLICY), await make({ scopes: ['admin:*'] })]
        await alter(db, own, other)
        altered.add(kind === 'token' ? own.id : own.subAccountId)
        for (const scope of ['admin:all', 'read', 'read']) {
          const heard = await verify(own.credential, scope)
          assert.deepEqual([heard.status, heard.headers['x-latchkey-reason']], [401, 'unknown'])
        }
        const explained = await estate.mineAsks({ path: `/api/v1/apiClient/token/${own.id}/explain` })
        assert.deepEqual([explained.json.data.accepted, explained.json.data.reason], [false, 'unknown'])
        assert.equal((await verify(other.credential)).status, 204)
      })
    }

    test('whichever of these, also of a token that was just verified', async () => {
      for (const [kind, alter] of Object.values(alterations)) {
        const [own, other] = [await make(POLICY), await make({ scopes: ['admin:*'] })]
        assert.equal((await verify(own.credential)).status, 403)
        await alter(db, own, other)
        altered.add(kind === 'token' ? own.id : own.subAccountId)
        assert.ok([401, 403].includes((await verify(own.credential)).status))
      }
    })

    test('a policy given by hand to a token that had none', async () => {
      const token = await estate.token()
      await db.run(`UPDATE tokens SET ${KEPT} WHERE id = ?1`, token.id, WIDER)
      altered.add(token.id)
      assert.equal((await verify(token.credential)).status, 401)
    })

    test('the policy of its sub-account removed with a suspension that its owner lifts: refused until both are named', async () => {
      const { credential, subAccountId } = await make(POLICY)
      await db.run('UPDATE sub_accounts SET policy = NULL, suspended_at = 1 WHERE id = ?1', subAccountId)
      const path = `/api/v1/apiClient/sub-account/${subAccountId}`
      const change = async (body: object) => {
        assert.equal((await estate.mineAsks({ method: 'PATCH', path, body })).status, 200)
        return [(await verify(credential)).status, (await verify(credential, 'read')).status]
      }
      assert.deepEqual(await change({ status: 'active' }), [401, 401])
      const { problems } = await examine(estate.running)
      assert.match(problems.find(({ id }) => id === subAccountId)?.problem ?? '', /PATCH .*status and policy/)
      assert.deepEqual(await change({ status: 'active', policy: POLICY }), [403, 204])
    })

    test('the control: judged without its stamp, a policy removed by hand would let in', async () => {
      const { id, credential } = await make({ ...POLICY, scopes: [] })
      await db.run('UPDATE tokens SET policy = NULL WHERE id = ?1', id)
      altered.add(id)
      const candidate = await estate.running.store.findCandidate(credential)
      assert.ok(candidate)
      const verdict = judge({ ...candidate, tampered: undefined }, Date.now())
      assert.deepEqual([verdict.accepted, candidate.policies.token], [true, undefined])
      assert.equal(judge(candidate, Date.now()).accepted, false)
    })

    test('what is left of a limit that cannot be read lets nobody in', async () => {
      const { id, credential } = await estate.token({ policy: { quota: { limit: 200, per: 'day' } } as never })
      assert.equal((await verify(credential)).status, 204)
      await db.run("UPDATE limits SET state = '{' WHERE subject = ?1", id)
      const statuses = await Promise.all(Array.from({ length: 5 }, async () => (await verify(credential)).status))
      assert.ok(
        statuses.every((status) => status >= 500),
        statuses.join(),
      )
    })

    test('what is left of a limit that cannot be read fails no verification of others that asks at the same time', async () => {
      const limit = { kind: 'quota', limit: 2_000, per: 'day' } as const
      const [lost, other] = [await estate.token(), await estate.token()]
      const { store } = estate.running
      const { rows } = askFor(0, { subject: lost.id, limit }, { subject: other.id, limit })
      const ask = { rows, takes: [[0], [1]] }
      await store.reserveUnits(estate.mine.accountId, ask)
      await db.run("UPDATE limits SET state = '{' WHERE subject = ?1", lost.id)
      const { rows: answers, refusedBy } = await store.reserveUnits(estate.mine.accountId, ask)
      assert.deepEqual([answers[0], ...refusedBy], [undefined, 0, undefined])
    })

    test('a tag entered by hand shows no token of another account', async () => {
      const theirs = await estate.token({ tags: ['theirs'] }, estate.theirs)
      await db.run('INSERT INTO token_tags VALUES (?1, ?2, ?3)', estate.mine.accountId, 'entered', theirs.id)
      const heard = await estate.mineAsks({ path: '/api/v1/apiClient/token?tag=entered' })
      assert.deepEqual(heard.json.data.items, [])
    })

    test('the doctor names all that was altered, and nothing else', async () => {
      const { problems } = await examine(estate.running)
      assert.deepEqual(new Set(problems.map(({ id }) => id)), altered)
    })
  })
}
