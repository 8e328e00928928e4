// Loads the master keys from the environment or a file; for a new embedded store, creates one. The first key
// seals in a new store and is the target of a rotation; otherwise the store says which key seals. The others are needed during a
// rotation.
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config } from './config.ts'
import { createPrivate } from './process/private-file.ts'
import { OperatorError } from './tokens/model/errors.ts'
import { KeyRing, type Reread } from './tokens/trust/key-ring.ts'
import { MASTER_KEY_BYTES, MasterKey } from './tokens/trust/vault.ts'
import type { KeyKeeper } from './tokens/upkeep/master-key-rotation.ts'

type KeyConfig = Pick<
  Config,
  'masterKey' | 'masterKeyFile' | 'previousMasterKey' | 'previousMasterKeyFile' | 'databaseUrl' | 'dataDir'
>

/** `mayCreate`: whether to create a key for an embedded store that does not exist yet. */
export function openKeyRing(config: KeyConfig, mayCreate = true): KeyRing {
  const { masterKey, masterKeyFile, databaseUrl, dataDir } = config
  if (masterKey === undefined && masterKeyFile === undefined && databaseUrl !== undefined) {
    throw new OperatorError(
      'PostgreSQL needs a master key that is kept outside the database. Set LATCHKEY_MASTER_KEY or ' +
        'LATCHKEY_MASTER_KEY_FILE; `openssl rand -base64 32` makes one.',
    )
  }
  const file = masterKeyFile ?? ownKeyFile(dataDir)
  if (mayCreate && masterKey === undefined && masterKeyFile === undefined && !fs.existsSync(file))
    createKeyFile(file, dataDir)
  // Before the content: a file that is replaced in between is read again.
  const state = stateOf(file)
  const current = masterKey === undefined ? parse(read(file), file) : parse(masterKey, 'LATCHKEY_MASTER_KEY')
  const keys: [MasterKey, ...MasterKey[]] = [...current, ...previousKeys(config)]
  return masterKey === undefined ? new KeyRing(keys, rereading(file, state)) : new KeyRing(keys)
}

/** Undefined for a key that the operator manages: only a key file that the service created is changed by it. */
export function findKeeper({ masterKey, masterKeyFile, databaseUrl, dataDir }: KeyConfig): KeyKeeper | undefined {
  if (masterKey !== undefined || masterKeyFile !== undefined || databaseUrl !== undefined) return undefined
  const file = ownKeyFile(dataDir)
  const fileOfRetired = (id: string) => `${file}.${id}.old`
  return {
    fileOfRetired,
    make: () => replace(file, [newKey(), ...linesOf(read(file))]),
    retire(ids) {
      if (ids.length === 0) return
      const keys = linesOf(read(file)).map((line) => ({ line, id: parseLine(line, file).id }))
      const kept = keys.filter(({ id }) => !ids.includes(id))
      if (kept.length === 0) throw new OperatorError(`${file} holds none of the keys that the store needs.`)
      for (const { line, id } of keys) if (ids.includes(id)) keepRetired(fileOfRetired(id), line, file)
      const lines = kept.map(({ line }) => line)
      replace(file, lines)
    },
  }
}

/** Called before the key is removed from the key file. After an interruption in between, the file exists already. */
function keepRetired(file: string, line: string, like: string): void {
  try {
    write(file, [line], like)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    if (!fs.lstatSync(file).isFile() || read(file).trim() !== line) {
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

/** Rereads the file only if its state has changed: `stat` takes microseconds. */
function rereading(file: string, readState: string | undefined): Reread {
  let lastState = readState
  return () => {
    const state = stateOf(file)
    if (state === undefined || state === lastState) return undefined
    try {
      const keys = parse(read(file), file)
      lastState = state
      return keys
    } catch {
      // Half written, or not readable: keep the current keys.
      return undefined
    }
  }
}

function stateOf(file: string): string | undefined {
  const found = fs.statSync(file, { throwIfNoEntry: false })
  return found && `${found.ino} ${found.size} ${found.mtimeMs}`
}

function newKey(): string {
  return randomBytes(MASTER_KEY_BYTES).toString('base64')
}

/** Refuses for an existing store, which cannot be opened with a new key. */
function createKeyFile(file: string, dataDir: string): void {
  const database = join(dataDir, 'latchkey.db')
  if (fs.existsSync(database)) {
    throw new OperatorError(
      `${database} exists, but its master key ${file} is missing. Put it back, or set LATCHKEY_MASTER_KEY or ` +
        'LATCHKEY_MASTER_KEY_FILE; nothing was changed.',
    )
  }
  fs.mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  try {
    write(file, [newKey()], dirname(file))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Atomic, also in a power failure. */
function replace(file: string, lines: readonly string[]): void {
  const next = `${file}.new`
  fs.rmSync(next, { force: true })
  write(next, lines, file)
  fs.renameSync(next, file)
  if (process.platform !== 'win32') flush(fs.openSync(dirname(file), 'r'))
}

/** Flushed to disk before anything is sealed with the key. */
function write(file: string, lines: readonly string[], like: string): void {
  const handle = createPrivate(file, like)
  try {
    fs.writeSync(handle, `${lines.join('\n')}\n`)
    flush(handle)
  } catch (error) {
    // An incomplete key would make every later start fail.
    fs.rmSync(file)
    throw error
  }
}

function flush(handle: number): void {
  fs.fsyncSync(handle)
  fs.closeSync(handle)
}

function read(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
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
