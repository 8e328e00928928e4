// The files inside the executable. Their paths begin with a folder that cannot exist on a disk, so that no file of the machine
// is ever taken for one of ours, nor ours for one of the machine's.

import sea from 'node:sea'
import { Readable } from 'node:stream'

const ROOT = '/dev/null/latchkey/'
/** Of the commit that was built, in milliseconds: assets carry no times. */
const MODIFIED_MS = Number(sea.getAsset('built-at', 'utf8'))

/** The name of the embedded file or folder, without a slash at its end; undefined for a path of the machine. */
export function embeddedName(path) {
  const text = path instanceof URL ? decodeURIComponent(path.pathname) : path
  if (typeof text !== 'string' || !`${text}/`.startsWith(ROOT)) return undefined
  return text.slice(ROOT.length).replace(/\/+$/, '')
}

export function read(name) {
  if (!sea.getAssetKeys().includes(name)) throw missing(name)
  return Buffer.from(sea.getRawAsset(name))
}

export function list(name) {
  const inside = sea.getAssetKeys().filter((key) => key.startsWith(`${name}/`))
  if (inside.length === 0) throw missing(name)
  return [...new Set(inside.map((key) => key.slice(name.length + 1).split('/')[0]))]
}

export function stat(name) {
  const isFile = sea.getAssetKeys().includes(name)
  const mtime = new Date(MODIFIED_MS)
  const size = isFile ? sea.getRawAsset(name).byteLength : list(name).length
  return { size, mtime, mtimeMs: MODIFIED_MS, isFile: () => isFile, isDirectory: () => !isFile }
}

/** `end` is the last byte that is sent. */
export function stream(name, { start = 0, end = Number.POSITIVE_INFINITY } = {}) {
  return Readable.from([read(name).subarray(start, end + 1)], { objectMode: false })
}

function missing(name) {
  return Object.assign(new Error(`ENOENT: no such file in the executable, '${name}'`), { code: 'ENOENT' })
}
