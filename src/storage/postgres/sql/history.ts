// Appends to the accounts' chains of history. The head of a chain is also the lock of its account.
import { Failure } from '../../../tokens/errors.ts'
import { chainStamp, type HistoryEvent, headStamp, type Origin } from '../../../tokens/record/history.ts'
import type { Stamps } from '../../../tokens/trust/vault.ts'
import type { Connection } from '../connection.ts'

export interface Session {
  readonly db: Connection
  readonly stamps: Stamps
}

export interface Head {
  readonly seq: number
  readonly last: Uint8Array
}

export type Heads = ReadonlyMap<string, Head>

/** Locks the accounts until the transaction ends, in one order everywhere. One that does not exist is left out. */
export async function lockHeads(db: Connection, accountIds: readonly string[]): Promise<Heads> {
  const found = await db.all<Head & { account_id: string }>(
    'SELECT account_id, seq, last FROM history_heads WHERE account_id = ANY($1::text[]) ORDER BY account_id FOR UPDATE',
    [...new Set(accountIds)],
  )
  return new Map(found.map(({ account_id, seq, last }) => [account_id, { seq, last }]))
}

/** Each account's head is written once, however many events there are. */
export function record(session: Session, heads: Heads, events: readonly HistoryEvent[], origin: Origin): Promise<void> {
  return recordAll(
    session,
    heads,
    events.map((event) => ({ ...event, ...origin })),
  )
}

/** The same for events of several origins. */
export async function recordAll(
  { db, stamps }: Session,
  heads: Heads,
  events: readonly (HistoryEvent & Origin)[],
): Promise<void> {
  const next = new Map<string, Head>()
  const links = events.map((event) => {
    const head = next.get(event.accountId) ?? heads.get(event.accountId)
    if (head === undefined) throw new Failure('account-not-found')
    const row = { ...event, byName: event.byName ?? null, seq: head.seq + 1 }
    const stamp = chainStamp(row, head.last, stamps)
    next.set(event.accountId, { seq: row.seq, last: stamp })
    return { row, stamp }
  })
  const changed = [...next]
  await db.run(
    `WITH recorded AS (
       INSERT INTO history (account_id, seq, action, subject, token_id, from_facts, to_facts, stamp, at, by, request_id,
         address, by_name, subject_name)
       SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
         $8::bytea[], $9::bigint[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[])
     )
     INSERT INTO history_heads (account_id, seq, last, stamp)
     SELECT * FROM unnest($15::text[], $16::bigint[], $17::bytea[], $18::bytea[])
     ON CONFLICT (account_id) DO UPDATE SET seq = excluded.seq, last = excluded.last, stamp = excluded.stamp`,
    links.map(({ row }) => row.accountId),
    links.map(({ row }) => row.seq),
    links.map(({ row }) => row.action),
    links.map(({ row }) => row.subject),
    links.map(({ row }) => row.tokenId),
    links.map(({ row }) => JSON.stringify(row.from)),
    links.map(({ row }) => JSON.stringify(row.to)),
    links.map(({ stamp }) => stamp),
    links.map(({ row }) => row.at),
    links.map(({ row }) => row.by),
    links.map(({ row }) => row.requestId),
    links.map(({ row }) => row.address),
    links.map(({ row }) => row.byName),
    links.map(({ row }) => row.subjectName),
    changed.map(([accountId]) => accountId),
    changed.map(([, { seq }]) => seq),
    changed.map(([, { last }]) => last),
    changed.map(([accountId, { seq, last }]) => headStamp(accountId, seq, last, stamps)),
  )
}
