// The embedded store as the source or the target of a copy. While it is open here, no other process can use the file.
import { existsSync, mkdirSync } from 'node:fs'
import type { SQLInputValue } from 'node:sqlite'
import { OperatorError } from '../../../tokens/errors.ts'
import { foldCase, foldedText, type SubAccount, type TokenRecord } from '../../../tokens/model/token.ts'
import type { KeyRing } from '../../../tokens/trust/key-ring.ts'
import {
  COPIED,
  type CopiedRow,
  type CopiedTable,
  type CopySource,
  type CopyTarget,
  type StillStore,
  VAULT,
} from '../../../tokens/upkeep/copy.ts'
import { columnOf, selectList, tableOf } from '../../rows.ts'
import { requireSettled } from '../../vault.ts'
import { Connection, isBusy } from '../connection.ts'
import { makePrivate } from '../files/files.ts'
import { accountNumber } from '../session.ts'
import { databaseIn, isUnfinishedCopy, readSecret, requireFinishedCopy, UNFINISHED_COPY } from '../store.ts'
import { indexedGrams } from './grams.ts'
import { migrateOn } from './migrate.ts'
import { readRows, readVault } from './reads.ts'

interface Place {
  readonly dataDir: string
  readonly keys: KeyRing
}

export function openSqliteSource({ dataDir, keys }: Place): CopySource {
  const path = databaseIn(dataDir)
  const storeSecret = existsSync(path) ? readSecret(path, keys) : undefined
  if (storeSecret === undefined) throw new OperatorError(`There is no store in ${dataDir}`)
  requireFinishedCopy(path)
  const db = openAlone(path)
  try {
    migrateOn(db, () => {})
    requireSettled(readVault(db).length, path)
    return Object.assign(new StillSqlite(db), { storeSecret })
  } catch (error) {
    db.close()
    throw error
  }
}

/** Refuses everything but an empty place and a half-finished copy of the same store, which it then leaves as it is. */
export async function openSqliteTarget({ dataDir, keys }: Place, source: CopySource): Promise<CopyTarget> {
  const path = databaseIn(dataDir)
  const found = existsSync(path) ? readSecret(path, keys) : undefined
  if (found !== undefined && !(isUnfinishedCopy(path) && Buffer.compare(found, source.storeSecret) === 0)) {
    throw new OperatorError(`${path} holds a store already. Name an empty folder; nothing was changed.`)
  }
  const sealed = await source.readRows(VAULT, undefined, Number.MAX_SAFE_INTEGER)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  makePrivate(path)
  const db = openAlone(path)
  try {
    migrateOn(db, () => {
      db.exec(`CREATE TABLE ${UNFINISHED_COPY} (fingerprint TEXT) STRICT`)
      for (const row of sealed) insertRow(db, 'vault', row)
    })
    return new SqliteTarget(db)
  } catch (error) {
    db.close()
    throw error
  }
}

function openAlone(path: string): Connection {
  try {
    return new Connection(path, 'alone')
  } catch (error) {
    if (!isBusy(error)) throw error
    throw new OperatorError(`${path} is in use. Stop whatever serves it first; nothing was changed.`)
  }
}

class StillSqlite implements StillStore {
  readonly db: Connection

  constructor(db: Connection) {
    this.db = db
  }

  async countRows(table: CopiedTable): Promise<number> {
    return this.db.get<{ n: number }>(`SELECT count(*) AS n FROM ${tableOf(table)}`)?.n ?? 0
  }

  async readRows(table: CopiedTable, after: CopiedRow | undefined, limit: number): Promise<CopiedRow[]> {
    return readRows(this.db, table, after, limit)
  }

  async close(): Promise<void> {
    this.db.close()
  }
}

class SqliteTarget extends StillSqlite implements CopyTarget {
  async findBegun(): Promise<string | undefined> {
    return this.db.get<{ fingerprint: string }>(`SELECT fingerprint FROM ${UNFINISHED_COPY}`)?.fingerprint
  }

  async beginAnew(fingerprint: string): Promise<void> {
    this.db.transaction(() => {
      for (const table of COPIED.toReversed()) if (table !== VAULT) this.db.run(`DELETE FROM ${tableOf(table)}`)
      this.db.run("INSERT INTO token_grams (token_grams) VALUES ('delete-all')")
      this.db.run(`DELETE FROM ${UNFINISHED_COPY}`)
      this.db.run(`INSERT INTO ${UNFINISHED_COPY} (fingerprint) VALUES (?)`, fingerprint)
    })
  }

  async findLast(table: CopiedTable): Promise<CopiedRow | undefined> {
    const order = table.key.map((field) => `${columnOf(field)} DESC`).join(', ')
    return this.db.get<CopiedRow>(`SELECT ${selectList(table)} FROM ${tableOf(table)} ORDER BY ${order} LIMIT 1`)
  }

  async writeRows(table: CopiedTable, rows: readonly CopiedRow[]): Promise<void> {
    this.db.transaction(() => {
      let no = this.db.get<{ last: number | null }>('SELECT max(no) AS last FROM tokens')?.last ?? 0
      for (const row of rows) {
        if (table.name === 'tokens') this.#writeToken(row, ++no)
        else if (table.name === 'subAccounts') {
          insertRow(this.db, tableOf(table), { ...row, foldedText: foldedText(row as unknown as SubAccount) })
        } else insertRow(this.db, tableOf(table), row)
      }
    })
  }

  #writeToken(row: CopiedRow, no: number): void {
    const { accountId, name } = row as unknown as TokenRecord
    const foldedName = foldCase(name)
    insertRow(this.db, 'tokens', { ...row, no, foldedName })
    const grams = indexedGrams(accountNumber(this.db, accountId), foldedName)
    this.db.run('INSERT INTO token_grams (rowid, grams) VALUES (?, ?)', no, grams)
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

function insertRow(db: Connection, table: string, row: CopiedRow): void {
  const columns = Object.keys(row).map(columnOf)
  const places = columns.map(() => '?').join(', ')
  db.run(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places})`, ...(Object.values(row) as SQLInputValue[]))
}
