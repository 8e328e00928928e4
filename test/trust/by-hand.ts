// Someone who can write the database, past every rule of the service: constraints and triggers are off.
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import pg from 'pg'
import type { Config } from '../../src/config.ts'

export interface ByHand {
  /** Values are `?1`, `?2` and so on. */
  run(sql: string, ...values: readonly unknown[]): Promise<void>
  get<Row>(sql: string, ...values: readonly unknown[]): Promise<Row>
  close(): Promise<void>
}

export async function openByHand({ databaseUrl, dataDir }: Config): Promise<ByHand> {
  return databaseUrl === undefined ? embedded(dataDir) : postgres(databaseUrl)
}

function embedded(dataDir: string): ByHand {
  const db = new DatabaseSync(join(dataDir, 'latchkey.db'), { timeout: 5_000, enableForeignKeyConstraints: false })
  const triggers = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all()
  return {
    run: async (sql, ...values) => {
      db.exec('BEGIN IMMEDIATE')
      try {
        for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
        db.prepare(sql).run(...(values as SQLInputValue[]))
        for (const { sql } of triggers) db.exec(`${sql}`)
      } catch (error) {
        db.exec('ROLLBACK')
        throw error
      }
      db.exec('COMMIT')
    },
    get: async <Row>(sql: string, ...values: readonly unknown[]) =>
      db.prepare(sql).get(...(values as SQLInputValue[])) as Row,
    close: async () => db.close(),
  }
}

async function postgres(databaseUrl: string): Promise<ByHand> {
  const client = new pg.Client(databaseUrl)
  await client.connect()
  await client.query('SET session_replication_role = replica')
  const query = async (sql: string, values: readonly unknown[]) =>
    (await client.query(sql.replace(/\?(\d)/g, '$$$1'), [...values])).rows
  return {
    run: async (sql, ...values) => void (await query(sql, values)),
    get: async <Row>(sql: string, ...values: readonly unknown[]) => (await query(sql, values))[0] as Row,
    close: () => client.end(),
  }
}
