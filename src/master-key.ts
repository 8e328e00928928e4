// Where the master keys come from: the environment, a file, or, for a new embedded store, made on the spot. The first
// is the one wanted; those after it are still needed while a rotation is under way.
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
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
import { createPrivate } from './private-file.ts'
import { OperatorError } from './tokens/errors.ts'
import { KeyRing, type Reread } from './tokens/key-ring.ts'
import type { KeyKeeper } from './tokens/master-key-rotation.ts'
import { MASTER_KEY_BYTES, MasterKey } from './tokens/vault.ts'

type KeyConfig = Pick<
  Config,
  'masterKey' | 'masterKeyFile' | 'previousMasterKey' | 'previousMasterKeyFile' | 'databaseUrl' | 'dataDir'
>

/** `mayMake`: whether an embedded store that does not exist yet gets a key. */
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

/** Only the file that the service has made itself is its own to change. */
export function findKeeper({ masterKey, masterKeyFile, databaseUrl, dataDir }: KeyConfig): KeyKeeper | undefined {
  if (masterKey !== undefined || masterKeyFile !== undefined || databaseUrl !== undefined) return undefined
  const file = ownKeyFile(dataDir)
  return {
    make: () => replace(file, [newKey(), ...linesOf(read(file))]),
    forget(ids) {
      const kept = linesOf(read(file)).filter((line) => !parse(line, file).some(({ id }) => ids.includes(id)))
      if (kept.length === 0) throw new OperatorError(`${file} holds none of the keys that the store needs.`)
      if (ids.length > 0) replace(file, kept)
    },
  }
}

function ownKeyFile(dataDir: string): string {
  return join(dataDir, 'master.key')
}

function previousKeys({ previousMasterKey, previousMasterKeyFile }: KeyConfig): readonly MasterKey[] {
  if (previousMasterKey !== undefined) return parse(previousMasterKey, 'LATCHKEY_PREVIOUS_MASTER_KEY')
  return previousMasterKeyFile === undefined ? [] : parse(read(previousMasterKeyFile), previousMasterKeyFile)
}

/** A look at the file costs microseconds, and it is read only when it is another one than before. */
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
      // Half written, or not to be read: what is known stays.
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

/** Only for a store that does not exist yet: an old one cannot be opened with a new key. */
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

/** The old file or the new one, whenever the power fails. */
function replace(file: string, lines: readonly string[]): void {
  const next = `${file}.new`
  rmSync(next, { force: true })
  write(next, lines, file)
  renameSync(next, file)
  if (process.platform !== 'win32') flush(openSync(dirname(file), 'r'))
}

/** On disk before anything is sealed with it. Root's key would be of no use to a server: it is of the owner of `like`. */
function write(file: string, lines: readonly string[], like: string): void {
  const handle = createPrivate(file, like)
  try {
    writeSync(handle, `${lines.join('\n')}\n`)
    flush(handle)
  } catch (error) {
    // Half a key would be taken for one that was spoilt, and nothing would start any more.
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
