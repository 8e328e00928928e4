// The revocation journal's file. A commit stores the journal's next line and its position in the database, and the line is written
// to the file after it. The line of another process that is not in the file yet is written before the next commit, so the file
// lacks at most the last line, which the store has.
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname } from 'node:path'
import { replacePrivate } from '../../../process/private-file.ts'
import { Failure } from '../../../tokens/model/errors.ts'
import {
  compareJournal,
  firstLine,
  type JournalPosition,
  nextLine,
  readLines,
} from '../../../tokens/trust/revocations.ts'
import { anyLease } from '../../../tokens/verifiers/lease.ts'
import { syncPath } from '../files/files.ts'
import { insertUnknownLease } from '../sql/news.ts'
import type { Connection } from '../sqlite-connection.ts'
import type { Transaction } from '../transaction.ts'
import { endBulkOperations, replay } from './replay.ts'

const { O_RDWR, O_NOFOLLOW } = fs.constants
const MISSING = 'is missing'
/** Read at once, and replayed in one transaction: some seconds at most. A line, of 256 changes, takes 100 KB at most. */
const CHUNK_BYTES = 512 * 1024

/** The file does not end at the stored position: somebody has changed it, or the store. */
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

const NOTHING: Recovery = { obstacle: undefined, replayed: 0 }

/** A line that a commit has stored, and its position in the file. */
export interface StoredLine {
  readonly text: string
  readonly start: number
}

export class Journal {
  readonly path: string
  #file: number | undefined
  /** The last line that this process has written to the file or found there. */
  #lastSeen = ''
  /** The last line may not be on disk, and a second sync would not report that. */
  #doubtful = false
  #closedBecause = ''

  constructor(path: string) {
    this.path = path
  }

  /** To be called inside the transaction of the changes, as its last step. Undefined when there is nothing to write. */
  store({ db, stamps, revocations }: Transaction): StoredLine | undefined {
    if (revocations.length === 0) return undefined
    const position = readPosition(db)
    if (position === undefined || this.#doubtful || !this.#isNotMoved()) throw new OutOfStep()
    if (position.lastLine !== this.#lastSeen || this.#size() !== position.size) {
      const { kind } = compareJournal(position, ...this.#read(position), stamps)
      if (kind !== 'even' && kind !== 'behind') throw new OutOfStep()
      // The process that committed this line may not have written or synced it yet.
      this.#writeLast(position)
    }
    const text = nextLine(position.lastLine, revocations, stamps)
    savePosition(db, { size: position.size + text.length, lastLine: text, isOlder: false })
    return { text, start: position.size }
  }

  /**
   * To be called after the commit: the line is in the journal only if the change is durable. Resolves when the line is on disk.
   * Another process may write the same bytes at the same position.
   */
  async write({ text, start }: StoredLine): Promise<void> {
    this.#doubtful = true
    this.#lastSeen = text
    this.#writeAt(text, start)
    const file = this.#file ?? -1
    await new Promise<void>((resolve, reject) => {
      fs.fdatasync(file, (error) => (error === null ? resolve() : reject(error)))
    })
    this.#doubtful = false
  }

  get isDoubtful(): boolean {
    return this.#doubtful
  }

  /** Reconciles journal and store. If revocations are lost: returns an obstacle or, if that is accepted, starts a new journal. */
  recover(transaction: Transaction, acceptLoss: boolean): Recovery {
    if (!acceptLoss && this.#isInStep(transaction)) return NOTHING
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
    const position = readPosition(db)
    if (position === undefined) return undefined
    if (!this.#open()) return this.#obstacle(this.#closedBecause)
    // The store itself has the last line.
    const end = position.size - position.lastLine.length
    if (this.#size() < end) return this.#obstacle('was cut short')
    let lastLine = ''
    for (let start = 0; start < position.size; ) {
      const length = Math.min(CHUNK_BYTES, end - start)
      const text = this.#readAt(start, length) + (start + length === end ? position.lastLine : '')
      const read = readLines(text, lastLine, stamps)
      if (read.isAltered || read.whole === '') return this.#obstacle('was altered')
      lastLine = read.lastLine
      start += read.whole.length
    }
    return undefined
  }

  close(): void {
    if (this.#file !== undefined) fs.closeSync(this.#file)
    this.#file = undefined
  }

  /** The usual case, found without the write lock. */
  #isInStep({ db, stamps }: Transaction): boolean {
    const position = readPosition(db)
    if (position === undefined || position.isOlder || this.#doubtful || !this.#open()) return false
    return compareJournal(position, ...this.#read(position), stamps).kind === 'even'
  }

  #step(transaction: Transaction, acceptLoss: boolean): Step {
    const { db, stamps } = transaction
    const position = readPosition(db) ?? this.#begin(transaction)
    if (position === undefined)
      return this.#lose(transaction, acceptLoss, 'exists, but this store has no position in it')
    this.#finishReplacing(position)
    this.#open()
    const found = compareJournal(position, ...this.#read(position), stamps)
    if (found.kind === 'ahead') {
      savePosition(db, found.next)
      return { ...NOTHING, done: false, replayed: replay(transaction, found.revocations) }
    }
    if (found.kind === 'lost') return this.#lose(transaction, acceptLoss, found.reason, position)
    if (acceptLoss && this.findBreak(transaction) !== undefined) return this.#lose(transaction, acceptLoss)
    if (found.kind === 'torn') fs.ftruncateSync(this.#file ?? -1, position.size)
    if (found.kind !== 'even' || this.#doubtful) this.#writeLast(position)
    if (position.isOlder) {
      endBulkOperations(transaction)
      savePosition(db, { ...position, isOlder: false })
    }
    this.#lastSeen = position.lastLine
    return { ...NOTHING, done: true }
  }

  #lose(transaction: Transaction, acceptLoss: boolean, reason = '', position?: JournalPosition): Step {
    if (!acceptLoss) return { ...NOTHING, done: true, obstacle: this.#obstacle(this.#closedBecause || reason) }
    const replayed = position === undefined ? 0 : this.#replayReadable(transaction, position)
    insertUnknownLease(transaction.db, anyLease(Date.now()))
    const begun = this.#create(transaction, this.#replacement)
    savePosition(transaction.db, { ...begun, isOlder: true })
    return { ...NOTHING, done: false, replayed }
  }

  /** All that can be read after the store's position, also after lines that were altered. */
  #replayReadable(transaction: Transaction, position: JournalPosition): number {
    const [text] = this.#read(position)
    if (!text?.startsWith(position.lastLine)) return 0
    const read = readLines(text.slice(position.lastLine.length), position.lastLine, transaction.stamps)
    if (read.whole === '') return 0
    const next = { ...position, size: position.size + read.whole.length, lastLine: read.lastLine }
    return replay(transaction, read.revocations) + this.#replayReadable(transaction, next)
  }

  /** Also syncs it. It may be there in part, or whole; then again, since a failed sync is not repeated on the same bytes. */
  #writeLast({ size, lastLine }: JournalPosition): void {
    this.#doubtful = true
    this.#writeAt(lastLine, size - lastLine.length)
    fs.fdatasyncSync(this.#file ?? -1)
    this.#doubtful = false
    this.#lastSeen = lastLine
  }

  /** For a store without a stored position; undefined when the file holds revocations, or cannot be opened. */
  #begin(transaction: Transaction): JournalPosition | undefined {
    if (!this.#open() && this.#closedBecause !== MISSING) return undefined
    const text = this.#file === undefined ? '' : this.#readAt(0, CHUNK_BYTES)
    if (!text.includes('\n')) return this.#create(transaction)
    const { lastLine, isAltered } = readLines(text, '', transaction.stamps)
    return isAltered || lastLine !== text ? undefined : noteFirst(transaction.db, text)
  }

  /** A new journal has this name until the store refers to it: whatever fails before, the lost one can be read again. */
  get #replacement(): string {
    return `${this.path}.new`
  }

  #finishReplacing({ lastLine }: JournalPosition): void {
    const exists = (path: string) => fs.lstatSync(path, { throwIfNoEntry: false }) !== undefined
    if (!exists(this.#replacement) || fs.readFileSync(this.#replacement, 'latin1') !== lastLine) return
    this.close()
    if (exists(this.path)) fs.renameSync(this.path, `${this.path}.lost-${Date.now()}`)
    fs.renameSync(this.#replacement, this.path)
    syncPath(dirname(this.path))
    this.#doubtful = false
  }

  /** The file is on disk before the store refers to it. */
  #create({ db, stamps }: Transaction, path = this.path): JournalPosition {
    const line = firstLine(Date.now(), randomBytes(16).toString('hex'), stamps)
    fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    replacePrivate(path, line)
    syncPath(dirname(path))
    return noteFirst(db, line)
  }

  #open(): boolean {
    this.close()
    try {
      this.#file = fs.openSync(this.path, O_RDWR | O_NOFOLLOW)
      this.#closedBecause = ''
      return true
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      const isMissing = code === 'ENOENT' || code === 'ENOTDIR'
      this.#closedBecause = isMissing ? MISSING : `cannot be opened (${code})`
      return false
    }
  }

  /** False once the open file was moved away: other processes would not find what is written to it. */
  #isNotMoved(): boolean {
    if (this.#file === undefined) return false
    const [open, named] = [fs.fstatSync(this.#file), fs.statSync(this.path, { throwIfNoEntry: false })]
    return named?.ino === open.ino && named.dev === open.dev
  }

  #size(): number {
    return fs.fstatSync(this.#file ?? -1).size
  }

  /** From the beginning of the store's last line, and whether up to the file's end; no text when the file is shorter or missing. */
  #read({ size, lastLine }: JournalPosition): [text: string | undefined, isEnd: boolean] {
    if (this.#file === undefined) return [undefined, true]
    const start = size - lastLine.length
    const length = this.#size() - start
    const read = Math.min(length, lastLine.length + CHUNK_BYTES)
    return [length < 0 ? undefined : this.#readAt(start, read), read === length]
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

  #writeAt(text: string, start: number): void {
    const bytes = Buffer.from(text, 'latin1')
    for (let done = 0; done < bytes.length; ) {
      done += fs.writeSync(this.#file ?? -1, bytes, done, bytes.length - done, start + done)
    }
  }

  #obstacle(what: string): string {
    return `the revocation journal ${this.path} ${what}`
  }
}

function readPosition(db: Connection): JournalPosition | undefined {
  const row = db.get<{ size: number; last_line: string; from_backup: number }>(
    'SELECT size, last_line, from_backup FROM revocation_journal',
  )
  return row && { size: row.size, lastLine: row.last_line, isOlder: row.from_backup === 1 }
}

function savePosition(db: Connection, { size, lastLine, isOlder }: JournalPosition): void {
  const sql = 'UPDATE revocation_journal SET size = ?, last_line = ?, from_backup = ?'
  db.run(sql, size, lastLine, Number(isOlder))
}

function noteFirst(db: Connection, line: string): JournalPosition {
  db.run('INSERT OR REPLACE INTO revocation_journal (only, size, last_line) VALUES (1, ?, ?)', line.length, line)
  return { size: line.length, lastLine: line, isOlder: false }
}
