// The revocation journal's file. Lines are appended inside the store's write transaction, so that processes take turns. The
// same transaction stores the journal's position, so that each shows what the other has lost.
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname } from 'node:path'
import { replacePrivate } from '../../../process/private-file.ts'
import { Failure, failure } from '../../../tokens/errors.ts'
import {
  compareJournal,
  firstLine,
  isFirstLine,
  nextLine,
  type Place,
  type ReadLine,
  type Revocation,
} from '../../../tokens/trust/revocations.ts'
import type { Connection } from '../connection.ts'
import { syncPath } from '../files/files.ts'
import type { Transaction } from '../transaction.ts'
import { replay } from './replay.ts'

const { O_RDWR, O_APPEND, O_NOFOLLOW } = fs.constants
const MISSING = 'is missing'
/** In one transaction: an interrupted replay continues after the last one. */
const REPLAYED_LINES = 500
/** Far longer than any line. */
const CHUNK_BYTES = 4 * 1024 * 1024

/** The file does not end at the stored position: a process was interrupted, or somebody has changed the file. */
export class OutOfStep extends Failure {
  constructor() {
    super('unavailable')
  }
}

export interface Recovery {
  /** Why requests must be refused, for the operator; undefined when there is no reason. */
  readonly obstacle: string | undefined
  /** Revocations that were missing in the store. */
  readonly replayed: number
}

type Step = Recovery & { readonly done: boolean }

type StoredPlace = Place & { readonly fromBackup: boolean }

export class Journal {
  readonly path: string
  #file: number | undefined
  /** The last line that this process has written to the file or read from it. */
  #lastSeen = ''
  /** The last line may not have reached the disk, and a second sync would not report that. */
  #doubtful = false
  #closedBecause = ''

  constructor(path: string) {
    this.path = path
  }

  /** To be called inside the transaction of the changes. Resolves when the line is on disk. */
  append({ db, stamps, revocations }: Transaction): Promise<void> {
    const place = readPlace(db)
    const file = this.#file
    if (place === undefined || file === undefined || this.#doubtful) throw new OutOfStep()
    const { size } = fs.fstatSync(file)
    if (size !== place.size || !this.#isInPlace(file)) throw new OutOfStep()
    if (place.lastLine !== this.#lastSeen) {
      if (place.lastLine !== this.#read(place)) throw new OutOfStep()
      // The other process that wrote this line may not have synced it yet: only the last line may be missing on disk.
      fs.fdatasyncSync(file)
    }
    const line = nextLine(place.lastLine, revocations, stamps)
    this.#write(line, size)
    savePlace(db, { size: size + line.length, lastLine: line })
    this.#lastSeen = line
    const synced = this.#sync(file)
    // If COMMIT fails, nothing awaits this promise.
    synced.catch(() => {})
    return synced
  }

  /** False once the open file was moved away: other processes would not find what is written to it. */
  #isInPlace(file: number): boolean {
    const [open, named] = [fs.fstatSync(file), fs.statSync(this.path, { throwIfNoEntry: false })]
    return named?.ino === open.ino && named.dev === open.dev
  }

  #sync(file: number): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.fdatasync(file, (error) => {
        if (error === null) return resolve()
        this.#doubtful = true
        reject(error)
      })
    })
  }

  /** Reconciles journal and store. If revocations are lost: returns an obstacle or, if that is accepted, starts a new journal. */
  recover(transaction: Transaction, acceptLoss: boolean): Recovery {
    if (!acceptLoss && this.#isInStep(transaction)) return { obstacle: undefined, replayed: 0 }
    let replayed = 0
    for (;;) {
      const step = transaction.db.transaction(() => this.#step(transaction, acceptLoss))
      replayed += step.replayed
      if (step.done) return { obstacle: step.obstacle, replayed }
    }
  }

  /**
   * What is wrong before the stored position. Opening a store does not check this, since it takes some ten microseconds a
   * line, but a restore of an earlier backup needs these lines. They never change, so other processes may write meanwhile.
   */
  findBreak({ db, stamps }: Pick<Transaction, 'db' | 'stamps'>): string | undefined {
    const place = readPlace(db)
    if (place === undefined) return undefined
    if (!this.#open()) return this.#obstacle(this.#closedBecause)
    const end = place.size - place.lastLine.length
    if (fs.fstatSync(this.#file ?? -1).size < end) return this.#obstacle('was cut short')
    let last = ''
    for (let start = 0; start < place.size; ) {
      const length = Math.min(CHUNK_BYTES, end - start)
      const text = this.#readAt(start, length) + (start + length === end ? place.lastLine : '')
      const lines = text.slice(0, text.lastIndexOf('\n') + 1)
      const first = lines.slice(0, lines.indexOf('\n') + 1)
      if (last === '' && !isFirstLine(first, stamps)) return this.#obstacle('was altered')
      const found = compareJournal({ size: 0, lastLine: last || first }, true, last + lines, stamps)
      if (lines === '' || found.kind === 'lost') return this.#obstacle('was altered')
      last = lines.slice(lines.lastIndexOf('\n', lines.length - 2) + 1)
      start += lines.length
    }
    return undefined
  }

  get isDoubtful(): boolean {
    return this.#doubtful
  }

  close(): void {
    if (this.#file !== undefined) fs.closeSync(this.#file)
    this.#file = undefined
  }

  /** The usual case, found without the write lock. */
  #isInStep({ db, stamps }: Transaction): boolean {
    const place = readPlace(db)
    if (place === undefined || place.fromBackup || this.#doubtful || !this.#open()) return false
    return compareJournal(place, false, this.#read(place), stamps).kind === 'even'
  }

  #step(transaction: Transaction, acceptLoss: boolean): Step {
    const { db, stamps } = transaction
    const place = readPlace(db) ?? this.#begin(transaction)
    if (place !== undefined) this.#finishReplacing(place)
    if (place === undefined) return this.#lose(transaction, acceptLoss, 'exists, but this store has no position in it')
    const text = this.#open() ? this.#read(place) : undefined
    const found = compareJournal(place, place.fromBackup, text, stamps)
    if (found.kind === 'ahead') {
      const lines = found.lines.slice(0, REPLAYED_LINES)
      const replayed = replayLines(transaction, lines)
      const size = place.size + lines.reduce((sum, { text }) => sum + text.length, 0)
      savePlace(db, { size, lastLine: lines.at(-1)?.text ?? place.lastLine })
      // An interrupted replay must continue as one.
      db.run('UPDATE revocation_journal SET from_backup = 1')
      return { done: false, obstacle: undefined, replayed }
    }
    if (found.kind === 'lost') return this.#lose(transaction, acceptLoss, found.reason, found.readable)
    if (acceptLoss && this.findBreak(transaction) !== undefined) return this.#lose(transaction, acceptLoss)
    if (found.kind === 'uncommitted') this.#truncate(place)
    this.#rewrite(place, found.kind === 'behind' ? found.missing : '')
    if (place.fromBackup) db.run('UPDATE revocation_journal SET from_backup = 0')
    this.#lastSeen = place.lastLine
    return { done: true, obstacle: undefined, replayed: 0 }
  }

  #lose(transaction: Transaction, acceptLoss: boolean, reason = '', readable: readonly ReadLine[] = []): Step {
    if (!acceptLoss) return { done: true, obstacle: this.#obstacle(this.#closedBecause || reason), replayed: 0 }
    const replayed = replayLines(transaction, readable)
    this.#create(transaction, this.#replacement)
    return { done: false, obstacle: undefined, replayed }
  }

  /** In doubt until the new length is on disk: otherwise the next line could follow the truncated one. */
  #truncate({ size }: Place): void {
    this.#doubtful = true
    fs.ftruncateSync(this.#file ?? -1, size)
  }

  /** Writes the last line again, or its missing end, after a power loss or a failed sync. */
  #rewrite({ size, lastLine }: Place, missing: string): void {
    const file = this.#file ?? -1
    const again = this.#doubtful ? lastLine : missing
    if (again === '') return
    fs.ftruncateSync(file, size - again.length)
    this.#write(again, size - again.length)
    fs.fdatasyncSync(file)
    this.#doubtful = false
  }

  /** For a store without a stored position; undefined when the file holds revocations, or cannot be opened. */
  #begin(transaction: Transaction): StoredPlace | undefined {
    if (!this.#open() && this.#closedBecause !== MISSING) return undefined
    const text = this.#file === undefined ? '' : this.#readAt(0, fs.fstatSync(this.#file).size)
    if (!text.includes('\n')) return this.#create(transaction)
    if (text.indexOf('\n') + 1 < text.length || !isFirstLine(text, transaction.stamps)) return undefined
    return noteFirst(transaction.db, text)
  }

  /** A new journal has this name until the store refers to it: whatever fails before, the lost one can be read again. */
  get #replacement(): string {
    return `${this.path}.new`
  }

  #finishReplacing({ lastLine }: Place): void {
    const exists = (path: string) => fs.lstatSync(path, { throwIfNoEntry: false }) !== undefined
    if (!exists(this.#replacement) || fs.readFileSync(this.#replacement, 'latin1') !== lastLine) return
    this.close()
    if (exists(this.path)) fs.renameSync(this.path, `${this.path}.lost-${Date.now()}`)
    fs.renameSync(this.#replacement, this.path)
    syncPath(dirname(this.path))
    this.#doubtful = false
  }

  /** The file is on disk before the store refers to it. */
  #create({ db, stamps }: Transaction, path = this.path): StoredPlace {
    const line = firstLine(Date.now(), randomBytes(16).toString('hex'), stamps)
    fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    replacePrivate(path, line)
    syncPath(dirname(path))
    return noteFirst(db, line)
  }

  #open(): boolean {
    this.close()
    try {
      this.#file = fs.openSync(this.path, O_RDWR | O_APPEND | O_NOFOLLOW)
      this.#closedBecause = ''
      return true
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      const isMissing = code === 'ENOENT' || code === 'ENOTDIR'
      this.#closedBecause = isMissing ? MISSING : `cannot be opened (${code})`
      return false
    }
  }

  /** The file from the beginning of the store's last line; undefined when the file is shorter. */
  #read({ size, lastLine }: Place): string | undefined {
    const start = size - lastLine.length
    const length = fs.fstatSync(this.#file ?? -1).size - start
    return length < 0 ? undefined : this.#readAt(start, length)
  }

  #readAt(start: number, length: number): string {
    const bytes = Buffer.alloc(length)
    let read = 0
    while (read < length) {
      const part = fs.readSync(this.#file ?? -1, bytes, read, length - read, start + read)
      if (part === 0) break
      read += part
    }
    return bytes.toString('latin1', 0, read)
  }

  /** Writes all of the text or nothing. */
  #write(text: string, sizeBefore: number): void {
    const file = this.#file ?? -1
    try {
      if (fs.writeSync(file, text, null, 'latin1') < text.length) throw Object.assign(new Error(), { code: 'ENOSPC' })
    } catch (cause) {
      const isFull = (cause as NodeJS.ErrnoException).code === 'ENOSPC'
      try {
        fs.ftruncateSync(file, sizeBefore)
      } catch {
        // The rest is recognised as an unfinished line.
      }
      throw failure(isFull ? 'store-full' : 'unavailable', cause)
    }
  }

  #obstacle(what: string): string {
    return `the revocation journal ${this.path} ${what}`
  }
}

function replayLines(transaction: Transaction, lines: readonly ReadLine[]): number {
  return replay(
    transaction,
    lines.flatMap(({ revocations }) => revocations),
  )
}

function readPlace(db: Connection): StoredPlace | undefined {
  const row = db.get<{ size: number; last_line: string; from_backup: number }>(
    'SELECT size, last_line, from_backup FROM revocation_journal',
  )
  return row && { size: row.size, lastLine: row.last_line, fromBackup: row.from_backup === 1 }
}

function savePlace(db: Connection, { size, lastLine }: Place): void {
  db.run('UPDATE revocation_journal SET size = ?, last_line = ?', size, lastLine)
}

function noteFirst(db: Connection, line: string): StoredPlace {
  db.run('INSERT OR REPLACE INTO revocation_journal (only, size, last_line) VALUES (1, ?, ?)', line.length, line)
  return { size: line.length, lastLine: line, fromBackup: false }
}

/** Those that are still on: another process may have switched some off since. */
export function stillReenabled(db: Connection, reenabled: Transaction['reenabled']): Revocation[] {
  return [...reenabled].flatMap(([id, at]): Revocation[] => {
    const token = db.get<{ status: string; version: number }>('SELECT status, version FROM tokens WHERE id = ?', id)
    if (token?.status === 'active') return [{ kind: 'token-on', id, at, version: token.version }]
    const resumed = db.get('SELECT 1 FROM sub_accounts WHERE id = ? AND suspended_at IS NULL', id)
    return resumed === undefined ? [] : [{ kind: 'sub-account-on', id, at }]
  })
}
