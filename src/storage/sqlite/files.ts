// Files of the store that SQLite does not look after: whose they are, who may read them, and that they are on disk.
import * as fs from 'node:fs'
import { dirname } from 'node:path'

/**
 * A file for a store that does not exist yet: SQLite would let everybody read it. Its log and that one's index take after
 * it. One that is there is not touched: closing it would take away the locks of those in this process who have it open.
 */
export function makePrivate(path: string): void {
  try {
    fs.closeSync(fs.openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** What root makes in somebody's folder would be of no use to them. */
export function giveToOwner(path: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = fs.statSync(dirname(path))
  fs.chownSync(path, uid, gid)
}

/** A new name is on disk only when its folder is. */
export function syncFolder(path: string): void {
  const folder = fs.openSync(path, 'r')
  try {
    fs.fsyncSync(folder)
  } finally {
    fs.closeSync(folder)
  }
}
