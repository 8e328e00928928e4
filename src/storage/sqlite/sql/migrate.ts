// Brings the schema up to date: numbered SQL files, each in one transaction together with its number.
import { OperatorError } from '../../../tokens/errors.ts'
import { readMigrations } from '../../migrations.ts'
import { Connection } from '../connection.ts'
import { makePrivate } from '../files/files.ts'

const FOLDER = new URL('./migrations/', import.meta.url)

/** Returns the names of those applied. `afterFirst` runs in the transaction that makes an empty store. */
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
      // The number is read again inside the lock: another process may be doing the same.
      if (requireKnownSchema(db) >= migration.number) return
      db.exec(migration.sql)
      if (migration.number === 1) afterFirst(db)
      db.exec(`PRAGMA user_version = ${migration.number}`)
      applied.push(migration.name)
    })
  }
  return applied
}

/** The schema's number. A newer one than this program knows is left alone. */
export function requireKnownSchema(db: Connection): number {
  const found = Number(db.pragma('user_version'))
  const newest = newestSchema()
  if (found > newest) {
    throw new OperatorError(
      `The store has schema ${found}, newer than ${newest}, the newest this version knows. Use a newer Latchkey.`,
    )
  }
  return found
}

export function newestSchema(): number {
  return readMigrations(FOLDER).length
}
