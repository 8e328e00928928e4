// Someone who can write the database, but does not have the master key, gets nobody in and hides nothing. Held to by
// both engines.
import assert from 'node:assert/strict'
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { after, before, beforeEach, describe, test } from 'node:test'
import { examine, verifyHistory } from '../../src/cli/store/doctor.ts'
import { keyToWire } from '../../src/operations/keys/document.ts'
import type { Token } from '../../src/tokens/model/token.ts'
import type { Tampered } from '../../src/tokens/trust/stamp.ts'
import { judge } from '../../src/tokens/verify/verdict.ts'
import { type Engine, Estate, type Tenant } from '../support/estate.ts'
import { type Ask, bearer, closeConnections, type Heard } from '../support/http.ts'
import { type ByHand, openByHand } from './by-hand.ts'

const TOKEN = '/api/v1/apiClient/token'
const SUB_ACCOUNT = '/api/v1/apiClient/sub-account'
const KEY = '/api/v1/apiClient/key'
const name = ({ kind, id }: Tampered) => `${kind} ${id}`

export function describeTampering(engine: Engine): void {
  let estate: Estate
  let db: ByHand
  /** Everything that was altered and is still there, for the doctor to name. */
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

  const verify = (credential: string) => estate.ask({ path: '/api/v1/verify', headers: [bearer(credential)] })
  const countOf = async (kind: Tampered['kind']) => {
    const text = await estate.running.metrics.text()
    return Number(new RegExp(`^latchkey_tampered_rows_total{kind="${kind}"} (\\d+)$`, 'm').exec(text)?.[1])
  }
  const warnings = () =>
    estate.logged
      .flatMap((chunk) => chunk.trim().split('\n'))
      .map((line) => JSON.parse(line) as { level: number; msg: string } & Tampered)
      .filter(({ msg }) => msg.includes('its stamp or seal'))
  const sealedOf = async (id: string) =>
    new Uint8Array((await db.get<{ sealed: Uint8Array }>('SELECT sealed FROM tokens WHERE id = ?1', id)).sealed)
  const put = (id: string, sealed: Uint8Array) => db.run('UPDATE tokens SET sealed = ?1 WHERE id = ?2', sealed, id)

  /** Asks several times: each is refused and counted, and the row is in the log once, by its id alone. */
  async function isNoticed(tampered: Tampered, ask: () => Promise<Heard>, refused: (heard: Heard) => void) {
    altered.add(name(tampered))
    const before = await countOf(tampered.kind)
    const heard = [await ask(), await ask(), await ask()]
    for (const each of heard) refused(each)
    assert.equal(await countOf(tampered.kind), before + heard.length)
    const told = warnings().filter((each) => name(each) === name(tampered))
    assert.deepEqual(
      told.map(({ level }) => level),
      [40],
    )
  }

  const asUnknown = (heard: Heard) => {
    assert.equal(heard.status, 401)
    assert.equal(heard.json.message, 'Invalid token')
  }

  test('a store that nobody has altered is healthy', async () => {
    await estate.token()
    const report = await examine(estate.running)
    assert.deepEqual([report.healthy, report.problems, report.problemCount], [true, [], 0])
  })

  describe('a session altered by hand lets nobody in:', () => {
    const person = { subject: 'alice', email: 'alice@example.com', claims: { groups: ['support'] } }
    const alterations: Readonly<Record<string, string>> = {
      'another claim': `claims = '{"groups":["platform"]}'`,
      'another person': "subject = 'boss'",
      'another address': "email = 'boss@example.com'",
      'another account': 'account_id = ?2',
      'a later beginning': 'created_at = created_at + 1',
      'a later use': 'seen_at = seen_at + 1',
    }
    for (const [what, assignment] of Object.entries(alterations)) {
      test(what, async () => {
        const { sessions } = estate.running.registry
        const cookie = await sessions.start(person, estate.mine.accountId)
        const { id } = await sessions.find(cookie)
        const values = assignment.includes('?2') ? [estate.theirs.accountId] : []
        await db.run(`UPDATE sessions SET ${assignment} WHERE id = ?1`, id, ...values)
        const before = await countOf('session')
        await assert.rejects(sessions.find(cookie), { code: 'token-invalid' })
        assert.equal(await countOf('session'), before + 1)
        altered.add(`session ${id}`)
      })
    }
  })

  describe('a bulk operation altered by hand changes no token:', () => {
    const alterations: Readonly<Record<string, { kind: 'bulk' | 'bulk-part'; sql: string }>> = {
      'another action': { kind: 'bulk', sql: "UPDATE bulk_operations SET action = 'expire' WHERE id = ?1" },
      'another filter': { kind: 'bulk', sql: "UPDATE bulk_operations SET filter = '{}' WHERE id = ?1" },
      'another scope': { kind: 'bulk', sql: "UPDATE bulk_operations SET scope = '[]' WHERE id = ?1" },
      'another position': { kind: 'bulk', sql: 'UPDATE bulk_operations SET position = position + 1 WHERE id = ?1' },
      'no authority that could end': {
        kind: 'bulk',
        sql: `UPDATE bulk_operations SET ordered = '{"by":"x"}' WHERE id = ?1`,
      },
      'another token': {
        kind: 'bulk-part',
        sql: `UPDATE bulk_parts SET changes = replace(changes, 'tok_', 'tok_0') WHERE operation_id = ?1`,
      },
      'another former status': {
        kind: 'bulk-part',
        sql: `UPDATE bulk_parts SET changes = replace(changes, 'active', 'activ') WHERE operation_id = ?1`,
      },
    }
    const whenOver = async (id: string) => {
      for (;;) {
        const operation = await estate.running.store.findBulk(estate.mine.accountId, id)
        if (operation?.status !== 'running') return operation
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    }
    for (const [what, { kind, sql }] of Object.entries(alterations)) {
      test(what, async () => {
        const { operator, registry } = estate.running
        const caller = operator.actFor(estate.mine.accountId)
        const token = await estate.token({ tags: [what] })
        const request = { action: 'disable', filter: { tag: what } } as const
        const { id } = await registry.bulk.order(caller, request, operator.origin())
        await whenOver(id)
        await db.run(sql, id)
        const before = await countOf(kind)
        await registry.bulk.undo(caller, id, operator.origin())
        const ended = await whenOver(id)
        assert.deepEqual([ended?.status, ended?.error, ended?.restored], ['failed', 'altered', 0])
        assert.equal((await registry.getToken(caller, token.id)).status, 'inactive')
        assert.equal(await countOf(kind), before + 1)
        altered.add(`${kind} ${id}`)
      })
    }
  })

  describe('a token altered by hand authenticates nobody:', () => {
    let other: Token
    beforeEach(async () => {
      other = await estate.token()
    })
    type Alter = (token: Token) => Promise<unknown>
    const alterations: Readonly<Record<string, { fields?: object; alter: Alter; names?: () => string }>> = {
      'a status switched on': {
        fields: { status: 'inactive' },
        alter: ({ id }) => db.run("UPDATE tokens SET status = 'active' WHERE id = ?1", id),
      },
      'an expiry taken away': {
        fields: { expiresAt: 1 },
        alter: ({ id }) => db.run('UPDATE tokens SET expires_at = NULL WHERE id = ?1', id),
      },
      'a version set back': {
        alter: ({ id }) => db.run('UPDATE tokens SET version = version - 1 WHERE id = ?1', id),
      },
      'a token moved to another sub-account': {
        alter: ({ id }) =>
          db.run('UPDATE tokens SET sub_account_id = ?1 WHERE id = ?2', estate.mine.subAccounts[1].id, id),
      },
      'a token moved to another account': {
        alter: ({ id }) =>
          db.run(
            'UPDATE tokens SET account_id = ?1, sub_account_id = ?2 WHERE id = ?3',
            ...[estate.theirs.accountId, estate.theirs.subAccounts[0].id, id],
          ),
      },
      'a digest moved to another token': {
        alter: async ({ id }) => {
          const row = await db.get<{ digest: Uint8Array }>('SELECT digest FROM tokens WHERE id = ?1', id)
          await db.run('DELETE FROM tokens WHERE id = ?1', id)
          await db.run('UPDATE tokens SET digest = ?1 WHERE id = ?2', row.digest, other.id)
        },
        names: () => other.id,
      },
      'a stamp copied from another row': {
        alter: ({ id }) =>
          db.run('UPDATE tokens SET stamp = (SELECT stamp FROM tokens WHERE id = ?1) WHERE id = ?2', other.id, id),
      },
      'a stamp emptied': { alter: ({ id }) => db.run('UPDATE tokens SET stamp = ?1 WHERE id = ?2', Buffer.of(), id) },
    }
    for (const [what, { fields = {}, alter, names }] of Object.entries(alterations)) {
      test(what, async () => {
        const token = await estate.token(fields)
        await alter(token)
        const tampered = { kind: 'token', id: names?.() ?? token.id } as const
        await isNoticed(tampered, () => verify(token.credential), asUnknown)
        const form = { body: `token=${token.credential}`, headers: [FORM] as const }
        const introspected = await estate.mineAsks({ method: 'POST', path: '/oauth2/introspect', ...form })
        assert.deepEqual(introspected.json, { active: false })
        asUnknown(await estate.ask({ path: TOKEN, headers: [bearer(token.credential)] }))
      })
    }

    test('times later than any date: the rest of the page is unharmed, and the token can be switched off and deleted', async () => {
      const [token, near] = [await estate.token(), await estate.token()]
      // Which the overview and some filters compare with the time of creation.
      const owner = `/api/v1/apiClient/sub-account/${token.subAccount.id}`
      const limit = (seconds: number | null) =>
        estate.mineAsks({ method: 'PATCH', path: owner, body: { policy: { maxLifetimeSeconds: seconds } } })
      assert.equal((await limit(999_999_999)).status, 200)
      await db.run(
        'UPDATE tokens SET expires_at = 9223372036854775807, created_at = 9223372036854775807 WHERE id = ?1',
        token.id,
      )
      await isNoticed({ kind: 'token', id: token.id }, () => verify(token.credential), asUnknown)
      const path = `${TOKEN}/${token.id}`
      const { items } = (await estate.mineAsks({ path: `${TOKEN}?limit=2&include=details` })).json.data
      assert.deepEqual(
        items.map((item: { _id: string }) => item._id),
        [near.id, token.id],
      )
      const lists = ['active', 'expired', 'suspended'].map((status) => `${TOKEN}?effectiveStatus=${status}`)
      for (const asked of [`${path}?include=details`, '/api/v1/apiClient/overview', ...lists]) {
        assert.equal((await estate.mineAsks({ path: asked })).status, 200, asked)
      }
      assert.equal((await limit(null)).status, 200)
      const { problems } = await examine(estate.running)
      assert.ok(problems.map(name).includes(`token ${token.id}`))
      assert.equal((await estate.mineAsks({ method: 'PUT', path, body: { status: 'inactive' } })).status, 200)
      assert.equal((await estate.mineAsks({ method: 'DELETE', path })).status, 200)
      assert.equal((await estate.mineAsks({ path: `${path}/history` })).status, 200)
      altered.delete(`token ${token.id}`)
    })

    for (const field of ['metadata', 'tags']) {
      test(`${field} that are no JSON: named, the rest of the page unharmed, and the token can be changed and deleted`, async () => {
        const [token, other] = [await estate.token({ tags: ['red'] }), await estate.token({ tags: ['red'] })]
        const paths = [token, other].map(({ id }) => `${TOKEN}/${id}`)
        for (const { id } of [token, other]) await db.run(`UPDATE tokens SET ${field} = '{' WHERE id = ?1`, id)
        assert.equal((await verify(token.credential)).status, 204)
        const { items } = (await estate.mineAsks({ path: `${TOKEN}?limit=2&include=details` })).json.data
        assert.deepEqual(
          items.map((item: { _id: string }) => item._id),
          [other.id, token.id],
        )
        const { problems } = await examine(estate.running)
        assert.ok(problems.map(name).includes(`token ${token.id}`))
        const patched = await estate.mineAsks({ method: 'PATCH', path: paths[0] ?? '', body: { [field]: null } })
        assert.equal(patched.status, 200)
        assert.equal((await estate.mineAsks({ path: `${paths[0]}/history` })).status, 200)
        for (const path of paths) assert.equal((await estate.mineAsks({ method: 'DELETE', path })).status, 200)
        const { n } = await db.get<{ n: number }>('SELECT count(*) AS n FROM token_tags WHERE token_id = ?1', other.id)
        assert.equal(Number(n), 0)
      })
    }

    test('metadata of a sub-account that are no JSON: the list of sub-accounts is unharmed', async () => {
      const [{ id }] = estate.mine.subAccounts
      await db.run(`UPDATE sub_accounts SET metadata = '{' WHERE id = ?1`, id)
      const { items } = (await estate.mineAsks({ path: `${SUB_ACCOUNT}?limit=100` })).json.data
      assert.equal(items.find(({ _id }: { _id: string }) => _id === id).metadata, null)
      await db.run('UPDATE sub_accounts SET metadata = NULL WHERE id = ?1', id)
    })

    test('the control: judged without its stamp, a status switched on by hand would let in', async () => {
      const { store } = estate.running
      const token = await estate.token({ status: 'inactive' })
      await db.run("UPDATE tokens SET status = 'active' WHERE id = ?1", token.id)
      altered.add(`token ${token.id}`)
      const candidate = await store.findCandidate(token.credential)
      assert.ok(candidate)
      assert.equal(judge({ ...candidate, tampered: undefined }, Date.now()).accepted, true)
      assert.equal(judge(candidate, Date.now()).accepted, false)
    })

    test('put back to what it was before it was switched off, it stays off, though it was just verified', async () => {
      const token = await estate.token()
      assert.equal((await verify(token.credential)).status, 204)
      await estate.mineAsks({ method: 'PUT', path: `${TOKEN}/${token.id}`, body: { status: 'inactive' } })
      await db.run("UPDATE tokens SET status = 'active', version = 1 WHERE id = ?1", token.id)
      assert.equal((await verify(token.credential)).status, 401)
      altered.add(`token ${token.id}`)
    })
  })

  describe('what stands behind a token, altered by hand, lets nobody in:', () => {
    const subAccount = async () => {
      const { operator } = estate.running
      const fields = { name: 'Held', email: 'h@x.example', companyName: 'H' }
      const [held] = await operator.createSubAccounts(estate.mine.accountId, [fields])
      return held?.id ?? ''
    }

    test('a suspension lifted', async () => {
      const { operator, registry } = estate.running
      const id = await subAccount()
      const token = await estate.token({ subAccountId: id })
      const caller = operator.actFor(estate.mine.accountId)
      await registry.updateSubAccount(caller, id, { status: 'suspended' }, operator.origin())
      await db.run('UPDATE sub_accounts SET suspended_at = NULL WHERE id = ?1', id)
      await isNoticed({ kind: 'sub-account', id }, () => verify(token.credential), asUnknown)
    })

    test('a sub-account with the stamp of another, noticed by whoever reads it', async () => {
      const [id, other] = [await subAccount(), await subAccount()]
      await db.run(
        'UPDATE sub_accounts SET stamp = (SELECT stamp FROM sub_accounts WHERE id = ?1) WHERE id = ?2',
        ...[other, id],
      )
      const path = `/api/v1/apiClient/sub-account/${id}`
      await isNoticed(
        { kind: 'sub-account', id },
        () => estate.mineAsks({ path }),
        ({ status }) => assert.equal(status, 200),
      )
    })

    for (const [what, sql] of Object.entries({
      'a former credential that lives longer': 'UPDATE retired_credentials SET retires_at = ?2 WHERE token_id = ?1',
      'a former credential with another stamp': 'UPDATE retired_credentials SET stamp = ?3 WHERE token_id = ?1',
    })) {
      test(what, async () => {
        const { operator, registry } = estate.running
        const { id, credential } = await estate.token()
        const caller = operator.actFor(estate.mine.accountId)
        await registry.rotateToken(caller, id, 60, operator.origin())
        assert.equal((await verify(credential)).status, 204)
        const values = sql.includes('?2') ? [id, Number.MAX_SAFE_INTEGER] : [id, randomBytes(32)]
        await db.run(sql.replace('?3', '?2'), ...values)
        await isNoticed({ kind: 'retired', id }, () => verify(credential), asUnknown)
      })
    }

    test('a former credential given to another token', async () => {
      const { operator, registry } = estate.running
      const [{ id, credential }, other] = [await estate.token(), await estate.token()]
      await registry.rotateToken(operator.actFor(estate.mine.accountId), id, 60, operator.origin())
      await db.run('UPDATE retired_credentials SET token_id = ?1 WHERE token_id = ?2', other.id, id)
      await isNoticed({ kind: 'retired', id: other.id }, () => verify(credential), asUnknown)
    })

    test('a digest put into a token while it is rotated, and taken out again, does not stay as a former credential', async () => {
      const { operator, registry } = estate.running
      const [{ id }, mover] = [await estate.token(), await estate.token()]
      type Row = Record<'digest' | 'stamp' | 'sealed', Uint8Array>
      const row = (id: string) => db.get<Row>('SELECT digest, stamp, sealed FROM tokens WHERE id = ?1', id)
      const [genuine, moved] = [await row(id), await row(mover.id)]
      await db.run('DELETE FROM tokens WHERE id = ?1', mover.id)
      await db.run('UPDATE tokens SET digest = ?1 WHERE id = ?2', moved.digest, id)
      await registry.rotateToken(operator.actFor(estate.mine.accountId), id, 60, operator.origin())
      await db.run(
        'UPDATE tokens SET digest = ?1, stamp = ?2, sealed = ?3, version = 1 WHERE id = ?4',
        ...[genuine.digest, genuine.stamp, genuine.sealed, id],
      )
      await isNoticed({ kind: 'retired', id }, () => verify(mover.credential), asUnknown)
    })

    for (const [what, make, sql] of [
      ['un-revoked', 'revoked', 'UPDATE account_keys SET revoked_at = NULL WHERE id = ?1'],
      ['extended', 'expired', 'UPDATE account_keys SET expires_at = NULL WHERE id = ?1'],
      ['moved to another account', 'live', 'UPDATE account_keys SET account_id = ?2 WHERE id = ?1'],
    ] as const) {
      test(`an account key ${what}`, async () => {
        const { operator } = estate.running
        const expiresAt = make === 'expired' ? operator.origin().at - 1 : null
        const { id, key } = await operator.createKey(estate.mine.accountId, make, expiresAt)
        if (make === 'revoked') await operator.revokeKey(id)
        await db.run(sql, id, ...(sql.includes('?2') ? [estate.theirs.accountId] : []))
        await isNoticed({ kind: 'key', id }, () => estate.ask({ path: TOKEN, headers: [bearer(key)] }), asUnknown)
      })
    }
  })

  test('an account key whose rights cannot be read is listed without any, and it and the others can be revoked', async () => {
    const { operator, registry } = estate.running
    const { accountId, subAccounts } = estate.mine
    const limited = { role: 'owner', reveal: true, subAccounts: [subAccounts[0].id] } as const
    const [unreadable, readable, caller] = [
      await operator.createKey(accountId, 'unreadable', null, limited),
      await operator.createKey(accountId, 'readable', null, limited),
      await operator.createKey(accountId, 'caller', null, limited),
    ]
    await db.run("UPDATE account_keys SET permissions = '{' WHERE id = ?1", unreadable.id)
    const shown = { role: null, reveal: false, subAccounts: [] }
    const listed = (await estate.mineAsks({ path: `${KEY}?limit=100` })).json.data.items
    const { role, reveal, subAccounts: ids } = listed.find(({ _id }: { _id: string }) => _id === unreadable.id)
    assert.deepEqual({ role, reveal, subAccounts: ids }, shown)
    const keys = await registry.keys.list(operator.actFor(accountId), { page: 1, limit: 100 })
    const printed = keys.items.map(keyToWire).find(({ _id }) => _id === unreadable.id)
    assert.deepEqual({ ...printed, ...shown }, printed)
    const asLimited = (ask: Ask) => estate.ask({ ...ask, headers: [bearer(caller.key)] })
    const seen = (await asLimited({ path: KEY })).json.data
    const names = seen.items.map((key: { name: string }) => key.name)
    assert.deepEqual([seen.total, ...names.toSorted()], [2, 'caller', 'readable'])
    assert.equal((await asLimited({ method: 'DELETE', path: `${KEY}/${unreadable.id}` })).status, 404)
    assert.equal((await asLimited({ method: 'DELETE', path: `${KEY}/${readable.id}` })).status, 200)
    const revoked = await estate.mineAsks({ method: 'DELETE', path: `${KEY}/${unreadable.id}` })
    assert.deepEqual([revoked.status, revoked.json.data.role], [200, null])
    altered.add(`key ${unreadable.id}`)
  })

  test('an idempotency key altered in the database shows no credential to an account key without the right to reveal', async () => {
    const manager = { role: 'manager', reveal: false, subAccounts: null } as const
    const caller = await estate.running.operator.createKey(estate.mine.accountId, 'manager', null, manager)
    const create = (name: string) => {
      const body = { subAccountId: estate.mine.subAccounts[0].id, name }
      const headers = [bearer(caller.key), ['idempotency-key', name]] as const
      return estate.ask({ method: 'POST', path: TOKEN, body, headers })
    }
    const { id, credential } = await estate.token()
    await db.run('UPDATE history SET "by" = ?1 WHERE token_id = ?2', caller.id, id)
    const alterations = {
      'subject = ?2': id,
      'request_digest = ?2': '0'.repeat(128),
      'created_at = ?2': Date.now() - 1,
    }
    for (const [what, value] of Object.entries(alterations)) {
      assert.equal((await create(what)).status, 201)
      await db.run(`UPDATE idempotency_keys SET ${what} WHERE key = ?1`, what, value)
      const heard = await create(what)
      assert.deepEqual([heard.status, heard.headers['x-latchkey-error']], [409, 'idempotency-conflict'], what)
      assert.ok(!heard.text.includes(credential))
    }
    const made = (await create('rotated since')).json.data
    const path = `${TOKEN}/${made._id}/rotate`
    const rotated: string = (await estate.mineAsks({ method: 'POST', path, body: {} })).json.data.token
    await db.run('UPDATE tokens SET version = 1 WHERE id = ?1', made._id)
    altered.add(`token ${made._id}`)
    assert.equal((await create('rotated since')).json.data.token, `lk_tok_…${rotated.slice(-4)}`)
  })

  describe('a ciphertext opens only as it was sealed, and where:', () => {
    type Change = (sealed: Uint8Array, others: Others) => Uint8Array | Promise<Uint8Array>
    interface Others {
      readonly sameSubAccount: Uint8Array
      readonly sameAccount: Uint8Array
      readonly otherAccount: Uint8Array
    }
    const flipped = (offset: number) => (sealed: Uint8Array) =>
      sealed.map((byte, index) => (index === (offset + sealed.length) % sealed.length ? byte ^ 1 : byte))
    const changes: Readonly<Record<string, Change>> = {
      'a bit of its format': flipped(0),
      "a bit of its key's id": flipped(1),
      "the last bit of its key's id": flipped(4),
      'a bit of its nonce': flipped(5),
      'the last bit of its nonce': flipped(16),
      'a bit of its text': flipped(17),
      'the last bit of its text': flipped(-17),
      'a bit of its tag': flipped(-16),
      'the last bit of its tag': flipped(-1),
      'cut short': (sealed) => sealed.slice(0, -1),
      'cut at its front': (sealed) => sealed.slice(1),
      'without its tag': (sealed) => sealed.slice(0, -16),
      'without its text': (sealed) => Buffer.concat([sealed.slice(0, 17), sealed.slice(-16)]),
      'drawn out': (sealed) => Buffer.concat([sealed, Buffer.of(0)]),
      twice: (sealed) => Buffer.concat([sealed, sealed]),
      emptied: () => new Uint8Array(),
      'of another token of the sub-account': (_, { sameSubAccount }) => sameSubAccount,
      'of another sub-account': (_, { sameAccount }) => sameAccount,
      'of another account': (_, { otherAccount }) => otherAccount,
      'of another field, the store secret': async () =>
        (await db.get<{ sealed: Uint8Array }>('SELECT sealed_secret AS sealed FROM vault')).sealed,
    }
    for (const [what, change] of Object.entries(changes)) {
      test(`${what}: shown as empty, the rest of the page unharmed, and the token can be switched off, rotated and deleted`, async () => {
        const [token, near] = [await estate.token(), await estate.token()]
        const far = await estate.token({ subAccountId: estate.mine.subAccounts[1].id })
        const foreign = await estate.token({}, estate.theirs)
        const others = {
          sameSubAccount: await sealedOf(near.id),
          sameAccount: await sealedOf(far.id),
          otherAccount: await sealedOf(foreign.id),
        }
        await put(token.id, await change(await sealedOf(token.id), others))
        const shownAsEmpty = (heard: Heard) => {
          assert.deepEqual([heard.status, heard.json.data.token], [200, ''])
          for (const { credential } of [token, near, far, foreign]) assert.ok(!heard.text.includes(credential))
        }
        const tampered = { kind: 'credential', id: token.id } as const
        const path = `${TOKEN}/${token.id}`
        await isNoticed(tampered, () => estate.mineAsks({ path }), shownAsEmpty)
        shownAsEmpty(await estate.mineAsks({ method: 'POST', path: `${path}/reveal` }))
        const details = await estate.mineAsks({ path: `${path}?include=details` })
        assert.equal(details.json.data.details.credentialUnreadable, true)
        const { items } = (await estate.mineAsks({ path: `${TOKEN}?limit=100` })).json.data
        const shown = new Map(items.map((item: { _id: string; token: string }) => [item._id, item.token]))
        assert.deepEqual([shown.get(token.id), shown.get(near.id)], ['', near.credential])
        assert.equal((await verify(token.credential)).status, 204, 'whom the token lets in does not hang on it')
        const { problems } = await examine(estate.running)
        assert.ok(problems.map(name).includes(name(tampered)))
        shownAsEmpty(await estate.mineAsks({ method: 'PUT', path, body: { status: 'inactive' } }))
        assert.equal((await verify(token.credential)).status, 401)
        shownAsEmpty(await estate.mineAsks({ method: 'PUT', path, body: { status: 'active' } }))
        const rotated = await estate.mineAsks({ method: 'POST', path: `${path}/rotate`, body: {} })
        assert.equal((await verify(rotated.json.data.token)).status, 204)
        assert.equal((await estate.mineAsks({ method: 'DELETE', path })).status, 200)
        altered.delete(name(tampered))
      })
    }

    test('a token moved to another account, alone or with its sub-account, does not show its credential there', async () => {
      const { id, credential } = await estate.token()
      const move = (table: string, row: string, to: Tenant) =>
        db.run(`UPDATE ${table} SET account_id = ?1 WHERE id = ?2`, to.accountId, row)
      const subAccountId = estate.mine.subAccounts[0].id
      const asked = async () => {
        for (const path of [`${TOKEN}/${id}`, `${TOKEN}?limit=100`, `${TOKEN}/sub-account/${subAccountId}?limit=100`]) {
          const heard = await estate.ask({ path, headers: [bearer(estate.theirs.key)] })
          assert.ok(!heard.text.includes(credential), `${path}: ${heard.status}`)
        }
      }
      await move('tokens', id, estate.theirs)
      await asked()
      await move('sub_accounts', subAccountId, estate.theirs)
      await asked()
      await move('sub_accounts', subAccountId, estate.mine)
      await move('tokens', id, estate.mine)
    })

    test('the control: sealed without its context, a ciphertext opens in any row', () => {
      const key = randomBytes(32)
      const seal = (text: string) => {
        const nonce = randomBytes(12)
        const cipher = createCipheriv('aes-256-gcm', key, nonce)
        return { nonce, sealed: Buffer.concat([cipher.update(text), cipher.final()]), tag: cipher.getAuthTag() }
      }
      const open = ({ nonce, sealed, tag }: ReturnType<typeof seal>) => {
        const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAuthTag(tag)
        return Buffer.concat([decipher.update(sealed), decipher.final()]).toString()
      }
      const rows = { first: seal('of the first'), second: seal('of the second') }
      const swapped = { first: rows.second, second: rows.first }
      assert.deepEqual([open(swapped.first), open(swapped.second)], ['of the second', 'of the first'])
    })

    test('an older ciphertext of the same token is named by the doctor', async () => {
      const { operator, registry } = estate.running
      const { id } = await estate.token()
      const before = await sealedOf(id)
      await registry.rotateToken(operator.actFor(estate.mine.accountId), id, 0, operator.origin())
      await put(id, before)
      const found = (await examine(estate.running)).problems.find((each) => each.id === id)
      assert.equal(found?.kind, 'credential')
      assert.match(found?.problem ?? '', /older one/)
      altered.add(`credential ${id}`)
    })
  })

  test('the doctor names every row that was altered, and no other', async () => {
    const { healthy, problems, problemCount, checks } = await examine(estate.running)
    assert.equal(healthy, false)
    assert.deepEqual(new Set(problems.map(name)), altered)
    assert.equal(problemCount, problems.length)
    assert.ok(problemCount > 15)
    assert.match(checks.find(({ check }) => check === 'rows')?.result ?? '', new RegExp(`^${problemCount} .*stamps`))
    for (const secret of estate.secrets) assert.ok(!JSON.stringify(problems).includes(secret))
  })

  describe('the history shows what was done to it:', () => {
    const LAST = '(SELECT max(seq) FROM history WHERE account_id = ?1)'
    const alterations: Readonly<Record<string, { sql: string; found: RegExp }>> = {
      'a row altered': {
        sql: `UPDATE history SET "by" = 'nobody' WHERE account_id = ?1 AND seq = 3`,
        found: /row 3 is altered/,
      },
      'a fact altered': {
        sql: `UPDATE history SET to_facts = '{}' WHERE account_id = ?1 AND seq = 4`,
        found: /row 4 is altered/,
      },
      'a fact that is no JSON': {
        sql: `UPDATE history SET from_facts = 'x' WHERE account_id = ?1 AND seq = 4`,
        found: /row 4 is altered/,
      },
      'facts that are no object': {
        sql: `UPDATE history SET to_facts = 'null' WHERE account_id = ?1 AND seq = 4`,
        found: /row 4 is altered/,
      },
      'a fact that the database reads before the one that was there': {
        sql: `UPDATE history SET to_facts = '{"name":"other",' || substr(to_facts, 2) WHERE account_id = ?1 AND seq = 4`,
        found: /row 4 is altered/,
      },
      'a row removed': {
        sql: 'DELETE FROM history WHERE account_id = ?1 AND seq = 2',
        found: /rows 2 to 2 are missing/,
      },
      'the last row removed': {
        sql: `DELETE FROM history WHERE account_id = ?1 AND seq = ${LAST}`,
        found: /are missing/,
      },
      'the last row removed and the head set back': {
        sql: `UPDATE history_heads SET seq = seq - 1, last = (SELECT stamp FROM history h WHERE h.account_id = ?1 AND h.seq = history_heads.seq - 1) WHERE account_id = ?1`,
        found: /head is altered/,
      },
      'the whole history removed': {
        sql: 'DELETE FROM history_heads WHERE account_id = ?1',
        found: /history is missing/,
      },
      'a row inserted': {
        sql: `INSERT INTO history (account_id, seq, at, by, action, subject, from_facts, to_facts, stamp)
              SELECT account_id, seq + 1, at, by, action, subject, from_facts, to_facts, stamp FROM history
              WHERE account_id = ?1 AND seq = ${LAST}`,
        found: /is altered, .*replaced/,
      },
    }
    for (const [what, { sql, found }] of Object.entries(alterations)) {
      test(what, async () => {
        const { operator } = estate.running
        const { id } = await operator.createAccount('Watched')
        for (let n = 0; n < 4; n++) await operator.createKey(id, `k${n}`, null)
        assert.deepEqual((await problemsOf(id)).length, 0)
        await db.run(sql, id)
        assert.match((await problemsOf(id)).join(), found)
        await estate.running.store.listHistory(id, { page: 1, limit: 10 })
      })
    }

    const CUT = 'DELETE FROM history WHERE account_id = ?1 AND seq > 2'
    const SET_BACK = `UPDATE history_heads SET seq = 2,
      last = (SELECT stamp FROM history WHERE account_id = ?1 AND seq = 2) WHERE account_id = ?1`
    const HEAD_REMOVED = 'DELETE FROM history_heads WHERE account_id = ?1'
    const cuts: Readonly<Record<string, readonly string[]>> = {
      'the last rows removed and the head set back': [CUT, SET_BACK],
      'the head set back, and all rows left': [SET_BACK],
      'the head removed, and all rows left': [HEAD_REMOVED],
      'all rows and the head removed': ['DELETE FROM history WHERE account_id = ?1', HEAD_REMOVED],
    }
    for (const [what, statements] of Object.entries(cuts)) {
      test(`also after changes, which it does not prevent: ${what}`, async () => {
        const { operator, registry } = estate.running
        const { id: accountId } = await operator.createAccount('Watched')
        const about = { name: 'Watched', email: 'w@example.com', companyName: 'W' }
        const [subAccount] = await operator.createSubAccounts(accountId, [about])
        const bulk = (name: string) => ({ accountId, subAccountId: subAccount?.id ?? '', name })
        const [token] = await operator.createTokens([bulk('one')])
        for (const sql of statements) await db.run(sql, accountId)
        const caller = operator.actFor(accountId)
        const off = await registry.updateToken(caller, token?.id ?? '', { status: 'inactive' }, operator.origin())
        assert.equal(off.status, 'inactive')
        await operator.createKey(accountId, 'later', null)
        await operator.createTokens([bulk('two'), bulk('three')])
        assert.match((await problemsOf(accountId)).join(), /head is altered/)
      })
    }

    async function problemsOf(accountId: string): Promise<string[]> {
      const { problems } = await verifyHistory(estate.running)
      return problems.filter((problem) => problem.startsWith(accountId))
    }
  })
}

const FORM = ['content-type', 'application/x-www-form-urlencoded'] as const
