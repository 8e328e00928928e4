// What the files of a store are called, and what is read of one before it is opened: whether it is ours, its secret, whether it is complete.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { OperatorError } from '../../../tokens/model/errors.ts'
import { VAULT } from '../../../tokens/model/tables.ts'
import type { KeyRing, VaultRow } from '../../../tokens/trust/key-ring.ts'
import { selectList } from '../../columns.ts'
import { UNFINISHED_COPY } from '../../locked-tables.ts'
import { openSecret } from '../../store-secret.ts'
import { isBusy, openDatabase } from '../sqlite-connection.ts'

export const databaseIn = (dataDir: string) => join(dataDir, 'latchkey.db')
export const journalIn = (dataDir: string) => join(dataDir, 'revocations.log')

/** The store secret; undefined for an empty store. Refuses a ring that lacks a key, and changes nothing. */
export function readSecret(path: string, keys: KeyRing): Uint8Array | undefined {
  const vault = readOnce(path, (db) => {
    const { user_version: schema } = db.prepare('PRAGMA user_version').get() as { user_version: number }
    if (schema === 0) return requireEmpty(db, path)
    const rotates = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'vault_one_seals'").get() !== undefined
    const seals = rotates ? 'seals' : '1 AS seals'
    return db.prepare(`SELECT ${selectList(VAULT)}, ${seals} FROM vault`).all() as unknown as VaultRow[]
  })
  return vault && openSecret(vault, keys, path)
}

/** A file without a schema number must be empty, or it belongs to another program. */
function requireEmpty(db: DatabaseSync, path: string): undefined {
  if (db.prepare('SELECT 1 FROM sqlite_master').get() === undefined) return undefined
  throw new OperatorError(
    `${path} is a database of another program. Name another folder (LATCHKEY_DATA_DIR); nothing was changed.`,
  )
}

/** The path and the secret of a store that exists and is complete. */
export function requireStore(dataDir: string, keys: KeyRing) {
  const path = databaseIn(dataDir)
  const storeSecret = existsSync(path) ? readSecret(path, keys) : undefined
  if (storeSecret === undefined) throw new OperatorError(`There is no store in ${dataDir}`)
  requireFinishedCopy(path)
  return { path, storeSecret }
}

export function isUnfinishedCopy(path: string): boolean {
  const find = `SELECT 1 FROM sqlite_master WHERE name = '${UNFINISHED_COPY}'`
  return existsSync(path) && readOnce(path, (db) => db.prepare(find).get()) !== undefined
}

export function requireFinishedCopy(path: string): void {
  if (!isUnfinishedCopy(path)) return
  throw new OperatorError(`${path} is a half-finished copy. Run the same \`latchkey copy\` again to finish it.`)
}

function readOnce<Result>(path: string, read: (db: DatabaseSync) => Result): Result {
  const db = openDatabase(path, { readOnly: true, timeout: 5_000 })
  try {
    return read(db)
  } catch (error) {
    if (!isBusy(error)) throw error
    throw new OperatorError(`${path} is locked by another process, such as \`latchkey copy\`.`)
  } finally {
    db.close()
  }
}
