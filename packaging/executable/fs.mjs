// node:fs, which also reads the files inside the executable. Everything that is not here is node:fs itself.
import fs from 'node:fs'
import { embeddedName, list, read, stat as statEmbedded, stream } from './embedded-files.mjs'

export * from 'node:fs'

export function readFileSync(path, options) {
  const name = embeddedName(path)
  if (name === undefined) return fs.readFileSync(path, options)
  const encoding = typeof options === 'string' ? options : options?.encoding
  return encoding ? read(name).toString(encoding) : read(name)
}

export function readdirSync(path, options) {
  const name = embeddedName(path)
  return name === undefined ? fs.readdirSync(path, options) : list(name)
}

export function existsSync(path) {
  const name = embeddedName(path)
  if (name === undefined) return fs.existsSync(path)
  try {
    return statEmbedded(name) !== undefined
  } catch {
    return false
  }
}

export function statSync(path, options) {
  const name = embeddedName(path)
  return name === undefined ? fs.statSync(path, options) : statEmbedded(name)
}

export function stat(path, ...rest) {
  const name = embeddedName(path)
  if (name === undefined) return fs.stat(path, ...rest)
  const done = rest.at(-1)
  let found
  try {
    found = statEmbedded(name)
  } catch (error) {
    return void process.nextTick(done, error)
  }
  process.nextTick(done, null, found)
}

export function createReadStream(path, options) {
  const name = embeddedName(path)
  return name === undefined ? fs.createReadStream(path, options) : stream(name, options)
}
