// Appends to the accounts' chains of history. The head of a chain is also the lock of its account.
import { Failure } from '../../../tokens/errors.ts'
import { HISTORY } from '../../../tokens/model/tables.ts'
import {
  type ChainEnd,
  type HistoryEvent,
  headStamp,
  nextRow,
  type Origin,
  type StoredHistoryRow,
} from '../../../tokens/record/history.ts'
import type { Stamps } from '../../../tokens/trust/vault.ts'
import type { Connection } from '../connection.ts'
import { insertRows } from './insertion.ts'

export interface Session {
  readonly db: Connection
  readonly stamps: Stamps
  /** The last history row that was written for a change which takes access away. */
  revoked?: StoredHistoryRow | undefined
}

export type Heads = ReadonlyMap<string, ChainEnd>

/** An event and who caused it, and what it takes away. */
export type Recorded = readonly [event: HistoryEvent, origin: Origin, revocation?: unknown]

/** Locks the accounts until the transaction ends, in one order everywhere. One that does not exist is left out. */
export function lockHeads(db: Connection, accountIds: readonly string[]): Promise<Heads> {
  return findHeads(db, accountIds, 'FOR UPDATE')
}

export async function findHeads(
  db: Connection,
  accountIds: readonly string[],
  lock: 'FOR UPDATE' | '',
): Promise<Heads> {
  const found = await db.all<ChainEnd & { account_id: string }>(
    `SELECT account_id, seq, last FROM history_heads WHERE account_id = ANY($1::text[]) ORDER BY account_id ${lock}`,
    [...new Set(accountIds)],
  )
  return new Map(found.map(({ account_id, seq, last }) => [account_id, { seq, last }]))
}

/** Each account's head is written once, however many events there are. */
export async function record(session: Session, heads: Heads, recorded: readonly Recorded[]): Promise<void> {
  const { db, stamps } = session
  const { rows, ends, revoked } = continueChains(stamps, heads, recorded)
  if (revoked !== undefined) session.revoked = revoked
  await Promise.all([insertRows(db, HISTORY, rows), writeHeads(db, stamps, ends)])
}

/** The rows that follow these heads, where the chains of their accounts end then, and the last one that takes something away. */
export function continueChains(
  stamps: Stamps,
  heads: Heads,
  recorded: readonly Recorded[],
): {
  readonly rows: readonly StoredHistoryRow[]
  readonly ends: Heads
  readonly revoked: StoredHistoryRow | undefined
} {
  let revoked: StoredHistoryRow | undefined
  const ends = new Map<string, ChainEnd>()
  const rows = recorded.map(([event, origin, revocation]) => {
    const end = ends.get(event.accountId) ?? heads.get(event.accountId)
    if (end === undefined) throw new Failure('account-not-found')
    const row = nextRow(event, origin, end, stamps)
    ends.set(event.accountId, { seq: row.seq, last: row.stamp })
    if (revocation !== undefined) revoked = row
    return row
  })
  return { rows, ends, revoked }
}

export function writeHeads(db: Connection, stamps: Stamps, ends: Heads): Promise<number> {
  const changed = [...ends]
  return db.run(
    `INSERT INTO history_heads (account_id, seq, last, stamp)
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[])
     ON CONFLICT (account_id) DO UPDATE SET seq = excluded.seq, last = excluded.last, stamp = excluded.stamp`,
    changed.map(([accountId]) => accountId),
    changed.map(([, { seq }]) => seq),
    changed.map(([, { last }]) => last),
    changed.map(([accountId, { seq, last }]) => headStamp(accountId, seq, last, stamps)),
  )
}
