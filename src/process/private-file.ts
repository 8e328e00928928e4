// Files that are made for one owner alone. Whoever owns the folder may have put a link under a file's name, and root must
// write to, or give away, nothing but the file that it has made itself: so none is followed, and all is done by the handle.
import * as fs from 'node:fs'
import { dirname } from 'node:path'
import { OperatorError } from '../tokens/errors.ts'

/**
 * A new file, open for writing, readable by its owner alone. Throws EEXIST where the name is taken, by a link too. What root
 * makes would be of no use to a server: it is given to the owner of `like`, its folder unless said otherwise.
 */
export function createPrivate(path: string, like = dirname(path)): number {
  const { uid, gid } = fs.statSync(like)
  const file = fs.openSync(path, 'wx', 0o600)
  if (process.getuid?.() === 0) fs.fchownSync(file, uid, gid)
  return file
}

/** A new file in the place of whatever has the name: a link is removed, not followed. On disk when it returns. */
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
