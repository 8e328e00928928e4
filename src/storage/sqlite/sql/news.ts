// What was changed since a position, by anybody. A position is the number of the last history row and a part of its stamp: there is
// one writer at a time, so rows are numbered in the order of their commits, and a file that was replaced by an earlier one has other
// stamps at the same numbers.

import type { News } from '../../../tokens/event-ports.ts'
import type { Change } from '../../../tokens/model/lease.ts'
import type { Connection } from '../sqlite-connection.ts'

const AT_END = 'SELECT no, hex(substr(stamp, 1, 8)) FROM history WHERE no = (SELECT max(no) FROM history)'
const AT = 'SELECT no, hex(substr(stamp, 1, 8)) FROM history WHERE no = ?'
const AMONG = 'action IN (SELECT value FROM json_each(?))'
const AFTER = `SELECT account_id, seq, action, subject FROM history WHERE no > ? AND ${AMONG} ORDER BY no LIMIT ?`
const LAST_OF = `SELECT no FROM history WHERE account_id = ? AND ${AMONG} ORDER BY seq DESC LIMIT 1`

/** Of an empty history. */
const START = '/0'

const toPosition = (row: readonly [number, string] | undefined) => (row === undefined ? START : `/${row[0]}.${row[1]}`)

export const lastPosition = (db: Connection) => toPosition(db.tuple<[number, string]>(AT_END))

const numberOf = (position: string) => Number.parseInt(position.slice(1), 10)

/** Whether it is one of this file. */
export const isKnown = (db: Connection, position: string) =>
  toPosition(db.tuple<[number, string]>(AT, numberOf(position))) === position

export function findNews(db: Connection, since: string | undefined, actions: readonly string[], limit: number): News {
  return db.snapshot(() => {
    const position = lastPosition(db)
    if (since === undefined || since === position) return { position, changes: [] }
    if (!isKnown(db, since)) return { position, changes: undefined }
    const found = db.tuples<[string, number, string, string]>(
      AFTER,
      ...[numberOf(since), JSON.stringify(actions), limit + 1],
    )
    const changes = found.map(([accountId, seq, action, subject]): Change => ({ accountId, seq, action, subject }))
    return { position, changes: changes.length > limit ? undefined : changes }
  })
}

export function findMark(db: Connection, accountId: string, actions: readonly string[]): string | undefined {
  const found = db.tuple<[number]>(LAST_OF, accountId, JSON.stringify(actions))
  return found && `/${found[0]}`
}
