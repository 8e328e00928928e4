// A lock between processes, which the operating system releases when its holder ends, even by a crash.
import { isBusy, openDatabase } from '../sqlite-connection.ts'
import { makePrivate, requireWritable } from './files.ts'

/** Returns the function that releases the lock; undefined when another process holds it. The file stays, empty. */
export function lockAlone(path: string): (() => void) | undefined {
  makePrivate(path)
  requireWritable(path)
  const db = openDatabase(path)
  try {
    db.exec('BEGIN EXCLUSIVE')
    return () => db.close()
  } catch (error) {
    db.close()
    if (isBusy(error)) return undefined
    throw error
  }
}
