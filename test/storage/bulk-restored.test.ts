// An operation that runs in a store which is older than what was promised does not go on: it may have been undone since.
import assert from 'node:assert/strict'
import { copyFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Latchkey } from '../../src/compose.ts'
import { acceptLoss } from '../../src/storage/postgres/lineage/accept.ts'
import { openPostgresStore } from '../../src/storage/postgres/store.ts'
import type { Caller } from '../../src/tokens/model/permissions.ts'
import type { Store } from '../../src/tokens/service/store.ts'
import type { Cli } from '../support/cli.ts'
import { openEmptyPostgres, sharedServer, type TestPostgres } from '../support/postgres.ts'
import { BackedUp, opened } from '../support/restored.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'
import { Estate, FIRST_PAGE } from '../support/store.ts'

const NONE = { total: 0, parts: [] }
const ONGOING = { status: 'running', error: null }
const ENDED = { status: 'failed', error: 'restored' }

async function stateOf(store: Store, accountId: string, id: string) {
  const { status, error } = (await store.findBulk(accountId, id)) ?? {}
  return { status, error }
}

describe('the embedded store', () => {
  const world = new BackedUp()
  const database = join(world.cli.dataDir, 'latchkey.db')
  const copy = join(world.cli.dataDir, 'copy.db')
  let caller: Caller
  let id: string

  before(async () => {
    await world.living(async ({ operator, registry }) => {
      caller = operator.actFor((await operator.createAccount('Acme')).id)
      const owner = { name: 'S', email: 's@x.example', companyName: 'C' }
      const [subAccount] = await operator.createSubAccounts(caller.accountId, [owner])
      const base = { accountId: caller.accountId, subAccountId: subAccount?.id ?? '' }
      await operator.createTokens(['a', 'b'].map((name) => ({ ...base, name, status: 'inactive' as const })))
      ;({ id } = await registry.bulk.order(caller, { action: 'enable', filter: {} }, operator.origin()))
    })
    await world.backUp()
    // Nothing else is in its write-ahead log: it was closed.
    copyFileSync(database, copy)
  })
  after(() => world.dispose())

  const undo = ({ registry, operator }: Latchkey) => registry.bulk.undo(caller, id, operator.origin())
  const stateIn = (cli: Cli) => opened(cli.dataDir, ({ store }) => stateOf(store, caller.accountId, id))
  const putBack = () => {
    for (const file of [`${database}-wal`, `${database}-shm`]) rmSync(file, { force: true })
    copyFileSync(copy, database)
  }

  test('opened again as it was left: the operation goes on', async () => {
    assert.deepEqual(await stateIn(world.cli), ONGOING)
  })

  test('restored from a backup: it has ended', async () => {
    const folder = world.emptyFolder()
    assert.equal((await folder.run('restore', world.file)).code, 0)
    assert.deepEqual(await stateIn(folder), ENDED)
  })

  test('put back as older files after the operation was undone: it has ended', async () => {
    await world.living(undo)
    putBack()
    assert.deepEqual(await stateIn(world.cli), ENDED)
  })

  test('opened after the loss of its journal was accepted: it has ended', async () => {
    putBack()
    rmSync(world.journal)
    const { code, stderr } = await world.cli.run('restore', '--accept-revocation-loss')
    assert.equal(code, 0, stderr)
    assert.deepEqual(await stateIn(world.cli), ENDED)
  })
})

describe('a PostgreSQL database', () => {
  let original: TestPostgres
  let estate: Estate
  let clone: string
  let of: string
  let id: string

  before(async () => {
    original = await openEmptyPostgres()
    estate = new Estate(original)
    const account = await estate.account()
    await estate.token(await estate.subAccount(account), 'a')
    of = account.id
    const chosen = await original.store.chooseBulk(account.id, FIRST_PAGE)
    ;({ id } = await original.store.insertBulk(estate.bulkRecord(account), chosen ?? NONE, estate.origin()))
    await original.store.close()
    clone = `${original.database}_clone`
    await (await sharedServer()).query('postgres', `CREATE DATABASE "${clone}" TEMPLATE "${original.database}"`)
  })
  after(async () => {
    await original.server.query('postgres', `DROP DATABASE "${clone}" WITH (FORCE)`)
    await original.server.query('postgres', `DROP DATABASE "${original.database}" WITH (FORCE)`)
  })

  const stateIn = async (database: string) => {
    const there = { ...original.options, databaseUrl: original.server.url(database), witness: undefined }
    const { store } = await openPostgresStore(there)
    return stateOf(store, of, id).finally(() => store.close())
  }

  test('restored from a dump, once that is accepted: the operation has ended', async () => {
    const there = { ...original.options, databaseUrl: original.server.url(clone), witness: undefined }
    await acceptLoss(there)
    assert.deepEqual(await stateIn(clone), ENDED)
    assert.deepEqual(await stateIn(original.database), ONGOING, 'the original')
  })

  test('that lacks the undo of an operation is recognised: the undo is known outside of the database', async (t) => {
    const witness = temporaryFolder()
    t.after(() => removeFolder(witness))
    const { store } = await openPostgresStore({ ...original.options, witness })
    t.after(() => store.close())
    assert.deepEqual(readdirSync(witness), [])
    await store.undoBulk(of, id, null, estate.origin())
    assert.equal(readdirSync(witness).length, 1)
  })
})
