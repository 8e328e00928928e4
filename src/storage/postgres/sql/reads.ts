// Every question the store answers, lists of tokens and sub-accounts aside, as plain SQL: one statement each, so that an
// answer is of one snapshot and one round trip.

import type { OverviewCounts, OverviewQuestion } from '../../../tokens/model/overview.ts'
import type { Slice } from '../../../tokens/model/page.ts'
import {
  type Account,
  type AccountKey,
  idFloor,
  type Status,
  type Timestamp,
  type TokenActivity,
  type TokenRecord,
} from '../../../tokens/model/token.ts'
import type { HistoryQuery, HistoryRow } from '../../../tokens/record/history.ts'
import type { ChainLink, StampedSubAccountRow, StoredKey, TokenRow } from '../../../tokens/store.ts'
import type { VaultRow } from '../../../tokens/trust/key-ring.ts'
import type { Stamped } from '../../../tokens/trust/stamp.ts'
import type { Candidate } from '../../../tokens/trust/verdict.ts'
import type { CopiedRow, CopiedTable } from '../../../tokens/upkeep/copy.ts'
import * as rows from '../../rows.ts'
import type { Connection } from '../connection.ts'
import type { Value } from './batch.ts'
import { suspendedOf, Values } from './listing.ts'

const TOKENS = 'tokens t JOIN sub_accounts s ON s.id = t.sub_account_id'

export async function findAccount(db: Connection, id: string): Promise<Account | undefined> {
  const row = await db.get<rows.AccountColumns>('SELECT id, name, created_at FROM accounts WHERE id = $1', id)
  return row && rows.toAccount(row)
}

export async function listAccounts(db: Connection): Promise<Account[]> {
  const found = await db.all<rows.AccountColumns>('SELECT id, name, created_at FROM accounts ORDER BY id')
  return found.map(rows.toAccount)
}

export async function findKey(db: Connection, digest: Uint8Array): Promise<Stamped<StoredKey> | undefined> {
  const answer = await db.read(`SELECT ${rows.KEY_COLUMNS} FROM account_keys WHERE digest = $1`, [digest])
  const [fields] = answer.rows
  return fields && db.remembered.keys.get(fields, answer.columns)
}

export async function listKeys(db: Connection, accountId: string): Promise<AccountKey[]> {
  const found = await db.all<rows.KeyColumns>(
    `SELECT ${rows.KEY_COLUMNS} FROM account_keys WHERE account_id = $1 ORDER BY id DESC`,
    accountId,
  )
  return found.map(rows.toKey)
}

export async function findSubAccount(
  db: Connection,
  accountId: string,
  id: string,
): Promise<StampedSubAccountRow | undefined> {
  const row = await db.get<rows.SubAccountRowColumns>(
    `SELECT ${rows.SUB_ACCOUNT_COLUMNS}, ${rows.COUNT_COLUMNS} FROM sub_accounts s
     WHERE s.id = $1 AND s.account_id = $2`,
    id,
    accountId,
  )
  return row && rows.toSubAccountRow(row)
}

export async function findOwner(db: Connection, id: string): Promise<string | undefined> {
  const row = await db.get<{ account_id: string }>(
    `SELECT account_id FROM sub_accounts WHERE id = $1 UNION ALL SELECT account_id FROM tokens WHERE id = $1
     UNION ALL SELECT account_id FROM history WHERE token_id = $1 LIMIT 1`,
    id,
  )
  return row?.account_id
}

export async function findToken(db: Connection, accountId: string, id: string): Promise<TokenRow | undefined> {
  const answer = await db.read(`SELECT ${rows.LISTED_COLUMNS} FROM ${TOKENS} WHERE t.id = $1 AND t.account_id = $2`, [
    id,
    accountId,
  ])
  const [fields] = answer.rows
  return fields && db.remembered.listed.get(fields, answer.columns)
}

/** With what a change needs: the digest and the stamps. */
export async function findStampedToken(
  db: Connection,
  accountId: string,
  id: string,
): Promise<rows.StampedTokenRow | undefined> {
  const row = await db.get<rows.TokenRowColumns>(
    `SELECT ${rows.TOKEN_ROW_COLUMNS} FROM ${TOKENS} WHERE t.id = $1 AND t.account_id = $2`,
    ...[id, accountId],
  )
  return row && rows.toTokenRow(row)
}

export async function findTokenByName(
  db: Connection,
  subAccountId: string,
  name: string,
): Promise<TokenRecord | undefined> {
  const row = await db.get<rows.TokenColumns>(
    `SELECT ${rows.TOKEN_COLUMNS} FROM tokens t WHERE t.sub_account_id = $1 AND t.name = $2`,
    subAccountId,
    name,
  )
  return row && rows.toToken(row)
}

export async function countTokens(db: Connection): Promise<Record<Status, number>> {
  const counts = { active: 0, inactive: 0 }
  const found = await db.all<{ status: Status; n: number }>(
    `SELECT status, sum(count)::bigint AS n FROM token_counts WHERE scope IN (SELECT id FROM accounts) GROUP BY status`,
  )
  for (const { status, n } of found) counts[status] = n
  return counts
}

/** Account by account, since the index of expiry begins with the account. */
export async function countExpiring(db: Connection, from: Timestamp, before: Timestamp): Promise<number> {
  const row = await db.get<{ n: number }>(
    `SELECT coalesce(sum((SELECT count(*) FROM tokens t WHERE t.account_id = a.id AND t.expires_at >= $1
       AND t.expires_at < $2 AND t.status = 'active')), 0)::bigint AS n FROM accounts a`,
    ...[from, before],
  )
  return row?.n ?? 0
}

export async function readOverview(
  db: Connection,
  accountId: string,
  { expiredBefore, expiringBefore, weeks, largest }: OverviewQuestion,
): Promise<OverviewCounts> {
  const floors = weeks.map((time) => idFloor('tok', time))
  const row = await db.get<OverviewColumns>(
    `SELECT
       coalesce((SELECT count FROM token_counts WHERE scope = $1 AND status = 'active'), 0) AS active,
       coalesce((SELECT count FROM token_counts WHERE scope = $1 AND status = 'inactive'), 0) AS inactive,
       (SELECT count(*) FROM tokens t
        WHERE t.account_id = $1 AND NOT EXISTS (SELECT FROM last_used WHERE token_id = t.id)) AS never_used,
       (SELECT count(*) FROM tokens WHERE account_id = $1 AND expires_at < $2 AND status = 'active') AS expired,
       (SELECT count(*) FROM tokens WHERE sub_account_id = ANY(${suspendedOf('$1')}) AND status = 'active'
        AND (expires_at IS NULL OR expires_at >= $2)) AS suspended_tokens,
       (SELECT count(*) FROM tokens
        WHERE account_id = $1 AND expires_at >= $2 AND expires_at < $3 AND status = 'active') AS expiring,
       (SELECT count(*) FROM sub_accounts WHERE account_id = $1) AS sub_accounts,
       (SELECT count(suspended_at) FROM sub_accounts WHERE account_id = $1) AS suspended,
       ARRAY(SELECT (SELECT count(*)::float8 FROM tokens WHERE account_id = $1 AND id >= week.first AND id < week.next)
             FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS week (first, next, no) ORDER BY no) AS made,
       ${LARGEST} AS largest`,
    ...[accountId, expiredBefore, expiringBefore, floors.slice(0, -1), floors.slice(1), largest],
  )
  if (row === undefined) throw new Error('an overview is one row')
  return {
    tokens: { active: row.active, inactive: row.inactive },
    neverUsed: row.never_used,
    expired: row.expired,
    suspendedTokens: row.suspended_tokens,
    expiring: row.expiring,
    subAccounts: row.sub_accounts,
    suspended: row.suspended,
    largest: (row.largest ?? []).map((each) =>
      rows.toSubAccountRow({ ...each, s_stamp: Buffer.from(each.s_stamp.slice(2), 'hex') }),
    ),
    made: row.made,
  }
}

interface OverviewColumns {
  active: number
  inactive: number
  never_used: number
  expired: number
  suspended_tokens: number
  expiring: number
  sub_accounts: number
  suspended: number
  made: number[]
  /** As JSON, in which bytes are text. */
  largest: (Omit<rows.SubAccountRowColumns, 's_stamp'> & { s_stamp: string })[] | null
}

const LARGEST = `(SELECT json_agg(row) FROM (
  SELECT * FROM (
    SELECT ${rows.SUB_ACCOUNT_COLUMNS}, ${rows.COUNT_COLUMNS} FROM sub_accounts s WHERE s.account_id = $1
  ) AS owner ORDER BY active + inactive DESC, s_id DESC LIMIT $6) AS row)`

export async function findNames(
  db: Connection,
  accountId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const found = await db.all<{ id: string; name: string }>(
    `SELECT id, name FROM tokens WHERE id = ANY($1::text[]) AND account_id = $2
     UNION ALL SELECT id, name FROM sub_accounts WHERE id = ANY($1::text[]) AND account_id = $2
     UNION ALL SELECT id, name FROM account_keys WHERE id = ANY($1::text[]) AND account_id = $2`,
    ids.filter((id) => !id.includes('\0')),
    accountId,
  )
  const names = new Map(found.map(({ id, name }) => [id, name]))
  // In the order asked, which is that of the answer.
  return new Map(ids.flatMap((id) => (names.has(id) ? [[id, names.get(id) ?? '']] : [])))
}

type CandidateColumns = rows.CandidateColumns & {
  r_digest: Uint8Array | null
  r_token_id: string
  retires_at: number
  r_stamp: Uint8Array
}

function toCandidate(row: CandidateColumns): Candidate {
  const { r_digest, r_token_id: tokenId, retires_at: retiresAt, r_stamp: stamp } = row
  return {
    ...rows.toCandidate(row),
    retired: r_digest === null ? undefined : { digest: r_digest, tokenId, retiresAt, stamp },
  }
}

/** By its own credential, or a former one. */
export async function findCandidate(db: Connection, digest: Uint8Array): Promise<Candidate | undefined> {
  const found = await db.all<CandidateColumns>(
    `SELECT ${rows.CANDIDATE_COLUMNS}, NULL::bytea AS r_digest, NULL::text AS r_token_id, NULL::bigint AS retires_at,
       NULL::bytea AS r_stamp
     FROM tokens t JOIN sub_accounts s ON s.id = t.sub_account_id WHERE t.digest = $1
     UNION ALL
     SELECT ${rows.CANDIDATE_COLUMNS}, r.digest, r.token_id, r.retires_at, r.stamp
     FROM retired_credentials r JOIN tokens t ON t.id = r.token_id JOIN sub_accounts s ON s.id = t.sub_account_id
     WHERE r.digest = $1`,
    digest,
  )
  const candidates = found.map(toCandidate)
  return candidates.find(({ retired }) => retired === undefined) ?? candidates[0]
}

export async function findActivity(
  db: Connection,
  tokenIds: readonly string[],
  at: Timestamp,
): Promise<ReadonlyMap<string, TokenActivity>> {
  const found = await db.all<TokenActivity & { id: string }>(
    `SELECT id, max(used) AS "lastUsedAt", max(former) AS "formerCredentialUntil" FROM (
       SELECT token_id AS id, at AS used, NULL::bigint AS former FROM last_used WHERE token_id = ANY($1::text[])
       UNION ALL
       SELECT token_id, NULL, retires_at FROM retired_credentials WHERE token_id = ANY($1::text[]) AND retires_at > $2
     ) AS known GROUP BY id`,
    ...[tokenIds, at],
  )
  return new Map(found.map(({ id, ...activity }) => [id, activity]))
}

export async function listHistory(db: Connection, accountId: string, query: HistoryQuery): Promise<Slice<HistoryRow>> {
  const { page, limit, tokenId, by, action, from, before } = query
  const values = new Values()
  const [account, take, skip] = [values.add(accountId), values.add(limit), values.add((page - 1) * limit)]
  const filters: [Value | undefined, string][] = [
    [tokenId, 'token_id ='],
    [by, 'by ='],
    [action, 'action ='],
    [from, 'at >='],
    [before, 'at <'],
  ]
  const conditions = filters.flatMap(([value, condition]) =>
    value === undefined ? [] : [`${condition} ${values.add(value)}`],
  )
  const found = await db.all<HistoryPage>(
    conditions.length === 0
      ? wholeHistory(account, take, skip)
      : filteredHistory([`account_id = ${account}`, ...conditions].join(' AND '), take, skip),
    ...values.list,
  )
  const items = found.filter((row) => row.account_id !== null).map((row) => rows.toHistoryRow(row))
  return { items, total: found[0]?.total ?? 0 }
}

type HistoryPage = rows.HistoryColumns & { total: number }

/** Rows are numbered without gaps, so that a page is a stretch of numbers. */
const wholeHistory = (account: string, take: string, skip: string) => `
  SELECT counted.total, ${rows.HISTORY_COLUMNS} FROM (
    SELECT coalesce((SELECT seq FROM history_heads WHERE account_id = ${account}), 0) AS total
  ) AS counted LEFT JOIN history h
    ON h.account_id = ${account} AND h.seq <= counted.total - ${skip}::bigint
      AND h.seq > counted.total - ${skip}::bigint - ${take}::bigint
  ORDER BY h.seq DESC`

const filteredHistory = (where: string, take: string, skip: string) => `
  SELECT counted.total, page.* FROM (
    SELECT count(*) AS total FROM history WHERE ${where}
  ) AS counted LEFT JOIN (
    SELECT ${rows.HISTORY_COLUMNS} FROM history WHERE ${where} ORDER BY seq DESC LIMIT ${take} OFFSET ${skip}
  ) AS page ON true ORDER BY page.seq DESC`

/** A stretch of the chains, after the given place, so that no snapshot is held for long. */
export async function readChainPart(
  db: Connection,
  after: { accountId: string; seq: number },
  limit: number,
): Promise<ChainLink[]> {
  const found = await db.all<rows.HistoryColumns>(
    `SELECT ${rows.HISTORY_COLUMNS} FROM history WHERE (account_id, seq) > ($1, $2) ORDER BY account_id, seq LIMIT $3`,
    ...[after.accountId, after.seq, limit],
  )
  return found.map((row) => ({ kind: 'row', row: rows.toHistoryRow(row) }))
}

export async function readChainHeads(db: Connection): Promise<ChainLink[]> {
  const found = await db.all<{ account_id: string; seq: number; last: Uint8Array; stamp: Uint8Array }>(
    'SELECT account_id, seq, last, stamp FROM history_heads ORDER BY account_id',
  )
  return found.map(({ account_id, seq, last, stamp }) => ({ kind: 'head', accountId: account_id, seq, last, stamp }))
}

export async function readVault(db: Connection): Promise<VaultRow[]> {
  const found = await db.all<rows.VaultColumns>('SELECT key_id, sealed_secret, seals FROM vault ORDER BY created_at')
  return found.map(rows.toVaultRow)
}

export async function listRetiredMasterKeys(db: Connection): Promise<string[]> {
  return (await db.all<{ key_id: string }>('SELECT key_id FROM retired_master_keys')).map(({ key_id }) => key_id)
}

export function readRows(
  db: Connection,
  table: CopiedTable,
  after: CopiedRow | undefined,
  limit: number,
): Promise<CopiedRow[]> {
  const key = table.key.map(rows.columnOf).join(', ')
  const place = after === undefined ? [] : table.key.map((field) => after[field] ?? null)
  const beyond = after === undefined ? '' : `WHERE (${key}) > (${place.map((_, n) => `$${n + 2}`).join(', ')})`
  return db.all<CopiedRow>(
    `SELECT ${rows.selectList(table)} FROM ${rows.tableOf(table)} ${beyond} ORDER BY ${key} LIMIT $1`,
    limit,
    ...place,
  )
}

export async function ping(db: Connection): Promise<void> {
  await db.get('SELECT 1')
}
