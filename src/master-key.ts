// Where the master key comes from: the environment, a file, or, for a new embedded store, made on the spot.
import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './config.ts'
import { OperatorError } from './tokens/errors.ts'
import { MASTER_KEY_BYTES, MasterKey } from './tokens/vault.ts'

type KeyConfig = Pick<Config, 'masterKey' | 'masterKeyFile' | 'databaseUrl' | 'dataDir'>

export function loadMasterKey({ masterKey, masterKeyFile, databaseUrl, dataDir }: KeyConfig): MasterKey {
  if (masterKey !== undefined) return parse(masterKey, 'LATCHKEY_MASTER_KEY')
  if (masterKeyFile !== undefined) return parse(read(masterKeyFile), masterKeyFile)
  if (databaseUrl !== undefined) {
    throw new OperatorError(
      'PostgreSQL needs a master key that is kept outside the database. Set LATCHKEY_MASTER_KEY or ' +
        'LATCHKEY_MASTER_KEY_FILE; `openssl rand -base64 32` makes one.',
    )
  }
  const file = join(dataDir, 'master.key')
  if (!existsSync(file)) make(file, dataDir)
  return parse(read(file), file)
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
    const handle = openSync(file, 'wx', 0o600)
    // On disk before anything is sealed with it.
    writeSync(handle, `${randomBytes(MASTER_KEY_BYTES).toString('base64')}\n`)
    fsyncSync(handle)
    closeSync(handle)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new OperatorError(`The master key file ${file} cannot be read: ${(error as Error).message}`)
  }
}

function parse(text: string, source: string): MasterKey {
  const bytes = Buffer.from(text.trim(), 'base64')
  if (bytes.length !== MASTER_KEY_BYTES || bytes.toString('base64') !== text.trim()) {
    throw new OperatorError(
      `${source} must hold ${MASTER_KEY_BYTES} bytes in base64; \`openssl rand -base64 32\` makes such a key.`,
    )
  }
  return new MasterKey(bytes)
}
