// Every question the store answers, as plain SQL on one connection. Synchronous: the thread it runs on is chosen by
// the caller.

import type { OverviewCounts, OverviewQuestion } from '../../../tokens/model/overview.ts'
import { canMatch, type PageRequest, type Slice } from '../../../tokens/model/page.ts'
import {
  type Account,
  type AccountKey,
  foldCase,
  idFloor,
  type ListedToken,
  type Status,
  type SubAccount,
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
import { type Connection, inTime } from '../connection.ts'

const TOKENS = 'tokens t CROSS JOIN sub_accounts s ON s.id = t.sub_account_id'

export const NEVER_USED = 'NOT EXISTS (SELECT 1 FROM last_used WHERE token_id = t.id)'

/** The suspended sub-accounts of an account. */
export const SUSPENDED = '(SELECT id FROM sub_accounts WHERE account_id = ? AND suspended_at IS NOT NULL)'

export function findAccount(db: Connection, id: string): Account | undefined {
  const row = db.get<rows.AccountColumns>('SELECT id, name, created_at FROM accounts WHERE id = ?', id)
  return row && rows.toAccount(row)
}

export function listAccounts(db: Connection): Account[] {
  return db.all<rows.AccountColumns>('SELECT id, name, created_at FROM accounts ORDER BY id').map(rows.toAccount)
}

export function findKey(db: Connection, digest: Uint8Array): Stamped<StoredKey> | undefined {
  const row = db.get<rows.KeyColumns>(`SELECT ${rows.KEY_COLUMNS} FROM account_keys WHERE digest = ?`, digest)
  return row && rows.toKey(row)
}

export function listKeys(db: Connection, accountId: string): AccountKey[] {
  return db
    .all<rows.KeyColumns>(
      `SELECT ${rows.KEY_COLUMNS} FROM account_keys WHERE account_id = ? ORDER BY id DESC`,
      accountId,
    )
    .map(rows.toKey)
}

export function findSubAccount(db: Connection, accountId: string, id: string): StampedSubAccountRow | undefined {
  const row = db.get<rows.SubAccountRowColumns>(
    `SELECT ${rows.SUB_ACCOUNT_COLUMNS}, ${rows.COUNT_COLUMNS} FROM sub_accounts s WHERE s.id = ? AND s.account_id = ?`,
    id,
    accountId,
  )
  return row && rows.toSubAccountRow(row)
}

export function findOwner(db: Connection, id: string): string | undefined {
  return db.get<{ account_id: string }>(
    `SELECT account_id FROM sub_accounts WHERE id = ?1 UNION ALL SELECT account_id FROM tokens WHERE id = ?1
     UNION ALL SELECT account_id FROM history WHERE token_id = ?1 LIMIT 1`,
    id,
  )?.account_id
}

export function listSubAccounts(
  db: Connection,
  accountId: string,
  { page, limit, search }: PageRequest & { search?: string | undefined },
): Slice<StampedSubAccountRow> {
  if (search !== undefined && !canMatch(search)) return { items: [], total: 0 }
  const where = `s.account_id = ?1 AND (?2 IS NULL OR instr(s.folded_text, ?2) > 0) AND ${inTime('random()')}`
  const folded = search === undefined ? null : foldCase(search)
  return db.snapshot(() => {
    const total = db.get<{ n: number }>(`SELECT count(*) AS n FROM sub_accounts s WHERE ${where}`, accountId, folded)
    const found = db.all<rows.SubAccountRowColumns>(
      `SELECT ${rows.SUB_ACCOUNT_COLUMNS}, ${rows.COUNT_COLUMNS} FROM sub_accounts s
       WHERE ${where} ORDER BY s.id DESC LIMIT ?3 OFFSET ?4`,
      accountId,
      folded,
      limit,
      (page - 1) * limit,
    )
    return { items: found.map(rows.toSubAccountRow), total: total?.n ?? 0 }
  })
}

export function findToken(db: Connection, accountId: string, id: string): TokenRow | undefined {
  const row = db.get<rows.ListedColumns>(
    `SELECT ${rows.LISTED_COLUMNS} FROM ${TOKENS} WHERE t.id = ? AND t.account_id = ?`,
    ...[id, accountId],
  )
  return row && rows.toListedRow(row)
}

type ListedTuple = readonly [
  ...[id: string, accountId: string, subAccountId: string, name: string, status: Status, createdAt: number],
  ...[expiresAt: number | null, version: number, sealed: Uint8Array],
]

const LISTED = 'id, account_id, sub_account_id, name, status, created_at, expires_at, version, sealed'
// Texts that are looked up often are put together once: each new string would be hashed and compared anew.
const LISTED_TOKEN = `SELECT ${LISTED} FROM tokens WHERE id = ?`
/** By the number of rows. */
const LISTED_TOKENS: string[] = []
const OWN_SUB_ACCOUNT = `SELECT ${rows.OWNER_COLUMNS} FROM sub_accounts s WHERE s.id = ?`

function toListed(row: ListedTuple): ListedToken {
  const [id, accountId, subAccountId, name, status, createdAt, expiresAt, version, sealed] = row
  return { id, accountId, subAccountId, name, status, createdAt, expiresAt, version, sealed }
}

/** Whoever's it is, without its owner: the caller knows them. A column costs more to hand over than to read, bytes most of all. */
export function findListedToken(db: Connection, id: string): ListedToken | undefined {
  const row = db.tuple<ListedTuple>(LISTED_TOKEN, id)
  return row && toListed(row)
}

/** The same for several at once, by the numbers of their rows, in any order: half the work of one after the other. */
export function findListedTokens(db: Connection, nos: readonly number[]): ListedToken[] {
  if (nos.length === 0) return []
  const sql = LISTED_TOKENS[nos.length] ?? `SELECT ${LISTED} FROM tokens WHERE no IN (${nos.map(() => '?').join(', ')})`
  LISTED_TOKENS[nos.length] = sql
  return db.tuples<ListedTuple>(sql, ...nos).map(toListed)
}

/** Whoever's it is: the caller compares. */
export function findOwnSubAccount(db: Connection, id: string): SubAccount | undefined {
  const row = db.get<rows.SubAccountColumns>(OWN_SUB_ACCOUNT, id)
  return row && rows.toOwner(row)
}

export function findTokenByName(db: Connection, subAccountId: string, name: string): TokenRecord | undefined {
  const row = db.get<rows.TokenColumns>(
    `SELECT ${rows.TOKEN_COLUMNS} FROM tokens t WHERE t.sub_account_id = ? AND t.name = ?`,
    subAccountId,
    name,
  )
  return row && rows.toToken(row)
}

/** Undefined where the sub-account is not the account's. */
export function findSubAccountName(db: Connection, accountId: string, id: string): string | undefined {
  return db.tuple<[string]>('SELECT name FROM sub_accounts WHERE id = ? AND account_id = ?', id, accountId)?.[0]
}

export function ownsSubAccount(db: Connection, accountId: string, subAccountId: string): boolean {
  return db.get('SELECT 1 FROM sub_accounts WHERE id = ? AND account_id = ?', subAccountId, accountId) !== undefined
}

export function countTokens(db: Connection): Record<Status, number> {
  const counts = { active: 0, inactive: 0 }
  const found = db.all<{ status: Status; n: number }>(
    `SELECT status, sum(count) AS n FROM token_counts WHERE scope IN (SELECT id FROM accounts) GROUP BY status`,
  )
  for (const { status, n } of found) counts[status] = n
  return counts
}

/** Account by account, since the index of expiry begins with the account. */
export function countExpiring(db: Connection, from: number, before: number): number {
  const counted = db.get<{ n: number | null }>(
    `SELECT sum((SELECT count(*) FROM tokens t WHERE t.account_id = a.id AND t.expires_at >= ?1 AND t.expires_at < ?2
       AND t.status = 'active')) AS n FROM accounts a`,
    ...[from, before],
  )
  return counted?.n ?? 0
}

export function readOverview(db: Connection, accountId: string, asked: OverviewQuestion): OverviewCounts {
  const { expiredBefore, expiringBefore, weeks } = asked
  const count = (where: string, ...values: (string | number)[]) =>
    db.get<{ n: number }>(
      `SELECT count(*) AS n FROM tokens t WHERE t.account_id = ?${where} AND ${inTime('t.no')}`,
      accountId,
      ...values,
    )?.n ?? 0
  return db.snapshot(() => {
    const tokens = { active: 0, inactive: 0 }
    const counted = db.all<{ status: Status; count: number }>(
      'SELECT status, count FROM token_counts WHERE scope = ?',
      accountId,
    )
    for (const row of counted) tokens[row.status] = row.count
    const owners = db.get<{ n: number; suspended: number }>(
      'SELECT count(*) AS n, count(suspended_at) AS suspended FROM sub_accounts WHERE account_id = ?',
      accountId,
    )
    const largest = db.all<rows.SubAccountRowColumns>(
      `SELECT ${rows.SUB_ACCOUNT_COLUMNS}, ${rows.COUNT_COLUMNS} FROM sub_accounts s
       WHERE s.account_id = ? ORDER BY active + inactive DESC, s.id DESC LIMIT ?`,
      ...[accountId, asked.largest],
    )
    const expiring = ` AND t.expires_at >= ? AND t.expires_at < ? AND t.status = 'active'`
    return {
      tokens,
      neverUsed: count(` AND ${NEVER_USED}`),
      expired: count(expiring, Number.MIN_SAFE_INTEGER, expiredBefore),
      suspendedTokens: countSuspended(db, accountId, expiredBefore),
      expiring: count(expiring, expiredBefore, expiringBefore),
      subAccounts: owners?.n ?? 0,
      suspended: owners?.suspended ?? 0,
      largest: largest.map(rows.toSubAccountRow),
      made: weeks
        .slice(1)
        .map((end, week) =>
          count(' AND t.id >= ? AND t.id < ?', idFloor('tok', weeks[week] ?? 0), idFloor('tok', end)),
        ),
    }
  })
}

function countSuspended(db: Connection, accountId: string, expiredBefore: number): number {
  const counted = db.get<{ n: number }>(
    `SELECT count(*) AS n FROM tokens WHERE sub_account_id IN ${SUSPENDED} AND status = 'active'
       AND (expires_at IS NULL OR expires_at >= ?)`,
    ...[accountId, expiredBefore],
  )
  return counted?.n ?? 0
}

export function findNames(db: Connection, accountId: string, ids: readonly string[]): Map<string, string> {
  const names = new Map<string, string>()
  for (const id of ids) {
    const found = db.get<{ name: string }>(
      `SELECT name FROM tokens WHERE id = ?1 AND account_id = ?2
       UNION ALL SELECT name FROM sub_accounts WHERE id = ?1 AND account_id = ?2
       UNION ALL SELECT name FROM account_keys WHERE id = ?1 AND account_id = ?2`,
      ...[id, accountId],
    )
    if (found !== undefined) names.set(id, found.name)
  }
  return names
}

const CANDIDATE = `
  SELECT t.id, t.account_id, t.sub_account_id, t.status, t.created_at, t.expires_at, t.version, t.stamp,
    s.account_id, s.suspended_at, s.stamp
  FROM ${TOKENS} WHERE t.digest = ?`

export function findCandidate(db: Connection, digest: Uint8Array): Candidate | undefined {
  const row = db.tuple<CandidateTuple>(CANDIDATE, digest)
  if (row === undefined) return findRetired(db, digest)
  const [id, accountId, subAccountId, status, createdAt, expiresAt, version, stamp] = row
  const [ownerAccountId, suspendedAt, ownerStamp] = row.slice(8) as TupleOfOwner
  return {
    token: { id, accountId, subAccountId, status, createdAt, expiresAt, version, digest, stamp },
    subAccount: { id: subAccountId, accountId: ownerAccountId, suspendedAt, stamp: ownerStamp },
    retired: undefined,
  }
}

type TupleOfToken = [string, string, string, Status, number, number | null, number, Uint8Array]
type TupleOfOwner = [string, number | null, Uint8Array]
type CandidateTuple = [...TupleOfToken, ...TupleOfOwner]

function findRetired(db: Connection, digest: Uint8Array): Candidate | undefined {
  const former = db.get<rows.CandidateColumns & { retires_at: number; r_stamp: Uint8Array }>(
    `SELECT ${rows.CANDIDATE_COLUMNS}, r.retires_at, r.stamp AS r_stamp
     FROM retired_credentials r
     CROSS JOIN tokens t ON t.id = r.token_id
     CROSS JOIN sub_accounts s ON s.id = t.sub_account_id
     WHERE r.digest = ?`,
    digest,
  )
  if (former === undefined) return undefined
  const { id: tokenId, retires_at: retiresAt, r_stamp: stamp } = former
  return { ...rows.toCandidate(former), retired: { digest, tokenId, retiresAt, stamp } }
}

export function findActivity(db: Connection, tokenIds: readonly string[], at: number): Map<string, TokenActivity> {
  const found = new Map<string, TokenActivity>()
  for (const id of tokenIds) {
    const [lastUsedAt, formerCredentialUntil] = db.tuple<[number | null, number | null]>(
      `SELECT (SELECT at FROM last_used WHERE token_id = ?1),
         (SELECT max(retires_at) FROM retired_credentials WHERE token_id = ?1 AND retires_at > ?2)`,
      ...[id, at],
    ) ?? [null, null]
    if (lastUsedAt !== null || formerCredentialUntil !== null) found.set(id, { lastUsedAt, formerCredentialUntil })
  }
  return found
}

export function listHistory(db: Connection, accountId: string, query: HistoryQuery): Slice<HistoryRow> {
  const { page, limit, tokenId, by, action, from, before } = query
  const filters = { 'token_id = ?': tokenId, 'by = ?': by, 'action = ?': action, 'at >= ?': from, 'at < ?': before }
  const given = Object.entries(filters).filter(([, value]) => value !== undefined)
  const where = ['account_id = ?', ...given.map(([condition]) => condition), inTime('no')].join(' AND ')
  const values = [accountId, ...given.map(([, value]) => value as string | number)]
  return db.snapshot(() => {
    const counted =
      given.length === 0
        ? db.get<{ n: number }>('SELECT seq AS n FROM history_heads WHERE account_id = ?', accountId)
        : db.get<{ n: number }>(`SELECT count(*) AS n FROM history WHERE ${where}`, ...values)
    const found = db.all<rows.HistoryColumns>(
      `SELECT ${rows.HISTORY_COLUMNS} FROM history WHERE ${where} ORDER BY seq DESC LIMIT ? OFFSET ?`,
      ...[...values, limit, (page - 1) * limit],
    )
    return { items: found.map(rows.toHistoryRow), total: counted?.n ?? 0 }
  })
}

/** A stretch of the chains, after the given place, so that no snapshot is held for long. */
export function readChainPart(db: Connection, after: { accountId: string; seq: number }, limit: number): ChainLink[] {
  return db
    .all<rows.HistoryColumns>(
      `SELECT ${rows.HISTORY_COLUMNS} FROM history WHERE (account_id, seq) > (?, ?) ORDER BY account_id, seq LIMIT ?`,
      after.accountId,
      after.seq,
      limit,
    )
    .map((row) => ({ kind: 'row', row: rows.toHistoryRow(row) }))
}

export function readChainHeads(db: Connection): ChainLink[] {
  return db
    .all<{ account_id: string; seq: number; last: Uint8Array; stamp: Uint8Array }>(
      'SELECT account_id, seq, last, stamp FROM history_heads ORDER BY account_id',
    )
    .map(({ account_id, seq, last, stamp }) => ({ kind: 'head', accountId: account_id, seq, last, stamp }))
}

export function readVault(db: Connection): VaultRow[] {
  return db
    .all<rows.VaultColumns>('SELECT key_id, sealed_secret, seals FROM vault ORDER BY created_at')
    .map(rows.toVaultRow)
}

export function listRetiredMasterKeys(db: Connection): string[] {
  return db.all<{ key_id: string }>('SELECT key_id FROM retired_master_keys').map(({ key_id }) => key_id)
}

export function readRows(db: Connection, table: CopiedTable, after: CopiedRow | undefined, limit: number): CopiedRow[] {
  const key = table.key.map(rows.columnOf).join(', ')
  const place = after === undefined ? [] : table.key.map((field) => after[field] ?? null)
  const beyond = after === undefined ? '' : `WHERE (${key}) > (${place.map(() => '?').join(', ')})`
  return db.all<CopiedRow>(
    `SELECT ${rows.selectList(table)} FROM ${rows.tableOf(table)} ${beyond} ORDER BY ${key} LIMIT ?`,
    ...place,
    limit,
  )
}

export function ping(db: Connection): void {
  db.get('SELECT 1')
}
