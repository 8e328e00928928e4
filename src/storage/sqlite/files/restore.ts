// Puts a backup in the place of the store. Until the last step, a rename, the old store stands as it was.
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { createPrivate, requireNoLink } from '../../../process/private-file.ts'
import { OperatorError } from '../../../tokens/errors.ts'
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
import { Connection, isBusy, isCorrupt, isStoreFault } from '../connection.ts'
import { Journal } from '../journal/journal.ts'
import { Session } from '../session.ts'
import { newestSchema } from '../sql/migrate.ts'
import { databaseIn, journalIn, readSecret, type SqliteOptions } from '../store.ts'
import { forOperator, hashFile, syncFile } from './backup.ts'
import { syncFolder } from './files.ts'

export interface RestoreOptions extends SqliteOptions {
  /** A store that is there already is moved aside; otherwise it is refused. */
  readonly replace: boolean
}

export interface Restored {
  readonly manifest: Manifest
  /** Where the store that was there before has been moved to. */
  readonly movedAside: string | undefined
}

export async function restoreSqlite(options: RestoreOptions, file: string, onBytes: OnBytes): Promise<Restored> {
  const { dataDir, keys, replace } = options
  const signed = readManifest(file)
  const { manifest } = signed
  const missing = manifest.masterKeyIds.filter((id) => keys.find(id) === undefined)
  if (missing.length > 0) {
    throw new OperatorError(
      `${file} is sealed with master key ${missing.join(', ')}, but the key given is ${keys.ids.join(', ')}. ` +
        'Set LATCHKEY_MASTER_KEY or LATCHKEY_MASTER_KEY_FILE to the right key; nothing was changed.',
    )
  }
  if (manifest.schema > newestSchema()) {
    throw new OperatorError(`${file} was made by Latchkey ${manifest.appVersion}, which is newer. Use that version.`)
  }
  const path = databaseIn(dataDir)
  requireNoLink(path)
  if (fs.existsSync(path) && !replace) {
    throw new OperatorError(`${path} is there already. Give --replace to move it aside; nothing was changed.`)
  }
  // SQLite would take it for the log of whatever database stands beside it.
  if (!fs.existsSync(path) && fs.existsSync(`${path}-wal`)) {
    throw new OperatorError(`${path}-wal is left of another store. Move it away; nothing was changed.`)
  }
  fs.mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const part = join(dataDir, `restore-${randomBytes(4).toString('hex')}.part`)
  try {
    await copyOut(file, part, signed, onBytes)
    const storeSecret = readSecret(part, keys) ?? new Uint8Array()
    if (!isManifestStamp(signed, new Stamps(storeSecret))) {
      throw new OperatorError(`${file} was altered: its manifest is not stamped by its store. Nothing was changed.`)
    }
    const movedAside = fs.existsSync(path) ? replaceStore(options, part) : undefined
    if (movedAside === undefined) fs.renameSync(part, path)
    syncFolder(dataDir)
    return { manifest, movedAside }
  } catch (error) {
    throw forOperator(error, `${file} cannot be put in place`)
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
      throw new OperatorError(`${file} does not have the length that its manifest says. Nothing was changed.`)
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

/** The database out of the backup, read once: what is put in place is what was checked. */
async function copyOut(file: string, part: string, { manifest }: SignedManifest, onBytes: OnBytes): Promise<void> {
  const target = createPrivate(part)
  try {
    let done = 0
    const { sha256 } = await hashFile(file, manifest.databaseBytes, (chunk) => {
      for (let written = 0; written < chunk.length; ) written += fs.writeSync(target, chunk, written)
      done += chunk.length
      onBytes(done, manifest.databaseBytes)
    })
    if (sha256 !== manifest.sha256) {
      throw new OperatorError(
        `${file} is damaged: it does not have the hash that its manifest says. Nothing was changed.`,
      )
    }
    fs.fsyncSync(target)
  } finally {
    fs.closeSync(target)
  }
}

/** Where the old store can still be opened, it is alone, and all of it is in one file, before it makes room. */
function replaceStore(options: RestoreOptions, part: string): string {
  const path = databaseIn(options.dataDir)
  const aside = `${path}.before-restore-${new Date().toISOString().replaceAll(/[-:Z]/g, '')}`
  const secret = readOldSecret(path, options)
  const old = openAlone(path)
  try {
    if (old !== undefined) {
      const obstacle = secret && findObstacle(old, options, secret)
      if (obstacle !== undefined && options.acceptRevocationLoss !== true) {
        throw new OperatorError(
          `By the store that is to be replaced, ${obstacle}: revoked tokens would be revived. Put the journal back, or ` +
            'give --accept-revocation-loss; nothing was changed.',
        )
      }
      old.exec('PRAGMA journal_mode = DELETE')
      old.exec('BEGIN EXCLUSIVE')
    }
    keep(path, aside)
    // Left beside the new database, the log of a store that cannot be opened would be taken for its own.
    if (fs.existsSync(`${path}-wal`)) fs.renameSync(`${path}-wal`, `${aside}-wal`)
    // The log's index, which is made anew from the log.
    fs.rmSync(`${path}-shm`, { force: true })
    fs.renameSync(part, path)
  } finally {
    old?.close()
  }
  return aside
}

function readOldSecret(path: string, { keys }: RestoreOptions): Uint8Array | undefined {
  try {
    return readSecret(path, keys)
  } catch (error) {
    if (!isStoreToBlame(error)) throw error
    return undefined
  }
}

/** Undefined for a store so damaged that it cannot be opened. */
function openAlone(path: string): Connection | undefined {
  try {
    return new Connection(path, 'alone')
  } catch (error) {
    if (isBusy(error)) throw new OperatorError(`${path} is in use. Stop whatever serves it first; nothing was changed.`)
    if (!isStoreToBlame(error)) throw error
    return undefined
  }
}

/**
 * The old store knows how long the journal must be; once it is gone, one that was cut off at the end of a line looks
 * whole. A store that is damaged, or of another key, has nothing to say about it.
 */
function findObstacle(
  old: Connection,
  { dataDir, journalPath = journalIn(dataDir) }: RestoreOptions,
  secret: Uint8Array,
) {
  const journal = new Journal(journalPath)
  try {
    if (old.get('SELECT 1 FROM revocation_journal') === undefined) return undefined
    const session = new Session(old, new Stamps(secret))
    return journal.recover(session, false).obstacle ?? journal.findBreak(session)
  } catch (error) {
    if (!isStoreToBlame(error)) throw error
    return undefined
  } finally {
    journal.close()
  }
}

/**
 * Damaged, sealed with another key, or of an earlier schema. A disk that fails or is full says nothing about the store on
 * it: what could not be checked was not found to be well.
 */
function isStoreToBlame(error: unknown): boolean {
  if (error instanceof OperatorError || isCorrupt(error)) return true
  return (error as { errcode?: number }).errcode !== undefined && !isStoreFault(error)
}

/** Both names for a moment, so that the store's own is never without one. */
function keep(path: string, aside: string): void {
  try {
    fs.linkSync(path, aside)
  } catch {
    // A file system without links.
    fs.copyFileSync(path, aside, fs.constants.COPYFILE_EXCL)
    syncFile(aside)
  }
}
