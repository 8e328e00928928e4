// A copy from PostgreSQL waits for those who use the store, and says who they are.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openPostgresSource } from '../../src/storage/postgres/sql/postgres-copy.ts'
import { openPostgresStore } from '../../src/storage/postgres/store.ts'
import { openEmptyPostgres, type TestPostgres } from '../support/postgres.ts'

describe('a copy of a PostgreSQL store', () => {
  let opened: TestPostgres
  before(async () => {
    opened = await openEmptyPostgres()
    await opened.store.close()
  })
  after(() => opened.close())

  /** As a pooler names its connections: only the lock shows that they are in use. */
  const openUnderAnotherName = () =>
    openPostgresStore({ ...opened.options, databaseUrl: `${opened.options.databaseUrl}?application_name=pooler` })

  test('says which connections it waits for, and begins when they are closed', async () => {
    const { store } = await openUnderAnotherName()
    const waiting = Promise.withResolvers<string>()
    // Before that, it may wait for connections that the server has not closed yet.
    const opening = openPostgresSource(opened.options, (text) => {
      if (text.includes('pooler')) waiting.resolve(text)
    })
    const text = await waiting.promise
    await store.close()
    await (await opening).close()
    assert.match(text, /^Waiting up to 5 s for (process \d+ \(pooler, from 127\.0\.0\.1, [^)]+\)(, |\.$))+/)
  })

  test('waits for another copy, which it does not take for an instance', async () => {
    const first = await openPostgresSource(opened.options)
    const waiting = Promise.withResolvers<string>()
    const second = openPostgresSource(opened.options, (text) => {
      if (text.includes('latchkey copy')) waiting.resolve(text)
    })
    assert.match(
      String(await Promise.race([waiting.promise, second])),
      /^Waiting up to 5 s for process \d+ \(latchkey copy, /,
    )
    await first.close()
    await (await second).close()
  })

  test('that is refused names the connections, and what to do about those that a pooler keeps', async () => {
    const { store } = await openPostgresStore(opened.options)
    await assert.rejects(openPostgresSource(opened.options), {
      name: 'OperatorError',
      message:
        /is in use\. Stop every instance.*: (process \d+ \(latchkey, from 127\.0\.0\.1, [^)]+\)(, |\. ))+A pooler.*RECONNECT/,
    })
    await store.close()
  })

  test('keeps the store from being opened meanwhile, and says so', async () => {
    const source = await openPostgresSource(opened.options)
    await assert.rejects(openPostgresStore(opened.options), {
      name: 'OperatorError',
      message: /locked by .* copies it/,
    })
    await source.close()
  })
})
