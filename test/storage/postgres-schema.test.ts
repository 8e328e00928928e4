// What the schema refuses by itself, whoever asks: rows that belong to nothing. Checked for all rows of a statement together.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { SubAccount, TokenRecord } from '../../src/tokens/model/token.ts'
import { openEmptyPostgres, PATIENT, type TestPostgres } from '../support/postgres.ts'
import { deleteToken, Estate } from '../support/store.ts'

describe('the schema in PostgreSQL', () => {
  let opened: TestPostgres
  let subAccount: SubAccount
  let token: TokenRecord
  before(async () => {
    opened = await openEmptyPostgres(PATIENT)
    const estate = new Estate(opened)
    subAccount = await estate.subAccount(await estate.account())
    token = await estate.token(subAccount, 'kept')
    await estate.subAccount(await estate.account('Other'))
  })
  after(() => opened.close())

  const query = <Row extends object>(sql: string, values: unknown[] = []) =>
    opened.server.query<Row>(opened.database, sql, values)
  const isForeign = { code: '23503' }
  const COPIED = `INSERT INTO tokens (id, account_id, sub_account_id, name, status, created_at, version, digest, sealed, stamp)
    SELECT 'tok_copy', $2, $3, 'copy', status, created_at, version, sha256('copy'), sealed, stamp FROM tokens WHERE id = $1`

  test('refuses a token of no sub-account, and of a sub-account of another account', async () => {
    await assert.rejects(query(COPIED, [token.id, token.accountId, 'sub_none']), isForeign)
    const [other] = await query<{ id: string }>('SELECT id FROM accounts WHERE id <> $1', [token.accountId])
    await assert.rejects(query(COPIED, [token.id, other?.id, subAccount.id]), isForeign)
  })

  test('refuses to move a token, and to delete or move a sub-account that has tokens', async () => {
    const other = '(SELECT id FROM sub_accounts WHERE id <> $1)'
    await assert.rejects(query(`UPDATE tokens SET sub_account_id = ${other}`, [subAccount.id]), isForeign)
    await assert.rejects(query('DELETE FROM sub_accounts WHERE id = $1', [subAccount.id]), isForeign)
    const elsewhere = '(SELECT id FROM accounts WHERE id <> account_id LIMIT 1)'
    await assert.rejects(
      query(`UPDATE sub_accounts SET account_id = ${elsewhere} WHERE id = $1`, [subAccount.id]),
      isForeign,
    )
  })

  test('deletes a sub-account without tokens', async () => {
    assert.equal((await query('DELETE FROM sub_accounts WHERE id <> $1 RETURNING id', [subAccount.id])).length, 1)
  })

  test('a deletion waits for the insertion of a token, and is refused then', async () => {
    let refused: Promise<void> | undefined
    await opened.server.transaction(opened.database, async (run) => {
      await run(COPIED, [token.id, token.accountId, subAccount.id])
      refused = assert.rejects(query('DELETE FROM sub_accounts WHERE id = $1', [subAccount.id]), isForeign)
      const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
      while ((await query(waiting)).length === 0);
      await run('COMMIT')
    })
    assert.ok(refused)
    await refused
    await query(`DELETE FROM tokens WHERE id = 'tok_copy'`)
  })

  test('refuses to make a token findable that does not exist, and forgets one that is deleted', async () => {
    const search = `INSERT INTO token_search SELECT 'tok_none', account_id, sub_account_id, status, folded_name, grams FROM token_search`
    await assert.rejects(query(search), isForeign)
    const doomed = await new Estate(opened).token(subAccount, 'doomed')
    await deleteToken(opened.store, doomed.accountId, doomed.id, new Estate(opened).origin())
    assert.deepEqual(await query('SELECT token_id FROM token_search'), [{ token_id: token.id }])
  })
})
