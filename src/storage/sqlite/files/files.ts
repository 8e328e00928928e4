// What SQLite does not ensure for the store's files: their mode, their directory entries on disk, and that they are still the
// files that were opened.
import * as fs from 'node:fs'
import { createPrivate, requireNoLink } from '../../../process/private-file.ts'
import { failure } from '../../../tokens/model/errors.ts'

/** Identifies an open file even if its path later names another one. */
export interface OpenedFile {
  readonly path: string
  readonly dev: bigint
  readonly ino: bigint
}

export function noteOpened(path: string): OpenedFile {
  const { dev, ino } = fs.statSync(path, { bigint: true })
  return { path, dev, ino }
}

/** Fails once another file has the path: other processes would not see what is written to the open one. */
export function requireNotMoved(files: readonly OpenedFile[]): void {
  for (const { path, dev, ino } of files) {
    const found = fs.statSync(path, { bigint: true, throwIfNoEntry: false })
    if (found?.dev === dev && found.ino === ino) continue
    throw failure('revocations-unknown', new Error(`${path} ${NOT_IN_PLACE}`), `The database ${NOT_IN_PLACE}`)
  }
}

const NOT_IN_PLACE =
  'was moved, replaced or removed while it was in use: put it back, or restart the server on the one that is there now'

/**
 * Creates the file of a new store, which SQLite would make readable for everybody. -wal and -shm inherit its owner and mode.
 * An existing file is not opened: closing it would release the locks of this process's connections.
 */
export function makePrivate(path: string): void {
  try {
    fs.closeSync(createPrivate(path))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** SQLite would open a read-only file too, and then fail to write or lock it. */
export function requireWritable(path: string): void {
  requireNoLink(path)
  fs.accessSync(path, fs.constants.R_OK | fs.constants.W_OK)
}

/** A file, or a folder: a new file's name is on disk only when its folder is synced. */
export function syncPath(path: string): void {
  const handle = fs.openSync(path, 'r')
  try {
    fs.fsyncSync(handle)
  } finally {
    fs.closeSync(handle)
  }
}
