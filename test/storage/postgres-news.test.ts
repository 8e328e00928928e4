// What only PostgreSQL has: transactions that begin in one order and become visible in another.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { connect } from '../../src/storage/postgres/pool.ts'
import { SERVER } from '../../src/storage/postgres/postgres-connection.ts'
import { FORGOTTEN_AFTER } from '../../src/tokens/history/actions.ts'
import { covers, MOST_NEWS } from '../../src/tokens/verifiers/lease.ts'
import { openEmptyPostgres, PATIENT, type TestPostgres } from '../support/postgres.ts'
import { Estate, updateToken } from '../support/store.ts'

for (const partitions of [1, 3]) {
  describe(`news from a store with ${partitions} partition(s)`, () => {
    let opened: TestPostgres
    let estate: Estate
    before(async () => {
      opened = await openEmptyPostgres(partitions === 1 ? PATIENT : { ...PATIENT, partitions })
      estate = new Estate(opened)
    })
    after(() => opened.close())

    const news = (since?: string) => opened.store.findNews(since, FORGOTTEN_AFTER, MOST_NEWS)

    test('a change that was begun before a position was read, and committed after it, is news since then', async () => {
      const account = await estate.account()
      const token = await estate.token(await estate.subAccount(account), 'One')
      const client = await connect(opened.options.databaseUrl)
      try {
        await client.query('BEGIN')
        await client.query(
          `INSERT INTO history (account_id, seq, at, by, action, subject, from_facts, to_facts, stamp)
           VALUES ('acc_slow', 1, 1, 'x', 'token.update', 'tok_slow', '{}', '{}', '')`,
        )
        const decided = `substr(md5(${SERVER}), 1, 16) || '/' || pg_current_xact_id()`
        await client.query(
          `INSERT INTO history_heads (account_id, seq, last, stamp, decided) VALUES ('acc_slow', 1, '', '', ${decided})`,
        )
        // Later transactions are over first.
        await updateToken(opened.store, account.id, token.id, { policy: { scopes: ['a'] } }, estate.origin())
        const { position } = await news()
        const mark = await opened.store.findMark(account.id)
        assert.equal(covers(position, mark), true)
        assert.deepEqual((await news(position)).changes, [])
        await client.query('COMMIT')
        const late = await news(position)
        assert.deepEqual(
          late.changes?.map(({ subject }) => subject),
          ['tok_slow'],
        )
        const slow = await opened.store.findMark('acc_slow')
        assert.deepEqual([covers(position, slow), covers(late.position, slow)], [false, true])
      } finally {
        await client.end()
      }
    })

    test('what another server has decided is covered by every position of this one, and by none of the other', async () => {
      const { position } = await news()
      const elsewhere = position.replace(/^[^/]*/, '0123456789abcdef')
      await opened.server.query(
        opened.database,
        `UPDATE history_heads SET decided = '0123456789abcdef/9999999' WHERE account_id = 'acc_slow'`,
      )
      const mark = await opened.store.findMark('acc_slow')
      assert.deepEqual([covers(position, mark), covers(elsewhere, mark)], [true, false])
    })

    test('rows that were written before there were positions are no news', async () => {
      const { position } = await news()
      await opened.server.query(opened.database, `UPDATE history SET xid = NULL WHERE account_id = 'acc_slow'`)
      assert.deepEqual((await news(position)).changes, [])
    })
  })
}
