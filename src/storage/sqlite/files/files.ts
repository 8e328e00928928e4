// What SQLite does not look after of the store's files: who may read them, that they are on disk, and that they are still
// the ones that were opened.
import * as fs from 'node:fs'
import { createPrivate, requireNoLink } from '../../../process/private-file.ts'
import { failure } from '../connection.ts'

/** A file that was opened: its name may stand for another one later. */
export interface OpenedFile {
  readonly path: string
  readonly dev: bigint
  readonly ino: bigint
}

export function noteOpened(path: string): OpenedFile {
  const { dev, ino } = fs.statSync(path, { bigint: true })
  return { path, dev, ino }
}

/** Refuses to go on with a file that others no longer find under its name: they would not see what is written to it. */
export function requireInPlace(files: readonly OpenedFile[]): void {
  for (const { path, dev, ino } of files) {
    const found = fs.statSync(path, { bigint: true, throwIfNoEntry: false })
    if (found?.dev === dev && found.ino === ino) continue
    throw failure('revocations-unknown', new Error(`${path} ${NOT_IN_PLACE}`), `The database ${NOT_IN_PLACE}`)
  }
}

const NOT_IN_PLACE =
  'was moved, replaced or removed while it was in use: put it back, or restart the server on the one that is there now'

/**
 * A file for a store that does not exist yet: SQLite would let everybody read it, and root's would be root's. SQLite gives
 * -wal and -shm the same owner and mode. A file that exists is not touched: closing it would release the locks of the
 * connections that this process has to it.
 */
export function makePrivate(path: string): void {
  try {
    fs.closeSync(createPrivate(path))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** SQLite would open it all the same, and then change and lock nothing. */
export function requireWritable(path: string): void {
  requireNoLink(path)
  fs.accessSync(path, fs.constants.R_OK | fs.constants.W_OK)
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
