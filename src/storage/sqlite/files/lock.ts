// A lock between processes that the system lets go when its holder ends, however it ends.
import { isBusy, openDatabase } from '../connection.ts'
import { makePrivate, requireWritable } from './files.ts'

/** Returns how to let it go; undefined when another process holds it. The file stays, and stays empty. */
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
