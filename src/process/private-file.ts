// Creates files that only their owner may read. The folder's owner may have placed a symbolic link, through which root would
// write to another file or change its owner: so no link is followed, and everything is done on the open handle.
import * as fs from 'node:fs'
import { dirname } from 'node:path'
import { OperatorError } from '../tokens/model/errors.ts'

/**
 * Creates a file and returns its handle. Throws EEXIST if the name exists, even as a link. A server could not read what root
 * creates: root's files get the owner of `like`, by default their folder.
 */
export function createPrivate(path: string, like = dirname(path)): number {
  const { uid, gid } = fs.statSync(like)
  const file = fs.openSync(path, 'wx', 0o600)
  if (process.getuid?.() === 0) fs.fchownSync(file, uid, gid)
  return file
}

/** Replaces the file, or a link, by a new file, and flushes it to disk. */
export function replacePrivate(path: string, text: string): void {
  fs.rmSync(path, { force: true })
  const file = createPrivate(path)
  try {
    fs.writeFileSync(file, text)
    fs.fsyncSync(file)
  } finally {
    fs.closeSync(file)
  }
}

export function requireNoLink(path: string): void {
  if (fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return
  throw new OperatorError(`${path} is a symbolic link, and is not followed. Put the file itself there.`)
}
