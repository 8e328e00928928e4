// The folder of packages: what is put there, and its list of checksums.
import { createHash } from 'node:crypto'
import {
  createReadStream,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'

/**
 * Moves what was made there. Packages of earlier runs stay, unless packages of all kinds were made: then they are of another
 * version. Files of others always stay. Returns all packages that are there now.
 */
export async function putInto(out, made, isWhole) {
  const before = packagesIn(out)
  if (isWhole) for (const name of before) rmSync(join(out, name))
  const names = readdirSync(made)
  for (const name of names) renameSync(join(made, name), join(out, name))
  const all = [...new Set([...(isWhole ? [] : before), ...names])].sort()
  const sums = []
  for (const name of all) {
    const hash = createHash('sha256')
    await pipeline(createReadStream(join(out, name)), hash)
    sums.push(`${hash.digest('hex')}  ${name}\n`)
  }
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''))
  return all.map((name) => ({ name, bytes: statSync(join(out, name)).size }))
}

/** What earlier runs made, as far as it is still there. */
function packagesIn(out) {
  const file = join(out, 'SHA256SUMS')
  if (!existsSync(file)) return []
  const named = readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.split('  ')[1] ?? '')
  return named.filter(
    (name) => basename(name) === name && statSync(join(out, name), { throwIfNoEntry: false })?.isFile(),
  )
}
