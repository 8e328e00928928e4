// Makes a backup of the store while it is in use: a copy of one snapshot, which delays nobody.
import { createHash, randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname } from 'node:path'
import { backup } from 'node:sqlite'
import { requireNoLink } from '../../../process/private-file.ts'
import { OperatorError } from '../../../tokens/model/errors.ts'
import { stampIn } from '../../../tokens/trust/revocations.ts'
import { Stamps } from '../../../tokens/trust/vault.ts'
import { type Manifest, manifestTrailer, type OnBytes } from '../../../tokens/upkeep/backup.ts'
import { BROKEN_JOURNAL, DAMAGED } from '../../../tokens/upkeep/examination.ts'
import { Journal } from '../journal/journal.ts'
import { newestSchema, requireKnownSchema } from '../sql/migrate.ts'
import { Connection, isFull, openDatabase } from '../sqlite-connection.ts'
import type { SqliteOptions } from '../store.ts'
import { Transaction } from '../transaction.ts'
import { syncPath } from './files.ts'
import { journalIn, requireStore } from './store-file.ts'

/** 4 MiB at a time, so that progress is shown and other disk accesses are not delayed for long. */
const STEP_PAGES = 1_000
const READ_BYTES = 4 * 1024 * 1024

export async function backUpSqlite(
  { dataDir, keys, journalPath = journalIn(dataDir) }: SqliteOptions,
  file: string,
  appVersion: string,
  onBytes: OnBytes,
): Promise<Manifest> {
  refuseExisting(file)
  const { path, storeSecret } = requireStore(dataDir, keys)
  const part = `${file}.${randomBytes(4).toString('hex')}.part`
  try {
    if (fs.statSync(dirname(file), { throwIfNoEntry: false }) === undefined) {
      throw new OperatorError(`There is no folder ${dirname(file)}. Create it first; nothing was changed.`)
    }
    fs.closeSync(fs.openSync(part, 'wx', 0o600))
    await copySnapshot(path, part, onBytes)
    const found = inspectCopy(part)
    const stamps = new Stamps(storeSecret)
    writeJournalUp(path, journalPath, stamps)
    const databaseBytes = fs.statSync(part).size
    const sha256 = await hashFile(part, databaseBytes)
    const madeAt = new Date().toISOString()
    const manifest: Manifest = { format: 1, madeAt, appVersion, ...found, databaseBytes, sha256 }
    append(part, manifestTrailer(manifest, stamps))
    refuseExisting(file)
    fs.renameSync(part, file)
    syncPath(dirname(file))
    requireIntactJournal(file, path, journalPath, stamps)
    return manifest
  } catch (error) {
    throw forOperator(error, `${file} cannot be written`)
  } finally {
    fs.rmSync(part, { force: true })
    fs.rmSync(`${part}-journal`, { force: true })
  }
}

/** The operator can solve what the system refuses: no space, no such folder, no permission. */
export function forOperator(error: unknown, what: string): unknown {
  const { syscall, message } = error as NodeJS.ErrnoException
  return syscall === undefined && !isFull(error) ? error : new OperatorError(`${what}: ${message}`)
}

/**
 * The journal must be on disk up to the line that the manifest names. That may be the line of a process that has committed it and
 * not written it yet. If the journal is lost, `requireIntactJournal` says so.
 */
function writeJournalUp(path: string, journalPath: string, stamps: Stamps): void {
  const [db, journal] = [new Connection(path, 'write'), new Journal(journalPath)]
  try {
    journal.recover(new Transaction(db, stamps), false)
    if (fs.existsSync(journalPath)) syncPath(journalPath)
  } finally {
    journal.close()
    db.close()
  }
}

/** This backup does not need the broken part, but earlier ones do. Backups are frequent, so this is found early. */
function requireIntactJournal(file: string, path: string, journalPath: string, stamps: Stamps): void {
  const [db, journal] = [new Connection(path, 'read'), new Journal(journalPath)]
  try {
    const broken = journal.findBreak({ db, stamps })
    if (broken !== undefined) throw new OperatorError(`${file} is complete. But ${broken}${BROKEN_JOURNAL}`)
  } finally {
    journal.close()
    db.close()
  }
}

function refuseExisting(file: string): void {
  if (fs.existsSync(file)) throw new OperatorError(`${file} exists already. Name a new file; nothing was changed.`)
}

/**
 * SQLite restarts a backup whenever another connection has written, which under load never ends. It does not if the source
 * connection is inside a transaction: in WAL mode every page then comes from one snapshot.
 */
async function copySnapshot(path: string, part: string, onBytes: OnBytes): Promise<void> {
  const source = openDatabase(path, { timeout: 5_000 })
  try {
    source.exec('BEGIN')
    const { page_size: pageBytes } = source.prepare('PRAGMA page_size').get() as { page_size: number }
    source.prepare('SELECT count(*) FROM sqlite_master').get()
    const progress = ({ totalPages, remainingPages }: { totalPages: number; remainingPages: number }) =>
      onBytes((totalPages - remainingPages) * pageBytes, totalPages * pageBytes)
    requireNoLink(part)
    await backup(source, part, { rate: STEP_PAGES, progress })
  } finally {
    source.close()
  }
}

/** Checks the copy for damage, and marks it as a backup. */
function inspectCopy(part: string) {
  const db = new Connection(part, 'write')
  try {
    if (requireKnownSchema(db) < newestSchema()) {
      throw new OperatorError('The store is not up to date. Run `latchkey migrate` first.')
    }
    const damage = db.findDamage()
    if (damage !== undefined) throw new OperatorError(`${DAMAGED} (${damage})`)
    db.run('UPDATE revocation_journal SET from_backup = 1')
    const journal = db.get<{ size: number; last_line: string }>('SELECT size, last_line FROM revocation_journal')
    const keys = db.all<{ key_id: string }>('SELECT key_id FROM vault ORDER BY key_id')
    const found = {
      schema: newestSchema(),
      masterKeyIds: keys.map(({ key_id }) => key_id),
      counts: countRows(db),
      historyHead: hashHistoryHeads(db),
      journal: journal === undefined ? null : { size: journal.size, stamp: stampIn(journal.last_line) },
    }
    // Leaves one file, without -wal and -shm.
    db.exec('PRAGMA journal_mode = DELETE')
    return found
  } finally {
    db.close()
  }
}

function countRows(db: Connection): Record<string, number> {
  const count = (sql: string) => db.get<{ n: number | null }>(sql)?.n ?? 0
  const tokens = (status: string) =>
    `SELECT sum(count) AS n FROM token_counts WHERE status = '${status}' AND scope IN (SELECT id FROM accounts)`
  return {
    accounts: count('SELECT count(*) AS n FROM accounts'),
    accountKeys: count('SELECT count(*) AS n FROM account_keys'),
    subAccounts: count('SELECT count(*) AS n FROM sub_accounts'),
    activeTokens: count(tokens('active')),
    inactiveTokens: count(tokens('inactive')),
    historyRows: count('SELECT sum(seq) AS n FROM history_heads'),
  }
}

function hashHistoryHeads(db: Connection): string {
  const hash = createHash('sha256')
  const heads = db.iterate<{ account_id: string; seq: number; last: string }>(
    'SELECT account_id, seq, hex(last) AS last FROM history_heads ORDER BY account_id',
  )
  for (const { account_id, seq, last } of heads) hash.update(`${account_id} ${seq} ${last}\n`)
  return hash.digest('hex')
}

function append(path: string, bytes: Uint8Array): void {
  const { O_APPEND, O_WRONLY, O_NOFOLLOW } = fs.constants
  const file = fs.openSync(path, O_APPEND | O_WRONLY | O_NOFOLLOW)
  try {
    fs.writeFileSync(file, bytes)
    fs.fsyncSync(file)
  } finally {
    fs.closeSync(file)
  }
}

/** The SHA-256 of the first `length` bytes of a file. */
export async function hashFile(path: string, length: number, onChunk?: (chunk: Buffer) => void): Promise<string> {
  const hash = createHash('sha256')
  const chunks = length > 0 ? fs.createReadStream(path, { end: length - 1, highWaterMark: READ_BYTES }) : []
  for await (const chunk of chunks) {
    hash.update(chunk)
    onChunk?.(chunk)
  }
  return hash.digest('hex')
}
