// A checkpoint that a reader keeps from completing, one whose sync fails if strace says so, one that completes, and a commit
// that starts the log again from its first page. `plain` leaves what to copy to SQLite alone.

import { checkpointIfDue } from '../../src/storage/sqlite/files/checkpoint.ts'
import { Connection } from '../../src/storage/sqlite/sqlite-connection.ts'

const [path = '', how] = process.argv.slice(2)
const [writer, reader] = [new Connection(path, 'write'), new Connection(path, 'read')]

function checkpoint(): void {
  try {
    if (how === 'plain') writer.tuple('PRAGMA wal_checkpoint(PASSIVE)')
    else checkpointIfDue(writer, path)
  } catch (error) {
    console.log((error as Error).message)
  }
}

checkpoint()
writer.exec("INSERT INTO one VALUES ('copied while a reader is there')")
reader.snapshot(() => {
  reader.get('SELECT * FROM one')
  writer.exec("INSERT INTO two VALUES ('copied afterwards')")
  checkpoint()
})
checkpoint()
checkpoint()
writer.exec("INSERT INTO two VALUES ('in a new log')")
// As a process that is killed: closing would make another checkpoint.
process.kill(process.pid, 'SIGKILL')
