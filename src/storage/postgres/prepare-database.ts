// What is done with a database before it is used: whether its server is fit, whose store it has, its secret, its schema.
import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { OperatorError } from '../../tokens/model/errors.ts'
import { VAULT } from '../../tokens/model/tables.ts'
import type { KeyRing, VaultRow } from '../../tokens/trust/key-ring.ts'
import { newStoreSecret, STORE_SECRET_CONTEXT } from '../../tokens/trust/vault.ts'
import { selectList } from '../columns.ts'
import { UNFINISHED_COPY } from '../locked-tables.ts'
import { openSecret } from '../store-secret.ts'
import { findWeaknesses, requireFitServer } from './fit-server.ts'
import { connect, placeOf } from './pool.ts'
import { isStatementLost, KEEP_STATEMENTS } from './postgres-connection.ts'
import { migrate, requireKnownSchema, requireUpToDate, tableExists } from './schema/migrate.ts'
import { countPartitions, requirePartitions } from './schema/partitions.ts'

export interface DatabaseOptions {
  readonly databaseUrl: string
  readonly keys: KeyRing
  /** Off: refuses a schema that is not up to date. */
  readonly autoMigrate?: boolean
  /** False: refuses a database without a store. */
  readonly mayCreate?: boolean
  /** Into how many partitions a new store is divided; a store that exists must have as many. */
  readonly partitions?: number | undefined
}

export async function withClient<Result>(
  databaseUrl: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = await connect(databaseUrl)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Creates the store or migrates its schema, unless it must not. A wrong master key changes nothing. */
export async function prepareDatabase(client: pg.Client, options: DatabaseOptions) {
  const { databaseUrl, keys, autoMigrate = true, mayCreate = true, partitions } = options
  await requireFitServer(client)
  await requireKeptStatements(client, databaseUrl)
  const known = await readSecret(client, databaseUrl, keys)
  await requireFinishedCopy(client, databaseUrl)
  if (known === undefined && !mayCreate) {
    throw new OperatorError(
      `${placeOf(databaseUrl)} holds no store. Set DATABASE_URL to yours, or create one with \`latchkey account create\`.`,
    )
  }
  await requireKnownSchema(client)
  if (!autoMigrate) await requireUpToDate(client)
  const applied = await migrate(client, async () => {
    const sealed = keys.first.seal(newStoreSecret(), STORE_SECRET_CONTEXT)
    await client.query('INSERT INTO vault (key_id, sealed_secret, created_at) VALUES ($1, $2, $3)', [
      keys.first.id,
      sealed,
      Date.now(),
    ])
  })
  const storeSecret = known ?? (await readSecret(client, databaseUrl, keys))
  if (storeSecret === undefined) throw new OperatorError('The store was created but cannot be read')
  const firstEpoch = await readFirstEpoch(client)
  if (partitions !== undefined) await requirePartitions(client, partitions, autoMigrate)
  const [weaknesses, found] = [await findWeaknesses(client), await countPartitions(client)]
  return { storeSecret, applied, firstEpoch, weaknesses, partitions: found }
}

/** Refuses a pooler that mixes up prepared statements: another client must not find that of this one, which must still have it. */
async function requireKeptStatements(client: pg.Client, databaseUrl: string): Promise<void> {
  const statement = { name: `latchkey_${randomUUID()}`, text: 'SELECT' }
  const find = 'SELECT FROM pg_prepared_statements WHERE name = $1'
  const isKept = async () => {
    await client.query(statement)
    const found = await withClient(databaseUrl, (other) => other.query(find, [statement.name]))
    await client.query(statement)
    return found.rowCount === 0
  }
  const kept = await isKept().catch((error) => (isStatementLost(error) ? false : Promise.reject(error)))
  if (!kept) throw new OperatorError(`${placeOf(databaseUrl)}: ${KEEP_STATEMENTS}`)
}

/** The store secret; undefined for an empty database. Refuses a ring that lacks a key, and changes nothing. */
export async function readSecret(
  client: pg.Client,
  databaseUrl: string,
  keys: KeyRing,
): Promise<Uint8Array | undefined> {
  if (!(await tableExists(client, 'vault'))) return undefined
  const seals = (await tableExists(client, 'vault_one_seals')) ? 'seals' : 'true AS seals'
  const { rows } = await client.query<VaultRow>(`SELECT ${selectList(VAULT)}, ${seals} FROM vault`)
  return openSecret(rows, keys, placeOf(databaseUrl))
}

/** Identifies the store, with all its restores. A copy of it has another one. */
export async function readFirstEpoch(client: pg.Client): Promise<string> {
  return (await client.query('SELECT epoch FROM homes WHERE number = 1')).rows[0].epoch
}

export async function requireFinishedCopy(client: pg.Client, databaseUrl: string): Promise<void> {
  if (!(await tableExists(client, UNFINISHED_COPY))) return
  throw new OperatorError(
    `${placeOf(databaseUrl)} is a half-finished copy. Run the same \`latchkey copy\` again to finish it.`,
  )
}
