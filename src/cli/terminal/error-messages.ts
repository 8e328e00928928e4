// Messages for errors of the operating system and the databases, with advice.
import { constants } from 'node:fs'
import { dirname } from 'node:path'
import { explainStoreAccess } from '../../compose.ts'
import { readProcessConfig } from '../../config.ts'
import { explainAccess } from '../../process/explain-access.ts'
import { Failure } from '../../tokens/model/errors.ts'
import { DAMAGED } from '../../tokens/upkeep/examination.ts'

const DATA_DIR_ADVICE =
  'The store folder (LATCHKEY_DATA_DIR) and everything in it must be readable and writable by the user who runs this.'
const ACCESS_ADVICE =
  'All files and folders that settings and options name must be readable and writable by the user who runs this, such as ' +
  'the store folder (LATCHKEY_DATA_DIR) and everything in it.'
const LISTEN_ADVICE = 'HOST must be an address of this machine, and PORT one that this user may open.'
const RIGHTS_ADVICE = 'docs/operate/postgresql.md lists the rights that each role needs.'

const URL_ADVICE =
  'DATABASE_URL is not an address. Characters such as # / ? @ in a password are written as %23 %2F %3F %40.'

const INSUFFICIENT_PRIVILEGE = '42501'
/** PostgreSQL's error classes: connection, transaction state, missing database or schema, resources, operator intervention. */
const ENVIRONMENT_CODES = /^(08|25|3D|3F|53|57)...$/
const ACCESS_CODES = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EISDIR', 'EEXIST'])
/** SQLite's PERM, READONLY, CANTOPEN; CORRUPT, NOTADB; IOERR, FULL (a full disk may be reported as either). */
const SQLITE_ADVICE: ReadonlyMap<number, string> = new Map([
  ...[3, 8, 14].map((code) => [code, DATA_DIR_ADVICE] as const),
  ...[11, 26].map((code) => [code, DAMAGED] as const),
  ...[10, 13].map((code) => [code, 'The disk is full, or fails.'] as const),
])

/** Undefined for an error that can only be a bug. */
export function explainError(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code = '', syscall, errcode } = error as NodeJS.ErrnoException & { errcode?: number }
  if (code === INSUFFICIENT_PRIVILEGE) return `PostgreSQL says: ${error.message}. ${RIGHTS_ADVICE}`
  if (ENVIRONMENT_CODES.test(code)) return `PostgreSQL says: ${error.message}.`
  if (error.name === 'ConnectionLost')
    return `The connection to PostgreSQL was lost: ${error.message}. Run the command again.`
  if (code === 'ERR_INVALID_URL') return URL_ADVICE
  if (errcode !== undefined) {
    const advice = SQLITE_ADVICE.get(errcode & 0xff)
    return advice && withAdvice(error, advice)
  }
  if (syscall === undefined) return undefined
  if (syscall === 'listen' || syscall === 'getaddrinfo') return withAdvice(error, LISTEN_ADVICE)
  return ACCESS_CODES.has(code) ? withAdvice(error, ACCESS_ADVICE) : error.message
}

const withAdvice = ({ message }: Error, advice: string) => `${message}. ${advice}`

/** Failures that file permissions can cause. */
const STORE_FAILURES = new Set<Failure['code']>(['revocations-unknown', 'unavailable'])

/** Explains a permission problem, if there is one, with the file that the message names or with a file of the store. */
export function explainPermissions(error: unknown, message: string): string | undefined {
  if (error instanceof Failure && !STORE_FAILURES.has(error.code)) return undefined
  const [, named] = /(?:EACCES|EPERM).*'([^']+)'/.exec(message) ?? []
  // A file that a setting names is only read.
  const needed = /^LATCHKEY_\w+ /.test(message) ? constants.R_OK : undefined
  const why = named === undefined ? undefined : (explainAccess(named, needed) ?? explainAccess(dirname(named), needed))
  if (why !== undefined) return why
  try {
    return explainStoreAccess(readProcessConfig())
  } catch {
    // Invalid settings: `message` reports them already.
    return undefined
  }
}
