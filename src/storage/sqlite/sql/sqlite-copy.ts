// The embedded store as source or target of a copy. No other process can use the file meanwhile.
import { existsSync, mkdirSync } from 'node:fs'
import { failure, OperatorError } from '../../../tokens/model/errors.ts'
import type { StoredRow, Table } from '../../../tokens/model/table.ts'
import { VAULT } from '../../../tokens/model/tables.ts'
import type { KeyRing } from '../../../tokens/trust/key-ring.ts'
import { Stamps } from '../../../tokens/trust/vault.ts'
import type { CopySource, CopyTarget, LockedStore } from '../../../tokens/upkeep/copy.ts'
import { STORED } from '../../../tokens/upkeep/stored.ts'
import { tableOf } from '../../columns.ts'
import { LockedTables, UNFINISHED_COPY } from '../../locked-tables.ts'
import { requireSettled } from '../../store-secret.ts'
import { makePrivate } from '../files/files.ts'
import { databaseIn, isUnfinishedCopy, journalIn, readSecret, requireStore } from '../files/store-file.ts'
import { Journal } from '../journal/journal.ts'
import { Connection, inUse, isBusy } from '../sqlite-connection.ts'
import { accountNumber, Transaction } from '../transaction.ts'
import { insertion, insertRows } from './insertion.ts'
import { migrateOn } from './migrate.ts'
import { reads } from './reads.ts'

const insertVaultRow = insertion(VAULT)

interface Place {
  readonly dataDir: string
  readonly keys: KeyRing
}

interface Source extends Place {
  readonly journalPath?: string | undefined
}

export function openSqliteSource({ dataDir, keys, journalPath = journalIn(dataDir) }: Source): CopySource {
  const { path, storeSecret } = requireStore(dataDir, keys)
  return openAlone(path, (db) => {
    migrateOn(db, () => {})
    requireSettled(reads.readVault(db).length, path)
    requireRevocations(new Transaction(db, new Stamps(storeSecret)), journalPath)
    return Object.assign(new LockedSqlite(db), { storeSecret })
  })
}

/** A copy has a journal of its own: it would accept what was revoked and is missing in the store. */
function requireRevocations(transaction: Transaction, journalPath: string): void {
  const journal = new Journal(journalPath)
  try {
    const { obstacle } = journal.recover(transaction, false)
    if (obstacle !== undefined) throw failure('revocations-unknown', new Error(obstacle))
  } finally {
    journal.close()
  }
}

/** Accepts only an empty folder, or a half-finished copy of the same store, which is then continued. */
export async function openSqliteTarget({ dataDir, keys }: Place, source: CopySource): Promise<CopyTarget> {
  const path = databaseIn(dataDir)
  const found = existsSync(path) ? readSecret(path, keys) : undefined
  if (found !== undefined && !(isUnfinishedCopy(path) && Buffer.compare(found, source.storeSecret) === 0)) {
    throw new OperatorError(`${path} holds a store already. Name an empty folder; nothing was changed.`)
  }
  const sealed = await source.readRows(VAULT, undefined, Number.MAX_SAFE_INTEGER)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  makePrivate(path)
  return openAlone(path, (db) => {
    migrateOn(db, () => {
      db.exec(`CREATE TABLE ${UNFINISHED_COPY} (fingerprint TEXT) STRICT`)
      for (const row of sealed) insertVaultRow(db, row)
    })
    return new SqliteTarget(db)
  })
}

/** The connection stays open only if `use` succeeds. */
function openAlone<Result>(path: string, use: (db: Connection) => Result): Result {
  let db: Connection | undefined
  try {
    db = new Connection(path, 'alone')
    return use(db)
  } catch (error) {
    db?.close()
    throw isBusy(error) ? inUse(path) : error
  }
}

class LockedSqlite extends LockedTables<Connection> implements LockedStore {
  async readRows(table: Table, after: StoredRow | undefined, limit: number): Promise<StoredRow[]> {
    return reads.readRows(this.db, table, after, limit)
  }

  async close(): Promise<void> {
    this.db.close()
  }
}

class SqliteTarget extends LockedSqlite implements CopyTarget {
  async restart(fingerprint: string): Promise<void> {
    this.db.transaction(() => {
      for (const table of STORED.toReversed()) if (table !== VAULT) this.db.run(`DELETE FROM ${tableOf(table)}`)
      this.db.run("INSERT INTO token_grams (token_grams) VALUES ('delete-all')")
      this.db.run(`DELETE FROM ${UNFINISHED_COPY}`)
      this.db.run(`INSERT INTO ${UNFINISHED_COPY} (fingerprint) VALUES (?)`, fingerprint)
    })
  }

  async writeRows(table: Table, rows: readonly StoredRow[]): Promise<void> {
    const { db } = this
    db.transaction(() => insertRows(db, table, rows, (accountId) => accountNumber(db, accountId)))
  }

  async finish(): Promise<void> {
    this.db.transaction(() => {
      this.db.exec(`
        DELETE FROM token_counts;
        INSERT INTO token_counts (scope, status, count) SELECT account_id, status, count(*) FROM tokens GROUP BY 1, 2;
        INSERT INTO token_counts (scope, status, count) SELECT sub_account_id, status, count(*) FROM tokens GROUP BY 1, 2;
        DROP TABLE ${UNFINISHED_COPY}`)
    })
  }
}
