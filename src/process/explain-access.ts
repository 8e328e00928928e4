// Explains a permission error: which user runs this process, who owns the file, and what to do.
import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Undefined if permissions are not the reason, or the system has no such permissions. */
export function explainAccess(path: string, needed = constants.R_OK | constants.W_OK): string | undefined {
  const uid = process.geteuid?.()
  const blocked = uid === undefined ? undefined : findBlocked(resolve(path), needed)
  if (uid === undefined || blocked === undefined) return undefined
  const { uid: owner, mode } = statSync(blocked)
  const [me, them] = [userName(uid), userName(owner)]
  const facts = `This runs as user ${me}; ${blocked} belongs to ${them} and has mode ${(mode & 0o7777).toString(8)}.`
  if (owner === uid) return `${facts} To give yourself access: chmod u+rwX ${blocked}`
  // No chown -R where only reading is needed: the folder may hold secrets of other users.
  const remedy =
    (needed & constants.W_OK) === 0
      ? `to let ${me} read it: chgrp ${me} ${blocked}; chmod g+rX ${blocked}`
      : `to make ${me} the owner: chown -R ${me} ${blocked}`
  return `${facts} Run this as ${them} (as root: runuser -u ${them} -- …), or, ${remedy}`
}

/** The first folder in the path that may not be entered, else the file itself. */
function findBlocked(path: string, needed: number): string | undefined {
  const parent = dirname(path)
  const above = parent === path ? undefined : findBlocked(parent, constants.X_OK)
  return above ?? (isAllowed(path, needed) ? undefined : path)
}

/** True also for a missing file: then permissions are not the problem. */
function isAllowed(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch (error) {
    return !['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')
  }
}

function userName(uid: number): string {
  try {
    const users = readFileSync('/etc/passwd', 'utf8').split('\n')
    return users.map((line) => line.split(':')).find((fields) => fields[2] === String(uid))?.[0] ?? `#${uid}`
  } catch {
    return `#${uid}`
  }
}
