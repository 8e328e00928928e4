// Replaces the store by a backup. Until the last step, a rename, the old store is unchanged.
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import type { SQLInputValue } from 'node:sqlite'
import { createPrivate, requireNoLink } from '../../../process/private-file.ts'
import { OperatorError } from '../../../tokens/model/errors.ts'
import { Stamps } from '../../../tokens/trust/vault.ts'
import {
  FOOTER_BYTES,
  isManifestStamp,
  type Manifest,
  type OnBytes,
  readTrailer,
  type SignedManifest,
  trailerLength,
} from '../../../tokens/upkeep/backup.ts'
import { anyLease, LEASE_SECONDS } from '../../../tokens/verifiers/lease.ts'
import { requireKeys } from '../../store-secret.ts'
import { Journal } from '../journal/journal.ts'
import { newestSchema } from '../sql/migrate.ts'
import { insertUnknownLease } from '../sql/news.ts'
import { Connection, inUse, isBusy, isCorrupt, isStoreFault, openDatabase } from '../sqlite-connection.ts'
import type { SqliteOptions } from '../store.ts'
import { Transaction } from '../transaction.ts'
import { forOperator, hashFile } from './backup.ts'
import { syncPath } from './files.ts'
import { databaseIn, journalIn, readSecret } from './store-file.ts'

export interface RestoreOptions extends SqliteOptions {
  /** Moves an existing store aside instead of refusing to restore. */
  readonly replace: boolean
}

export interface Restored {
  readonly manifest: Manifest
  /** The new path of the store that existed before. */
  readonly movedAside: string | undefined
}

export async function restoreSqlite(options: RestoreOptions, file: string, onBytes: OnBytes): Promise<Restored> {
  const { dataDir, keys, replace } = options
  const signed = readManifest(file)
  const { manifest } = signed
  requireKeys(manifest.masterKeyIds, keys, file)
  if (manifest.schema > newestSchema()) {
    throw new OperatorError(`${file} was made by Latchkey ${manifest.appVersion}, which is newer. Use that version.`)
  }
  const path = databaseIn(dataDir)
  requireNoLink(path)
  if (fs.existsSync(path) && !replace) {
    throw new OperatorError(`${path} exists already. Give --replace to move it aside; nothing was changed.`)
  }
  // SQLite would take it for the WAL of the restored database.
  if (!fs.existsSync(path) && fs.existsSync(`${path}-wal`)) {
    throw new OperatorError(`${path}-wal belongs to another store. Move it away; nothing was changed.`)
  }
  fs.mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const part = join(dataDir, `restore-${randomBytes(4).toString('hex')}.part`)
  try {
    await copyOut(file, part, signed, onBytes)
    const storeSecret = readSecret(part, keys) ?? new Uint8Array()
    if (!isManifestStamp(signed, new Stamps(storeSecret))) {
      throw new OperatorError(`${file} was altered: the stamp of its manifest is wrong. Nothing was changed.`)
    }
    prepare(part, fs.existsSync(path) ? longestTerm(path) : 0)
    const movedAside = fs.existsSync(path) ? replaceStore(options, part) : undefined
    if (movedAside === undefined) fs.renameSync(part, path)
    syncPath(dataDir)
    return { manifest, movedAside }
  } catch (error) {
    throw isBusy(error) ? inUse(path) : forOperator(error, `${file} cannot be restored`)
  } finally {
    fs.rmSync(part, { force: true })
  }
}

function readManifest(file: string): SignedManifest {
  let handle: number
  try {
    handle = fs.openSync(file, 'r')
  } catch (error) {
    throw new OperatorError(`${file} cannot be read: ${(error as Error).message}`)
  }
  try {
    const { size } = fs.fstatSync(handle)
    const length = trailerLength(readEnd(handle, size, FOOTER_BYTES))
    if (length === undefined || length > size) {
      throw new OperatorError(`${file} is not a backup, or was cut short. Nothing was changed.`)
    }
    const signed = readTrailer(readEnd(handle, size, length))
    if (signed.manifest.databaseBytes + length !== size) {
      throw new OperatorError(`${file} does not have the length that its manifest states. Nothing was changed.`)
    }
    return signed
  } finally {
    fs.closeSync(handle)
  }
}

function readEnd(handle: number, size: number, length: number): string {
  const bytes = Buffer.alloc(Math.min(length, size))
  fs.readSync(handle, bytes, 0, bytes.length, size - bytes.length)
  return bytes.toString()
}

/** Extracts the database. The backup is read once, so that the bytes restored are the bytes checked. */
async function copyOut(file: string, part: string, { manifest }: SignedManifest, onBytes: OnBytes): Promise<void> {
  const target = createPrivate(part)
  try {
    let done = 0
    const sha256 = await hashFile(file, manifest.databaseBytes, (chunk) => {
      for (let written = 0; written < chunk.length; ) written += fs.writeSync(target, chunk, written)
      done += chunk.length
      onBytes(done, manifest.databaseBytes)
    })
    if (sha256 !== manifest.sha256) {
      throw new OperatorError(
        `${file} is damaged: it does not have the hash that its manifest states. Nothing was changed.`,
      )
    }
    fs.fsyncSync(target)
  } finally {
    fs.closeSync(target)
  }
}

/**
 * Sessions that ended since the backup must not come back: everybody signs in again. Leases may be held that began after the backup:
 * the journal has them, and the replaced store, of whose longest one `termMs` is the term.
 */
function prepare(part: string, termMs: number): void {
  const db = openDatabase(part)
  const has = (table: string) => db.prepare('SELECT 1 FROM sqlite_master WHERE name = ?').get(table) !== undefined
  try {
    for (const table of ['sessions', 'portal_sessions']) if (has(table)) db.exec(`DELETE FROM ${table}`)
    if (termMs === 0 || !has('verifiers')) return
    // Backups of earlier versions require the account of a lease.
    db.exec('PRAGMA foreign_keys = OFF')
    const run = (sql: string, ...values: SQLInputValue[]) => Number(db.prepare(sql).run(...values).changes)
    insertUnknownLease({ run }, { ...anyLease(Date.now()), termMs })
  } finally {
    db.close()
  }
}

/** Of the verifiers of a store; 0 without any, the longest that there can be if it cannot be read. */
function longestTerm(path: string): number {
  const read = unlessUnreadable(() => {
    const db = openDatabase(path, { readOnly: true })
    try {
      const exists = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'verifiers'").get() !== undefined
      if (!exists) return 0
      return Number(db.prepare("SELECT max(term_ms) AS ms FROM verifiers WHERE state <> 'gone'").get()?.ms ?? 0)
    } finally {
      db.close()
    }
  })
  return read ?? LEASE_SECONDS.most * 1_000
}

/** If the old store can still be opened, it is locked and its WAL is merged into its file before it is moved aside. */
function replaceStore(options: RestoreOptions, part: string): string {
  const path = databaseIn(options.dataDir)
  const aside = `${path}.before-restore-${new Date().toISOString().replaceAll(/[-:Z]/g, '')}`
  const secret = unlessUnreadable(() => readSecret(path, options.keys))
  const old = unlessUnreadable(() => new Connection(path, 'alone'))
  try {
    if (old !== undefined) {
      const obstacle = secret && unlessUnreadable(() => findObstacle(old, options, secret))
      if (obstacle !== undefined && options.acceptRevocationLoss !== true) {
        throw new OperatorError(
          `According to the store to be replaced, ${obstacle}: revoked tokens would become active again. Put the journal ` +
            'back, or give --accept-revocation-loss; nothing was changed.',
        )
      }
      old.exec('PRAGMA journal_mode = DELETE')
      old.exec('BEGIN EXCLUSIVE')
    }
    keep(path, aside)
    // If the old store could not be opened, SQLite would take its WAL for that of the new one.
    if (fs.existsSync(`${path}-wal`)) fs.renameSync(`${path}-wal`, `${aside}-wal`)
    // SQLite rebuilds this index of the WAL.
    fs.rmSync(`${path}-shm`, { force: true })
    fs.renameSync(part, path)
  } finally {
    old?.close()
  }
  return aside
}

/**
 * Only the old store knows how long the journal must be: a journal cut off at the end of a line looks complete. A store that
 * is damaged or sealed with another key cannot be asked.
 */
function findObstacle(
  old: Connection,
  { dataDir, journalPath = journalIn(dataDir) }: RestoreOptions,
  secret: Uint8Array,
) {
  const journal = new Journal(journalPath)
  try {
    if (old.get('SELECT 1 FROM revocation_journal') === undefined) return undefined
    const transaction = new Transaction(old, new Stamps(secret))
    return journal.recover(transaction, false).obstacle ?? journal.findBreak(transaction)
  } finally {
    journal.close()
  }
}

/**
 * Returns undefined for a store that is damaged, sealed with another key, or of an earlier schema. An error of the disk is
 * thrown: it says nothing about the store, so the journal would remain unchecked.
 */
function unlessUnreadable<Result>(read: () => Result): Result | undefined {
  try {
    return read()
  } catch (error) {
    const { errcode } = error as { errcode?: number }
    const isUnreadable = error instanceof OperatorError || isCorrupt(error) || (errcode && !isStoreFault(error))
    if (isUnreadable) return undefined
    throw error
  }
}

/** A second name for the file, so that the store's path never lacks a file. */
function keep(path: string, aside: string): void {
  try {
    fs.linkSync(path, aside)
  } catch {
    // The file system has no hard links.
    fs.copyFileSync(path, aside, fs.constants.COPYFILE_EXCL)
    syncPath(aside)
  }
}
