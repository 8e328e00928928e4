// The revocation journal's file. Lines are appended inside the store's write transaction, so that processes take turns,
// and the store notes in the same transaction how far the journal has come: each tells what the other has lost.
import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname } from 'node:path'
import { replacePrivate } from '../../../process/private-file.ts'
import { Failure } from '../../../tokens/errors.ts'
import {
  compareJournal,
  firstLine,
  isFirstLine,
  nextLine,
  type Place,
  type ReadLine,
  type Revocation,
} from '../../../tokens/trust/revocations.ts'
import { type Connection, failure } from '../connection.ts'
import { syncFolder } from '../files/files.ts'
import type { Session } from '../session.ts'
import { replay } from './replay.ts'

const { O_RDWR, O_APPEND, O_NOFOLLOW } = fs.constants
const MISSING = 'is missing'
/** Bounds one transaction of a replay; what is done stays done when it is interrupted. */
const REPLAYED_LINES = 500
/** Far longer than any line. */
const WALKED_BYTES = 4 * 1024 * 1024

/** The file is not where the store says that it is: another process was cut off, or somebody has touched it. */
export class OutOfStep extends Failure {
  constructor() {
    super('unavailable')
  }
}

export interface Recovery {
  /** Why nobody may be let in, as a sentence for the operator; undefined when all is well. */
  readonly obstacle: string | undefined
  /** Revocations that the store did not have. */
  readonly replayed: number
}

type StoredPlace = Place & { readonly fromBackup: boolean }

export class Journal {
  readonly path: string
  #file: number | undefined
  /** The last line as this process has seen it in the file. */
  #lastSeen = ''
  /** What was written last may not have reached the disk, and asking again would not tell. */
  #doubtful = false
  #closedBecause = ''

  constructor(path: string) {
    this.path = path
  }

  /** Within the transaction that makes the changes, and before its COMMIT. Resolves when the line is on disk. */
  append({ db, stamps, revocations }: Session): Promise<void> {
    const place = readPlace(db)
    const file = this.#file
    if (place === undefined || file === undefined || this.#doubtful) throw new OutOfStep()
    const { size } = fs.fstatSync(file)
    if (size !== place.size || !this.#isInPlace(file)) throw new OutOfStep()
    if (place.lastLine !== this.#lastSeen) {
      if (place.lastLine !== this.#read(place)) throw new OutOfStep()
      // Another process wrote it, and may still be waiting for the disk: only the very last line may be missing there.
      fs.fdatasyncSync(file)
    }
    const line = nextLine(place.lastLine, revocations, stamps)
    this.#write(line, size)
    savePlace(db, { size: size + line.length, lastLine: line })
    this.#lastSeen = line
    const synced = this.#sync(file)
    // Where COMMIT fails, nobody waits for it.
    synced.catch(() => {})
    return synced
  }

  /** What was moved away is no longer the journal, whoever still has it open: others would not find what is written to it. */
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

  /**
   * Brings journal and store into step; when that cannot be done without losing revocations, says so, or, when the loss is
   * accepted, begins a new journal.
   */
  recover(session: Session, acceptLoss: boolean): Recovery {
    if (!acceptLoss && this.#isInStep(session)) return { obstacle: undefined, replayed: 0 }
    let replayed = 0
    for (;;) {
      const step = session.db.transaction(() => this.#step(session, acceptLoss))
      replayed += step.replayed
      if (step.done) return { obstacle: step.obstacle, replayed }
    }
  }

  /**
   * What is wrong before the store's last line, where opening does not look: an earlier backup needs it, and it takes some
   * ten microseconds a line. Those lines never change, so others may go on writing.
   */
  findBreak({ db, stamps }: Pick<Session, 'db' | 'stamps'>): string | undefined {
    const place = readPlace(db)
    if (place === undefined) return undefined
    if (!this.#open()) return this.#obstacle(this.#closedBecause)
    const end = place.size - place.lastLine.length
    if (fs.fstatSync(this.#file ?? -1).size < end) return this.#obstacle('was cut short')
    let last = ''
    for (let start = 0; start < place.size; ) {
      const length = Math.min(WALKED_BYTES, end - start)
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

  /** Nearly always it is, and nobody has to wait for the write lock to see it. */
  #isInStep({ db, stamps }: Session): boolean {
    const place = readPlace(db)
    if (place === undefined || place.fromBackup || this.#doubtful || !this.#open()) return false
    return compareJournal(place, false, this.#read(place), stamps).kind === 'even'
  }

  #step(session: Session, acceptLoss: boolean): Recovery & { readonly done: boolean } {
    const { db, stamps } = session
    const place = readPlace(db) ?? this.#begin(session)
    const done = { done: true, obstacle: undefined, replayed: 0 }
    if (place === undefined) {
      if (!acceptLoss)
        return {
          ...done,
          obstacle: this.#obstacle(this.#closedBecause || 'is there, but this store has no place in it'),
        }
      this.#beginAnew(session)
      return done
    }
    const text = this.#open() ? this.#read(place) : undefined
    const found = compareJournal(place, place.fromBackup, text, stamps)
    if (found.kind === 'ahead') {
      const lines = found.lines.slice(0, REPLAYED_LINES)
      const replayed = replayLines(session, lines)
      const size = place.size + lines.reduce((sum, { text }) => sum + text.length, 0)
      savePlace(db, { size, lastLine: lines.at(-1)?.text ?? place.lastLine })
      // Interrupted here, it goes on as what it is.
      db.run('UPDATE revocation_journal SET from_backup = 1')
      return { done: false, obstacle: undefined, replayed }
    }
    if (found.kind === 'lost') {
      if (!acceptLoss) return { ...done, obstacle: this.#obstacle(this.#closedBecause || found.reason) }
      const replayed = replayLines(session, found.readable)
      this.#beginAnew(session)
      return { ...done, replayed }
    }
    if (acceptLoss && this.findBreak(session) !== undefined) {
      this.#beginAnew(session)
      return done
    }
    if (found.kind === 'uncommitted') this.#cutOff(place)
    this.#makeSure(place, found.kind === 'behind' ? found.missing : '')
    if (place.fromBackup) db.run('UPDATE revocation_journal SET from_backup = 0')
    this.#lastSeen = place.lastLine
    return done
  }

  /** In doubt until that is on disk, so that nothing of it can come back beneath the next line. */
  #cutOff({ size }: Place): void {
    this.#doubtful = true
    fs.ftruncateSync(this.#file ?? -1, size)
  }

  /** Writes the last line again where a loss of power or a failed sync has left it in doubt. */
  #makeSure({ size, lastLine }: Place, missing: string): void {
    const file = this.#file ?? -1
    const again = this.#doubtful ? lastLine : missing
    if (again === '') return
    fs.ftruncateSync(file, size - again.length)
    this.#write(again, size - again.length)
    fs.fdatasyncSync(file)
    this.#doubtful = false
  }

  /** For a store without a place in a journal; undefined when there is a journal that says more than its first line. */
  #begin(session: Session): StoredPlace | undefined {
    if (!this.#open() && this.#closedBecause !== MISSING) return undefined
    const text = this.#file === undefined ? '' : this.#readAt(0, fs.fstatSync(this.#file).size)
    if (!text.includes('\n')) return this.#create(session)
    if (text.indexOf('\n') + 1 < text.length || !isFirstLine(text, session.stamps)) return undefined
    return noteFirst(session.db, text)
  }

  #beginAnew(session: Session): void {
    this.close()
    if (isThere(this.path)) fs.renameSync(this.path, `${this.path}.lost-${Date.now()}`)
    const { lastLine } = this.#create(session)
    this.#open()
    this.#lastSeen = lastLine
    this.#doubtful = false
  }

  /** On disk before the store says that it is there. */
  #create({ db, stamps }: Session): StoredPlace {
    const line = firstLine(Date.now(), randomBytes(16).toString('hex'), stamps)
    fs.mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 })
    replacePrivate(this.path, line)
    syncFolder(dirname(this.path))
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

  /** The file from where the store's last line begins, to its end; undefined when it ends before. */
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

  /** All of it or nothing. */
  #write(text: string, sizeBefore: number): void {
    const file = this.#file ?? -1
    try {
      if (fs.writeSync(file, text, null, 'latin1') < text.length) throw Object.assign(new Error(), { code: 'ENOSPC' })
    } catch (cause) {
      const isFull = (cause as NodeJS.ErrnoException).code === 'ENOSPC'
      try {
        fs.ftruncateSync(file, sizeBefore)
      } catch {
        // What is left of the line is taken for a line that was never finished.
      }
      throw failure(isFull ? 'store-full' : 'unavailable', cause)
    }
  }

  #obstacle(what: string): string {
    return `the revocation journal ${this.path} ${what}`
  }
}

/** A link that leads nowhere is there too. */
function isThere(path: string): boolean {
  return fs.lstatSync(path, { throwIfNoEntry: false }) !== undefined
}

function replayLines(session: Session, lines: readonly ReadLine[]): number {
  return replay(
    session,
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

/** Those that still are: another process may have switched some of them off since. */
export function stillReenabled(db: Connection, reenabled: Session['reenabled']): Revocation[] {
  return [...reenabled].flatMap(([id, at]): Revocation[] => {
    const token = db.get<{ status: string; version: number }>('SELECT status, version FROM tokens WHERE id = ?', id)
    if (token?.status === 'active') return [{ kind: 'token-on', id, at, version: token.version }]
    const resumed = db.get('SELECT 1 FROM sub_accounts WHERE id = ? AND suspended_at IS NULL', id)
    return resumed === undefined ? [] : [{ kind: 'sub-account-on', id, at }]
  })
}
