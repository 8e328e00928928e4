// Behind a pooler that lends its connections by the transaction, while named statements are left on.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openPostgresStore } from '../../src/storage/postgres/store.ts'
import type { SubAccount, TokenRecord } from '../../src/tokens/model/token.ts'
import type { Store } from '../../src/tokens/ports.ts'
import { openEmptyPostgres, PATIENT, type TestPostgres } from '../support/postgres.ts'
import { credentialOf, Estate, FIRST_PAGE, updateToken } from '../support/store.ts'
import { TransactionPooler } from '../support/transaction-pooler.ts'

const TOKENS = 20

describe('a PostgreSQL store behind a pooler in transaction mode, with named statements on', () => {
  let opened: TestPostgres
  let estate: Estate
  let owner: SubAccount
  let tokens: readonly TokenRecord[]
  let pooler: TransactionPooler
  before(async () => {
    opened = await openEmptyPostgres()
    estate = new Estate(opened)
    owner = await estate.subAccount(await estate.account())
    tokens = await estate.tokens(Array.from({ length: TOKENS }, (_, i) => estate.tokenRecord(owner, `t${i}`)))
    pooler = await TransactionPooler.start(opened.server.port)
  })
  after(async () => {
    await opened.close()
    await pooler.close()
  })

  /** Returns the warnings of a store that is opened through the pooler. */
  async function throughPooler(work: (store: Store) => Promise<void>): Promise<readonly string[]> {
    const warnings: string[] = []
    const { store } = await openPostgresStore({
      ...opened.options,
      ...PATIENT,
      databaseUrl: pooler.urlOf(opened.options.databaseUrl),
      warn: (warning) => warnings.push(warning),
    })
    try {
      await work(store)
    } finally {
      await store.close()
    }
    return warnings
  }

  const history = async () => (await opened.store.listHistory(owner.accountId, FIRST_PAGE)).total

  test('no read fails, and one warning names the setting', async () => {
    const warnings = await throughPooler(async (store) => {
      for (let round = 0; round < 3; round++) {
        const found = await Promise.all(tokens.map(({ digest }) => store.findCandidate(credentialOf(digest))))
        assert.deepEqual(
          found.map((candidate) => candidate?.token.id),
          tokens.map(({ id }) => id),
        )
        assert.equal((await store.listTokens(owner.accountId, FIRST_PAGE))?.total, TOKENS)
        assert.equal((await store.listTokens(owner.accountId, { ...FIRST_PAGE, search: 'T1' }))?.total, 11)
      }
    })
    assert.equal(warnings.length, 1)
    assert.match(warnings[0] ?? '', /SQLSTATE 26000.*LATCHKEY_PG_PREPARED=off/)
  })

  test('no change fails, and each is made once', async () => {
    const first = await history()
    const warnings = await throughPooler(async (store) => {
      for (let round = 0; round < 3; round++) {
        const change = { status: round % 2 === 0 ? ('inactive' as const) : ('active' as const) }
        for (const { id } of tokens.slice(0, 3)) await updateToken(store, owner.accountId, id, change, estate.origin())
        await Promise.all(
          tokens.slice(3).map(({ id }) => updateToken(store, owner.accountId, id, change, estate.origin())),
        )
        await store.insertTokens([estate.tokenRecord(owner, `made in round ${round}`)], estate.origin())
      }
    })
    assert.equal(warnings.length, 1)
    assert.equal((await history()) - first, 3 * (TOKENS + 1))
  })
})
