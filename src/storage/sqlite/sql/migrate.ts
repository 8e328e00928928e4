// Brings the schema up to date: numbered SQL files, each in one transaction together with its number.
import { readMigrations, requireKnownNumber } from '../../migrations.ts'
import { makePrivate } from '../files/files.ts'
import { Connection } from '../sqlite-connection.ts'

const FOLDER = new URL('./migrations/', import.meta.url)

/** Returns the names of the migrations applied. `afterFirst` runs in the transaction that creates the store. */
export function migrate(path: string, afterFirst: (db: Connection) => void): readonly string[] {
  makePrivate(path)
  const db = new Connection(path, 'write')
  try {
    return migrateOn(db, afterFirst)
  } finally {
    db.close()
  }
}

export function migrateOn(db: Connection, afterFirst: (db: Connection) => void): readonly string[] {
  const applied: string[] = []
  for (const migration of readMigrations(FOLDER)) {
    db.transaction(() => {
      // Read inside the lock: another process may be migrating too.
      if (requireKnownSchema(db) >= migration.number) return
      db.exec(migration.sql)
      if (migration.number === 1) afterFirst(db)
      db.exec(`PRAGMA user_version = ${migration.number}`)
      applied.push(migration.name)
    })
  }
  return applied
}

export function requireKnownSchema(db: Connection): number {
  return requireKnownNumber(Number(db.pragma('user_version')), newestSchema())
}

export function newestSchema(): number {
  return readMigrations(FOLDER).length
}
