// Where the master keys come from: the environment, a file, or, for a new embedded store, a new key. The first key is the
// one to use; those after it are needed while a rotation is in progress.
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config } from './config.ts'
import { createPrivate } from './process/private-file.ts'
import { OperatorError } from './tokens/errors.ts'
import { KeyRing, type Reread } from './tokens/trust/key-ring.ts'
import { MASTER_KEY_BYTES, MasterKey } from './tokens/trust/vault.ts'
import type { KeyKeeper } from './tokens/upkeep/master-key-rotation.ts'

type KeyConfig = Pick<
  Config,
  'masterKey' | 'masterKeyFile' | 'previousMasterKey' | 'previousMasterKeyFile' | 'databaseUrl' | 'dataDir'
>

/** `mayMake`: whether a key is made for an embedded store that does not exist yet. */
export function openKeyRing(config: KeyConfig, mayMake = true): KeyRing {
  const { masterKey, masterKeyFile, databaseUrl, dataDir } = config
  if (masterKey === undefined && masterKeyFile === undefined && databaseUrl !== undefined) {
    throw new OperatorError(
      'PostgreSQL needs a master key that is kept outside the database. Set LATCHKEY_MASTER_KEY or ' +
        'LATCHKEY_MASTER_KEY_FILE; `openssl rand -base64 32` makes one.',
    )
  }
  const file = masterKeyFile ?? ownKeyFile(dataDir)
  if (mayMake && masterKey === undefined && masterKeyFile === undefined && !existsSync(file)) make(file, dataDir)
  const wanted = masterKey === undefined ? parse(read(file), file) : parse(masterKey, 'LATCHKEY_MASTER_KEY')
  const keys: [MasterKey, ...MasterKey[]] = [...wanted, ...previousKeys(config)]
  return masterKey === undefined ? new KeyRing(keys, rereading(file)) : new KeyRing(keys)
}

/** Only a key file that the service itself has made is changed by it. */
export function findKeeper({ masterKey, masterKeyFile, databaseUrl, dataDir }: KeyConfig): KeyKeeper | undefined {
  if (masterKey !== undefined || masterKeyFile !== undefined || databaseUrl !== undefined) return undefined
  const file = ownKeyFile(dataDir)
  const placeOfRetired = (id: string) => `${file}.${id}.old`
  return {
    placeOfRetired,
    make: () => replace(file, [newKey(), ...linesOf(read(file))]),
    retire(ids) {
      if (ids.length === 0) return
      const keys = linesOf(read(file)).map((line) => ({ line, id: parseLine(line, file).id }))
      const kept = keys.filter(({ id }) => !ids.includes(id))
      if (kept.length === 0) throw new OperatorError(`${file} holds none of the keys that the store needs.`)
      for (const { line, id } of keys) if (ids.includes(id)) keepRetired(placeOfRetired(id), line, file)
      const lines = kept.map(({ line }) => line)
      replace(file, lines)
    },
  }
}

/** On disk before the key leaves the key file. A run that was interrupted in between finds the file that it has written. */
function keepRetired(file: string, line: string, like: string): void {
  try {
    write(file, [line], like)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    if (!lstatSync(file).isFile() || read(file).trim() !== line) {
      throw new OperatorError(`${file} is in the way: the retired master key is to be kept there. Move it away.`)
    }
  }
}

export function ownKeyFile(dataDir: string): string {
  return join(dataDir, 'master.key')
}

function previousKeys({ previousMasterKey, previousMasterKeyFile }: KeyConfig): readonly MasterKey[] {
  if (previousMasterKey !== undefined) return parse(previousMasterKey, 'LATCHKEY_PREVIOUS_MASTER_KEY')
  return previousMasterKeyFile === undefined ? [] : parse(read(previousMasterKeyFile), previousMasterKeyFile)
}

/** Checking the file's state costs microseconds; the file is read only if that has changed. */
function rereading(file: string): Reread {
  let seen = stateOf(file)
  return () => {
    const state = stateOf(file)
    if (state === undefined || state === seen) return undefined
    try {
      const keys = parse(read(file), file)
      seen = state
      return keys
    } catch {
      // Half written, or not readable: the known keys stay.
      return undefined
    }
  }
}

function stateOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  return found && `${found.ino} ${found.size} ${found.mtimeMs}`
}

function newKey(): string {
  return randomBytes(MASTER_KEY_BYTES).toString('base64')
}

/** Only for a store that does not exist yet: an existing one cannot be opened with a new key. */
function make(file: string, dataDir: string): void {
  const database = join(dataDir, 'latchkey.db')
  if (existsSync(database)) {
    throw new OperatorError(
      `${database} exists, but its master key ${file} is missing. Put it back, or set LATCHKEY_MASTER_KEY or ` +
        'LATCHKEY_MASTER_KEY_FILE; nothing was changed.',
    )
  }
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  try {
    write(file, [newKey()], dirname(file))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Atomic: after a power failure the file is either the old or the new one. */
function replace(file: string, lines: readonly string[]): void {
  const next = `${file}.new`
  rmSync(next, { force: true })
  write(next, lines, file)
  renameSync(next, file)
  if (process.platform !== 'win32') flush(openSync(dirname(file), 'r'))
}

/**
 * Creates the file (never through a link: O_EXCL), and flushes it to disk before anything is sealed with its key. Run by
 * root, it gets the owner of `like`: the server must be able to read it.
 */
function write(file: string, lines: readonly string[], like: string): void {
  const handle = createPrivate(file, like)
  try {
    writeSync(handle, `${lines.join('\n')}\n`)
    flush(handle)
  } catch (error) {
    // Half a key would keep every later start from working.
    rmSync(file)
    throw error
  }
}

function flush(handle: number): void {
  fsyncSync(handle)
  closeSync(handle)
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new OperatorError(
      `The master key file ${file} cannot be read: ${(error as Error).message}. Put the key there, or set ` +
        'LATCHKEY_MASTER_KEY or LATCHKEY_MASTER_KEY_FILE.',
    )
  }
}

function linesOf(text: string): readonly string[] {
  return text.split(/\s+/).filter((line) => line !== '')
}

function parse(text: string, source: string): readonly [MasterKey, ...MasterKey[]] {
  const [first, ...others] = linesOf(text).map((line) => parseLine(line, source))
  return [first ?? parseLine('', source), ...others]
}

function parseLine(line: string, source: string): MasterKey {
  const bytes = Buffer.from(line, 'base64')
  if (bytes.length !== MASTER_KEY_BYTES || bytes.toString('base64') !== line) {
    throw new OperatorError(
      `${source} must hold ${MASTER_KEY_BYTES} bytes in base64; \`openssl rand -base64 32\` makes such a key.`,
    )
  }
  return new MasterKey(bytes)
}
