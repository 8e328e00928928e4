// Someone who can write the database, but does not have the master key, gets nobody in and hides nothing.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, beforeEach, describe, test } from 'node:test'
import { verifyHistory } from '../../src/cli/doctor.ts'
import type { Token } from '../../src/tokens/token.ts'
import { Estate, sqliteEngine } from '../support/estate.ts'
import { bearer, closeConnections } from '../support/http.ts'

let estate: Estate
let db: DatabaseSync
before(async () => {
  estate = await Estate.open(sqliteEngine)
  db = new DatabaseSync(join(estate.config.dataDir, 'latchkey.db'), {
    timeout: 5_000,
    enableForeignKeyConstraints: false,
  })
})
after(async () => {
  db.close()
  closeConnections()
  await estate.close()
})

const TOKEN = '/api/v1/apiClient/token'
const verify = (credential: string) => estate.ask({ path: '/api/v1/verify', headers: [bearer(credential)] })
const tamperedCount = async () =>
  Number(/^latchkey_tampered_rows_total (\d+)$/m.exec((await estate.ask({ path: '/metrics' })).text)?.[1])

describe('a row altered by hand authenticates nobody', () => {
  let other: Token
  beforeEach(async () => {
    other = await estate.token()
  })
  const alterations: Readonly<Record<string, { fields?: object; alter: (token: Token) => unknown }>> = {
    'a status switched on': {
      fields: { status: 'inactive' },
      alter: ({ id }) => db.prepare("UPDATE tokens SET status = 'active' WHERE id = ?").run(id),
    },
    'an expiry taken away': {
      fields: { expiresAt: 1 },
      alter: ({ id }) => db.prepare('UPDATE tokens SET expires_at = NULL WHERE id = ?').run(id),
    },
    'a token moved to another sub-account': {
      alter: ({ id }) =>
        db.prepare('UPDATE tokens SET sub_account_id = ? WHERE id = ?').run(estate.mine.subAccounts[1].id, id),
    },
    'a token moved to another account': {
      alter: ({ id }) =>
        db
          .prepare('UPDATE tokens SET account_id = ?, sub_account_id = ? WHERE id = ?')
          .run(estate.theirs.accountId, estate.theirs.subAccounts[0].id, id),
    },
    'a digest moved to another token': {
      alter: ({ id }) => {
        const row = db.prepare('SELECT digest FROM tokens WHERE id = ?').get(id) as { digest: Uint8Array }
        db.prepare('DELETE FROM tokens WHERE id = ?').run(id)
        db.prepare('UPDATE tokens SET digest = ? WHERE id = ?').run(row.digest, other.id)
      },
    },
    'a stamp copied from another row': {
      fields: { status: 'inactive' },
      alter: ({ id }) =>
        db
          .prepare("UPDATE tokens SET status = 'active', stamp = (SELECT stamp FROM tokens WHERE id = ?) WHERE id = ?")
          .run(other.id, id),
    },
  }
  for (const [what, { fields = {}, alter }] of Object.entries(alterations)) {
    test(`${what}: refused as unknown, logged by id and counted`, async () => {
      const token = await estate.token(fields)
      const before = await tamperedCount()
      alter(token)
      const heard = await verify(token.credential)
      assert.equal(heard.status, 401)
      assert.equal(heard.headers['x-latchkey-reason'], 'unknown')
      assert.equal(await tamperedCount(), before + 1)
      assert.match(estate.logged.join(''), /does not match its stamp or seal/)
    })
  }

  test('a token put back by hand to what it was before it was switched off stays off, though it was just verified', async () => {
    const token = await estate.token()
    assert.equal((await verify(token.credential)).status, 204)
    await estate.mineAsks({ method: 'PUT', path: `${TOKEN}/${token.id}`, body: { status: 'inactive' } })
    db.prepare("UPDATE tokens SET status = 'active', version = 1 WHERE id = ?").run(token.id)
    assert.equal((await verify(token.credential)).status, 401)
  })

  test('a suspension lifted by hand does not lift it', async () => {
    const { operator, registry } = estate.running
    const fields = { name: 'Held', email: 'h@x.example', companyName: 'H' }
    const [held] = await operator.createSubAccounts(estate.mine.accountId, [fields])
    const token = await estate.token({ subAccountId: held?.id ?? '' })
    const caller = operator.actFor(estate.mine.accountId)
    await registry.updateSubAccount(caller, held?.id ?? '', { status: 'suspended' }, operator.origin())
    db.prepare('UPDATE sub_accounts SET suspended_at = NULL WHERE id = ?').run(held?.id ?? '')
    assert.equal((await verify(token.credential)).status, 401)
  })

  test('an account key that is un-revoked, extended or moved by hand does not authenticate', async () => {
    db.prepare('UPDATE account_keys SET revoked_at = NULL WHERE name = ?').run('revoked')
    db.prepare('UPDATE account_keys SET expires_at = NULL WHERE name = ?').run('expired')
    for (const key of [estate.mine.revokedKey, estate.mine.expiredKey]) {
      const heard = await estate.ask({ path: TOKEN, headers: [bearer(key)] })
      assert.equal(heard.json.message, 'Invalid token')
    }
  })
})

describe('a ciphertext opens only where it was sealed', () => {
  const sealedOf = (id: string) =>
    (db.prepare('SELECT sealed FROM tokens WHERE id = ?').get(id) as { sealed: Uint8Array }).sealed
  const put = (id: string, sealed: Uint8Array) =>
    db.prepare('UPDATE tokens SET sealed = ? WHERE id = ?').run(sealed, id)
  const changes: Readonly<Record<string, (sealed: Uint8Array, other: Uint8Array) => Uint8Array>> = {
    'moved to another row': (_, other) => other,
    'with one bit flipped': (sealed) => sealed.map((byte, index) => (index === 30 ? byte ^ 1 : byte)),
    'cut short': (sealed) => sealed.slice(0, -1),
    emptied: () => new Uint8Array(),
  }
  for (const [what, change] of Object.entries(changes)) {
    test(`${what}: 500 without a word, and the row named in the log`, async () => {
      const token = await estate.token()
      const other = await estate.token()
      put(token.id, change(sealedOf(token.id), sealedOf(other.id)))
      const heard = await estate.mineAsks({ path: `${TOKEN}/${token.id}` })
      assert.equal(heard.status, 500)
      assert.deepEqual(heard.json.error, { message: 'Internal server error' })
      assert.ok(!heard.text.includes(other.credential))
      assert.ok(estate.logged.join('').includes(token.id))
      await estate.mineAsks({ method: 'DELETE', path: `${TOKEN}/${token.id}` })
    })
  }
})

describe('the history shows what was done to it', () => {
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
    'a row removed': { sql: 'DELETE FROM history WHERE account_id = ?1 AND seq = 2', found: /rows 2 to 2 are missing/ },
    'the last row removed': {
      sql: `DELETE FROM history WHERE account_id = ?1 AND seq = ${LAST}`,
      found: /are missing/,
    },
    'the last row removed and the head set back': {
      sql: `UPDATE history_heads SET seq = seq - 1, last = (SELECT stamp FROM history h WHERE h.account_id = ?1 AND h.seq = history_heads.seq - 1) WHERE account_id = ?1`,
      found: /the head is altered/,
    },
    'the whole history removed': {
      sql: 'DELETE FROM history_heads WHERE account_id = ?1',
      found: /its history is missing/,
    },
    'a row inserted': {
      sql: `INSERT INTO history (account_id, seq, at, by, action, subject, from_facts, to_facts, stamp)
            SELECT account_id, seq + 1, at, by, action, subject, from_facts, to_facts, stamp FROM history
            WHERE account_id = ?1 AND seq = ${LAST}`,
      found: /is altered, or the one before it was replaced/,
    },
  }
  for (const [what, { sql, found }] of Object.entries(alterations)) {
    test(`${what} is found`, async () => {
      const { operator } = estate.running
      const { id } = await operator.createAccount('Watched')
      for (let n = 0; n < 4; n++) await operator.createKey(id, `k${n}`, null)
      assert.deepEqual((await problemsOf(id)).length, 0)
      db.prepare(sql).run(id)
      assert.match((await problemsOf(id)).join(), found)
    })
  }

  async function problemsOf(accountId: string): Promise<string[]> {
    const { problems } = await verifyHistory(estate.running)
    return problems.filter((problem) => problem.startsWith(accountId))
  }
})
