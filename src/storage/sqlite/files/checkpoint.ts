// Copies the write-ahead log into the database, instead of SQLite's own checkpoints, which do not report failures.
//
// A checkpoint that a reader keeps from completing writes pages and does not sync them. If the sync of a later checkpoint fails,
// the system drops these pages, too. SQLite counts them as copied and does not write them again, so that a power loss after
// the next checkpoint would leave a damaged database. After a failure the whole log is therefore copied again. To end the process
// instead would not do: its count of copied pages stays in the wal-index for as long as any other process, such as a worker or a
// command, has the store open. For the same reason a checkpoint over a new connection would not do, nor one that restarts the log:
// both succeed, and a power loss then takes what the first checkpoint had copied.
import { openSync, readSync, statSync, writeSync } from 'node:fs'
import { CHECKPOINT_PAGES, type Connection } from '../sqlite-connection.ts'

/** In the wal-index (sqlite.org/walformat.html): its version, and how many pages of the log are in the database already. */
const WAL_INDEX = { version: 3_007_000, copiedAt: 96 }

/** A checkpoint has failed, and the next one does not begin with the first page of the log yet. */
let isDoubtful = false

/** For the writer, after a commit. Throws if the checkpoint fails. */
export function checkpointIfDue(db: Connection, path: string): void {
  copyAllIfDoubtful(path)
  const [, pages = 0] = db.tuple<[number, number]>('PRAGMA wal_checkpoint(NOOP)') ?? []
  if (pages < CHECKPOINT_PAGES) return
  try {
    db.tuple('PRAGMA wal_checkpoint(PASSIVE)')
  } catch (error) {
    isDoubtful = true
    copyAllIfDoubtful(path)
    throw error
  }
}

function copyAllIfDoubtful(path: string): void {
  if (!isDoubtful) return
  const file = openWalIndex(`${path}-shm`)
  // In the byte order of the machine.
  const [version, none] = [new Uint32Array(1), new Uint32Array(1)]
  readSync(file, version, 0, version.byteLength, 0)
  if (version[0] !== WAL_INDEX.version) throw new Error(`the wal-index has the unknown version ${version[0]}`)
  writeSync(file, none, 0, none.byteLength, WAL_INDEX.copiedAt)
  isDoubtful = false
}

/** Never closed: closing any handle of a file ends all locks that this process has on it, SQLite's included. */
const opened = new Map<string, number>()

function openWalIndex(path: string): number {
  const name = `${path} ${statSync(path).ino}`
  const file = opened.get(name) ?? openSync(path, 'r+')
  opened.set(name, file)
  return file
}
