// Appends to the accounts' chains of history. The head of a chain is also the lock of its account.

import {
  type ChainEnd,
  type Continuation,
  type HistoryEvent,
  headStamp,
  isGenuineHead,
  keptRequest,
  NO_ROWS,
  nextRow,
  type Origin,
  type StoredHistoryRow,
} from '../../../tokens/history/history.ts'
import { Failure } from '../../../tokens/model/errors.ts'
import type { RecordOf } from '../../../tokens/model/table.ts'
import { HISTORY, type HISTORY_HEADS, IDEMPOTENCY_KEYS } from '../../../tokens/model/tables.ts'
import type { Stamps } from '../../../tokens/trust/vault.ts'
import type { Connection } from '../postgres-connection.ts'
import { insertRows } from './insertion.ts'
import { NOW } from './news.ts'

export interface Transaction {
  readonly db: Connection
  readonly stamps: Stamps
  /** For a change that takes access away, where restores are noticed: see lineage/lineage.ts. */
  readonly raise?: () => Promise<void>
}

export type Heads = ReadonlyMap<string, Continuation>

/** An event, who caused it, and whether what verifiers remember may be wrong after it. */
export type Recorded = readonly [event: HistoryEvent, origin: Origin, decides: boolean]

/** Locks the accounts until the transaction ends, in one order everywhere; one that does not exist is left out. */
export async function lockHeads({ db, stamps }: Transaction, accountIds: readonly string[]): Promise<Heads> {
  const asked = [...new Set(accountIds)]
  if (asked.length === 0) return new Map()
  const found = await db.all<RecordOf<typeof HISTORY_HEADS>>(
    `SELECT account_id AS "accountId", seq, last, stamp FROM history_heads WHERE account_id = ANY($1::text[])
     ORDER BY account_id FOR UPDATE`,
    asked,
  )
  const genuine = found.filter((head) => isGenuineHead(head, stamps))
  const heads = new Map<string, Continuation>(genuine.map(({ accountId, seq, last }) => [accountId, { seq, last }]))
  const others = asked.filter((id) => !heads.has(id))
  if (others.length === 0) return heads
  const wrongStamps = new Map(found.map(({ accountId, stamp }) => [accountId, stamp]))
  for (const { id, ...end } of await findLastRows(db, others)) {
    heads.set(id, { ...end, wrongStamp: wrongStamps.get(id) ?? new Uint8Array() })
  }
  return heads
}

/** Where the chains end by their rows. */
function findLastRows(db: Connection, accountIds: readonly string[]): Promise<(ChainEnd & { id: string })[]> {
  return db.all(
    `SELECT a.id, coalesce(h.seq, 0) AS seq, coalesce(h.stamp, '') AS last
     FROM accounts a LEFT JOIN LATERAL (
       SELECT seq, stamp FROM history WHERE account_id = a.id ORDER BY seq DESC LIMIT 1
     ) h ON true
     WHERE a.id = ANY($1::text[])`,
    accountIds,
  )
}

/** Each account's head is written once, however many events there are. */
export async function record(transaction: Transaction, heads: Heads, recorded: readonly Recorded[]): Promise<void> {
  const { rows, ends } = continueChains(transaction.stamps, heads, recorded)
  const requests = recorded.flatMap(([event, origin]) => keptRequest(event, origin) ?? [])
  const decided = new Set(recorded.flatMap(([{ accountId }, , decides]) => (decides ? accountId : [])))
  await Promise.all([
    insertRows(transaction.db, HISTORY, rows),
    insertRows(transaction.db, IDEMPOTENCY_KEYS, requests),
    writeHeads(transaction, heads, ends, decided),
  ])
}

/** The rows that follow these heads, and where the chains of their accounts end then. */
function continueChains(
  stamps: Stamps,
  heads: Heads,
  recorded: readonly Recorded[],
): {
  readonly rows: readonly StoredHistoryRow[]
  readonly ends: ReadonlyMap<string, ChainEnd>
} {
  const ends = new Map<string, ChainEnd>()
  const rows = recorded.map(([event, origin]) => {
    const { accountId, action } = event
    const end = ends.get(accountId) ?? heads.get(accountId) ?? (action === 'account.create' ? NO_ROWS : undefined)
    if (end === undefined) throw new Failure('account-not-found')
    const row = nextRow(event, origin, end, stamps)
    ends.set(accountId, { seq: row.seq, last: row.stamp })
    return row
  })
  return { rows, ends }
}

/** `heads` are the locked ones, which `ends` follow. */
function writeHeads(
  { db, stamps }: Transaction,
  heads: Heads,
  ends: ReadonlyMap<string, ChainEnd>,
  decided: ReadonlySet<string>,
): Promise<number> {
  const changed = [...ends]
  return db.run(
    `INSERT INTO history_heads AS h (account_id, seq, last, stamp, decided)
     SELECT account_id, seq, last, stamp, CASE WHEN decides THEN ${NOW} END
     FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::boolean[]) AS n (account_id, seq, last, stamp, decides)
     ON CONFLICT (account_id) DO UPDATE
     SET seq = excluded.seq, last = excluded.last, stamp = excluded.stamp, decided = coalesce(excluded.decided, h.decided)`,
    changed.map(([accountId]) => accountId),
    changed.map(([, { seq }]) => seq),
    changed.map(([, { last }]) => last),
    changed.map(
      ([accountId, { seq, last }]) => heads.get(accountId)?.wrongStamp ?? headStamp(accountId, seq, last, stamps),
    ),
    changed.map(([accountId]) => String(decided.has(accountId))),
  )
}
