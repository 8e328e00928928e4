// What a copy reads of a store that is locked, in the same words for both engines.
import type { StoredRow, Table } from '../tokens/model/table.ts'
import { columnOf, selectList, tableOf } from './columns.ts'

/** The table that a copy creates first and removes last. */
export const UNFINISHED_COPY = 'unfinished_copy'

interface Database {
  get<Row>(sql: string): Row | undefined | Promise<Row | undefined>
}

export class LockedTables<Db extends Database> {
  readonly db: Db

  constructor(db: Db) {
    this.db = db
  }

  async countRows(table: Table): Promise<number> {
    return (await this.db.get<{ n: number }>(`SELECT count(*) AS n FROM ${tableOf(table)}`))?.n ?? 0
  }

  async findFingerprint(): Promise<string | undefined> {
    return (await this.db.get<{ fingerprint: string }>(`SELECT fingerprint FROM ${UNFINISHED_COPY}`))?.fingerprint
  }

  async findLast(table: Table): Promise<StoredRow | undefined> {
    const order = table.key.map((field) => `${columnOf(field)} DESC`).join(', ')
    return this.db.get<StoredRow>(`SELECT ${selectList(table)} FROM ${tableOf(table)} ORDER BY ${order} LIMIT 1`)
  }
}
