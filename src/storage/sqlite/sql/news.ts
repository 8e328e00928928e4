// What was changed since a position, by anybody. A position is the number of the last history row and a part of its stamp, in a life of
// the store. There is one writer at a time, so rows are numbered in the order of their commits. A life begins with each server: a
// file that was replaced by an earlier one may have the same row, and lack what was remembered since.

import { VERIFIERS } from '../../../tokens/model/tables.ts'
import { type BegunLease, type Change, unknownLease, type Verifier } from '../../../tokens/verifiers/lease.ts'
import type { News, Renewal } from '../../../tokens/verifiers/ports.ts'
import { VERIFIER } from '../../columns.ts'
import type { Connection } from '../sqlite-connection.ts'
import type { Transaction } from '../transaction.ts'
import { insertion } from './insertion.ts'

const PLACE = 'SELECT no, hex(substr(stamp, 1, 8)) FROM history WHERE no'
const AT_END = `${PLACE} = (SELECT max(no) FROM history)`
const AT = `${PLACE} = ?`
const LIFE = 'SELECT id FROM store_life WHERE only = 1'
const AMONG = 'action IN (SELECT value FROM json_each(?))'
const AFTER = `SELECT account_id, seq, action, subject FROM history WHERE no > ? AND ${AMONG} ORDER BY no LIMIT ?`
const DECIDED = 'SELECT decided FROM history_heads WHERE account_id = ?'

/** Of an empty history. */
const START = '0'

const toPlace = (row: readonly [number, string] | undefined) => (row === undefined ? START : row.join('.'))

const lifeOf = (db: Connection) => db.tuple<[string]>(LIFE)?.[0] ?? ''

const lastPlace = (db: Connection) => toPlace(db.tuple<[number, string]>(AT_END))

export const lastPosition = (db: Connection) => `${lifeOf(db)}/${lastPlace(db)}`

const numberOf = (position: string) => Number.parseInt(position.slice(position.indexOf('/') + 1), 10)

/** Whether it is one of this file, in this life. */
const isKnown = (db: Connection, position: string) =>
  position === `${lifeOf(db)}/${toPlace(db.tuple<[number, string]>(AT, numberOf(position)))}`

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

/** What was decided in a former life is seen by every position of this one, which begins with nothing remembered. */
export function findMark(db: Connection, accountId: string): string {
  const [decided] = db.tuple<[number | null]>(DECIDED, accountId) ?? []
  return `${lifeOf(db)}/${decided ?? 0}`
}

/** Positions of before are not known any more: verifiers forget everything. */
export function beginLife({ db }: Transaction, id: string): void {
  db.run('INSERT OR REPLACE INTO store_life (only, id) VALUES (1, ?)', id)
}

const insertVerifier = insertion(VERIFIERS)
const VERIFIER_BY_ID = `SELECT ${VERIFIER.columns('v')} FROM verifiers v WHERE v.id = ?`

/** Of a lease that began after this copy of the store was made. */
export function insertUnknownLease(db: Pick<Connection, 'run'>, begun: Omit<BegunLease, 'kind'>): void {
  insertVerifier(db, unknownLease(begun))
}

export function renewVerifiers({ db }: Transaction, renewals: readonly Renewal[]): Verifier[] {
  return renewals.flatMap(({ id, accountId, acked, at }) => {
    const confirmed = acked !== undefined && isKnown(db, acked) ? acked : null
    db.run(
      `UPDATE verifiers SET renewal = renewal + 1, confirmed_at = ?, acked = coalesce(?, acked)
       WHERE id = ? AND account_id = ? AND state = 'held'`,
      ...[at, confirmed, id, accountId],
    )
    const found = VERIFIER.readOne(db.tuple(VERIFIER_BY_ID, id))
    return found?.accountId === accountId ? [found] : []
  })
}
