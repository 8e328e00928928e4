// Whether a folder can be used or made at all, whatever the permissions are.
import { type Stats, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

/** The types of proc and sysfs, whose files are the kernel's. Node.js tries without end to make a folder in the first of them. */
const KERNEL_FILE_SYSTEMS = new Set([0x9fa0, 0x62656572])

/** Why there can be no folder of that name, as the end of a sentence; undefined if there can be. Changes nothing. */
export function findFolderObstacle(path: string): string | undefined {
  const found = statIfAllowed(path)
  if (found === undefined) return dirname(path) === path ? undefined : findFolderObstacle(dirname(path))
  if (!found.isDirectory()) return `${path} is a file, not a folder`
  return KERNEL_FILE_SYSTEMS.has(statfsSync(path).type)
    ? `${path} belongs to the kernel, and takes no files`
    : undefined
}

function statIfAllowed(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    // Missing, or below a file or a folder that may not be entered: what is above decides.
    return undefined
  }
}
