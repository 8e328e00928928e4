// node:fs/promises, which also reads the files inside the executable. Everything that is not here is the module itself.
import promises from 'node:fs/promises'
import { embeddedName, list, read, stat as statEmbedded } from './embedded-files.mjs'

export * from 'node:fs/promises'

export async function readFile(path, options) {
  const name = embeddedName(path)
  if (name === undefined) return promises.readFile(path, options)
  const encoding = typeof options === 'string' ? options : options?.encoding
  return encoding ? read(name).toString(encoding) : read(name)
}

export async function readdir(path, options) {
  const name = embeddedName(path)
  return name === undefined ? promises.readdir(path, options) : list(name)
}

export async function stat(path, options) {
  const name = embeddedName(path)
  return name === undefined ? promises.stat(path, options) : statEmbedded(name)
}
