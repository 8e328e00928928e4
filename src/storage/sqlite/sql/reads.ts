// Every question the store answers, pages of tokens aside, as SQL. Short ones run on the event loop, the others on a reader
// thread.
import type { OverviewCounts, OverviewQuestion } from '../../../tokens/model/overview.ts'
import { canMatch, type Slice } from '../../../tokens/model/page.ts'
import type { StoredRow, Table } from '../../../tokens/model/tables.ts'
import {
  type AccountKey,
  foldCase,
  idFloor,
  type ListedToken,
  type Status,
  type StoredKey,
  type SubAccount,
  type TokenActivity,
  type TokenRecord,
} from '../../../tokens/model/token.ts'
import type {
  KeyQuery,
  NameAsked,
  StampedSubAccountRow,
  StoredLimit,
  SubAccountQuery,
  TokenRow,
} from '../../../tokens/ports.ts'
import { type HistoryQuery, type HistoryRow, toHistoryRow } from '../../../tokens/record/history.ts'
import type { Stamped } from '../../../tokens/trust/stamp.ts'
import type { FoundRows } from '../../../tokens/trust/verdict.ts'
import type { Query } from '../../queries.ts'
import * as queries from '../../queries.ts'
import {
  CANDIDATE,
  columnOf,
  HISTORY_ROW,
  KEY,
  LIMIT,
  LISTED,
  LISTED_TOKEN,
  OWNER,
  SUB_ACCOUNT_ROW,
  selectList,
  TOKEN,
  tableOf,
  toSubAccountRow,
} from '../../tables.ts'
import { type Connection, inTime } from '../connection.ts'

export const TOKENS_WITH_OWNERS = 'tokens t CROSS JOIN sub_accounts s ON s.id = t.sub_account_id'

export const NEVER_USED = 'NOT EXISTS (SELECT 1 FROM last_used WHERE token_id = t.id)'

/** Null also for a policy that was altered and is no JSON: its tokens are refused anyway. */
const MAX_LIFETIME = `CASE WHEN json_valid(policy) THEN policy ->> '$.maxLifetimeSeconds' END`

/** Whether a token `t` is older than its sub-account's policy lets it become, at a time. The account and the time are given. */
export const OUTLIVED = `(t.sub_account_id IN
  (SELECT id FROM sub_accounts WHERE account_id = ? AND ${MAX_LIFETIME} IS NOT NULL)
  AND t.created_at <= ? - 1000 * (SELECT ${MAX_LIFETIME} FROM sub_accounts WHERE id = t.sub_account_id))`

/** The strings of a JSON array. */
export const ANY_OF = '(SELECT value FROM json_each(?))'

/** The suspended sub-accounts of an account. */
export const SUSPENDED = '(SELECT id FROM sub_accounts WHERE account_id = ? AND suspended_at IS NOT NULL)'

const LIMIT_OF = `SELECT ${LIMIT.columns('l')} FROM limits l`
const KEY_BY = `SELECT ${KEY.columns('k')} FROM account_keys k`

function asked<Args extends readonly unknown[], Answer>({ values, sql, read }: Query<Args, Answer>) {
  return (db: Connection, ...args: Args): Answer => read(db.tuples(sql, ...values(...args)))
}

export const findAccount = asked(queries.findAccount)
export const listAccounts = asked(queries.listAccounts)
export const findKeyById = asked(queries.findKeyById)
export const findSession = asked(queries.findSession)
export const findSessionById = asked(queries.findSessionById)
export const listSessions = asked(queries.listSessions)
export const findSubAccount = asked(queries.findSubAccount)
export const findOwner = asked(queries.findOwner)
export const countTokens = asked(queries.countTokens)
export const countExpiring = asked(queries.countExpiring)
export const readChainPart = asked(queries.readChainPart)
export const readChainHeads = asked(queries.readChainHeads)
export const readVault = asked(queries.readVault)
export const listRetiredMasterKeys = asked(queries.listRetiredMasterKeys)
export const ping = asked(queries.ping)

export function findKey(db: Connection, digest: Uint8Array): Stamped<StoredKey> | undefined {
  return KEY.readOne(db.tuple(`${KEY_BY} WHERE k.digest = ?`, digest))
}

/** A key that is limited to sub-accounts, all of them among those given. */
const SEES_ONLY = `CASE WHEN json_valid(k.permissions) THEN json_type(k.permissions, '$.subAccounts') = 'array'
  AND NOT EXISTS (SELECT 1 FROM json_each(k.permissions, '$.subAccounts') WHERE value NOT IN ${ANY_OF}) END`

export function listKeys(db: Connection, accountId: string, { page, limit, id, within }: KeyQuery): Slice<AccountKey> {
  const given = Object.entries({
    'k.account_id = ?': accountId,
    'k.id = ?': id,
    [SEES_ONLY]: within ? JSON.stringify(within) : undefined,
  })
  const set = given.filter((each): each is [string, string] => each[1] !== undefined)
  const where = [...set.map(([condition]) => condition), inTime('random()')].join(' AND ')
  const values = set.map(([, value]) => value)
  return db.snapshot(() => {
    const counted = db.get<{ n: number }>(`SELECT count(*) AS n FROM account_keys k WHERE ${where}`, ...values)
    const found = db.tuples(
      `${KEY_BY} WHERE ${where} ORDER BY k.id DESC LIMIT ? OFFSET ?`,
      ...[...values, limit, (page - 1) * limit],
    )
    return { items: KEY.readAll(found), total: counted?.n ?? 0 }
  })
}

export function listSubAccounts(
  db: Connection,
  accountId: string,
  { page, limit, search, ids = null }: SubAccountQuery,
): Slice<StampedSubAccountRow> {
  if (search !== undefined && !canMatch(search)) return { items: [], total: 0 }
  const where = `s.account_id = ?1 AND (?2 IS NULL OR instr(s.folded_text, ?2) > 0)
    AND (?3 IS NULL OR s.id IN (SELECT value FROM json_each(?3))) AND ${inTime('random()')}`
  const values = [accountId, search === undefined ? null : foldCase(search), ids && JSON.stringify(ids)]
  return db.snapshot(() => {
    const total = db.get<{ n: number }>(`SELECT count(*) AS n FROM sub_accounts s WHERE ${where}`, ...values)
    const found = db.tuples(
      `SELECT ${SUB_ACCOUNT_ROW} FROM sub_accounts s WHERE ${where} ORDER BY s.id DESC LIMIT ?4 OFFSET ?5`,
      ...[...values, limit, (page - 1) * limit],
    )
    return { items: found.map((values) => toSubAccountRow(values)), total: total?.n ?? 0 }
  })
}

export function findToken(db: Connection, accountId: string, id: string): TokenRow | undefined {
  const values = db.tuple(
    `SELECT ${LISTED.columns} FROM ${TOKENS_WITH_OWNERS} WHERE t.id = ? AND t.account_id = ?`,
    ...[id, accountId],
  )
  return values && LISTED.read(values)
}

// Statements that are used often are written once: each new string would have to be hashed and compared again.
const LISTED_BY_ID = `SELECT ${LISTED_TOKEN.columns('t')} FROM tokens t WHERE t.id = ?`
/** By the number of ids. */
const LISTED_BY_IDS: string[] = []
const OWNER_BY_ID = `SELECT ${OWNER.columns('s')} FROM sub_accounts s WHERE s.id = ?`

/** Of any account, and without its sub-account: the caller has that, and each column costs more than finding the row. */
export function findListedToken(db: Connection, id: string): ListedToken | undefined {
  return LISTED_TOKEN.readOne(db.tuple(LISTED_BY_ID, id))
}

/** The same for several, in any order. */
export function findListedTokens(db: Connection, ids: readonly string[]): ListedToken[] {
  if (ids.length === 0) return []
  const placeholders = () => ids.map(() => '?').join(', ')
  LISTED_BY_IDS[ids.length] ??= `SELECT ${LISTED_TOKEN.columns('t')} FROM tokens t WHERE t.id IN (${placeholders()})`
  return LISTED_TOKEN.readAll(db.tuples(LISTED_BY_IDS[ids.length] as string, ...ids))
}

/** Of any account: the caller compares. */
export function findOwnSubAccount(db: Connection, id: string): SubAccount | undefined {
  return OWNER.readOne(db.tuple(OWNER_BY_ID, id))
}

const BY_NAME = `SELECT ${TOKEN.columns('t')} FROM tokens t WHERE t.sub_account_id = ? AND t.name = ?`

export function findTokensByNames(db: Connection, asked: readonly NameAsked[]): (TokenRecord | undefined)[] {
  return asked.map(({ subAccountId, name }) => TOKEN.readOne(db.tuple(BY_NAME, subAccountId, name)))
}

/** Undefined where the sub-account is not the account's. */
export function findSubAccountName(db: Connection, accountId: string, id: string): string | undefined {
  return db.tuple<[string]>('SELECT name FROM sub_accounts WHERE id = ? AND account_id = ?', id, accountId)?.[0]
}

export function ownsSubAccount(db: Connection, accountId: string, subAccountId: string): boolean {
  return db.get('SELECT 1 FROM sub_accounts WHERE id = ? AND account_id = ?', subAccountId, accountId) !== undefined
}

export function readOverview(db: Connection, accountId: string, asked: OverviewQuestion): OverviewCounts {
  const { expiredBefore, expiringBefore, weeks, subAccounts = null } = asked
  const ids = subAccounts === null ? [] : [JSON.stringify(subAccounts)]
  const within = (column: string) => (subAccounts === null ? '' : ` AND ${column} IN ${ANY_OF}`)
  const count = (where: string, ...values: (string | number)[]) =>
    db.get<{ n: number }>(
      `SELECT count(*) AS n FROM tokens t WHERE t.account_id = ?${within('t.sub_account_id')}${where} AND ${inTime('t.no')}`,
      ...[accountId, ...ids, ...values],
    )?.n ?? 0
  return db.snapshot(() => {
    const tokens = { active: 0, inactive: 0 }
    const counted = db.all<{ status: Status; count: number }>(
      subAccounts === null
        ? 'SELECT status, count FROM token_counts WHERE scope = ?'
        : `SELECT status, sum(count) AS count FROM token_counts
           WHERE scope IN (SELECT id FROM sub_accounts WHERE account_id = ?${within('id')}) GROUP BY status`,
      ...[accountId, ...ids],
    )
    for (const row of counted) tokens[row.status] = row.count
    const owners = db.get<{ n: number; suspended: number }>(
      `SELECT count(*) AS n, count(suspended_at) AS suspended FROM sub_accounts WHERE account_id = ?${within('id')}`,
      ...[accountId, ...ids],
    )
    const largest = db.tuples(
      `SELECT ${SUB_ACCOUNT_ROW} FROM sub_accounts s
       WHERE s.account_id = ?${within('s.id')} ORDER BY active + inactive DESC, s.id DESC LIMIT ?`,
      ...[accountId, ...ids, asked.largest],
    )
    const now = expiredBefore - 1
    const suspended = db.get<{ n: number }>(
      `SELECT count(*) AS n FROM tokens t WHERE t.sub_account_id IN ${SUSPENDED}${within('t.sub_account_id')}
         AND t.status = 'active' AND (t.expires_at IS NULL OR t.expires_at > ?) AND NOT ${OUTLIVED}`,
      ...[accountId, ...ids, now, accountId, now],
    )
    const expiring = ` AND t.expires_at >= ? AND t.expires_at < ? AND t.status = 'active'`
    return {
      tokens,
      neverUsed: count(` AND ${NEVER_USED}`),
      expired: count(` AND t.status = 'active' AND (t.expires_at <= ? OR ${OUTLIVED})`, now, accountId, now),
      suspendedTokens: suspended?.n ?? 0,
      expiring: count(expiring, expiredBefore, expiringBefore),
      subAccounts: owners?.n ?? 0,
      suspended: owners?.suspended ?? 0,
      largest: largest.map((values) => toSubAccountRow(values)),
      made: weeks
        .slice(1)
        .map((end, week) =>
          count(' AND t.id >= ? AND t.id < ?', idFloor('tok', weeks[week] ?? 0), idFloor('tok', end)),
        ),
    }
  })
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

const BY_DIGEST = `SELECT ${CANDIDATE.columns} FROM ${TOKENS_WITH_OWNERS} WHERE t.digest = ?`
const BY_TOKEN = `SELECT ${CANDIDATE.columns} FROM ${TOKENS_WITH_OWNERS} WHERE t.id = ?`
const BY_FORMER_DIGEST = `
  SELECT ${CANDIDATE.columns}, r.token_id, r.retires_at, r.stamp FROM retired_credentials r
  CROSS JOIN tokens t ON t.id = r.token_id CROSS JOIN sub_accounts s ON s.id = t.sub_account_id WHERE r.digest = ?`

/** By the digest of its credential, or of a former one. */
export function findByDigest(db: Connection, digest: Uint8Array): FoundRows | undefined {
  const found = db.tuple(BY_DIGEST, digest)
  if (found !== undefined) return { ...CANDIDATE.read(found), retired: undefined }
  const former = db.tuple(BY_FORMER_DIGEST, digest)
  if (former === undefined) return undefined
  const [tokenId, retiresAt, stamp] = former.slice(CANDIDATE.width) as [string, number, Uint8Array]
  return { ...CANDIDATE.read(former), retired: { digest, tokenId, retiresAt, stamp } }
}

export function findCandidateRows(db: Connection, tokenId: string): FoundRows | undefined {
  const found = db.tuple(BY_TOKEN, tokenId)
  return found && { ...CANDIDATE.read(found), retired: undefined }
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

export function findLimits(db: Connection, subjects: readonly string[]): StoredLimit[] {
  return subjects.flatMap((subject) => LIMIT.readAll(db.tuples(`${LIMIT_OF} WHERE l.subject = ?`, subject)))
}

/** What was done to these sub-accounts and their tokens, deleted ones included. */
const OF_SUB_ACCOUNTS = `(subject IN ${ANY_OF} OR token_id IN (
  SELECT c.token_id FROM history c
  WHERE c.account_id = ? AND c.action = 'token.create'
    AND CASE WHEN json_valid(c.to_facts) THEN c.to_facts ->> '$.subAccountId' END IN ${ANY_OF}))`

export function listHistory(db: Connection, accountId: string, query: HistoryQuery): Slice<HistoryRow> {
  const { page, limit, tokenId, by, action, from, before, subAccounts } = query
  const filters = { 'token_id = ?': tokenId, 'by = ?': by, 'action = ?': action, 'at >= ?': from, 'at < ?': before }
  const given = Object.entries(filters).flatMap(([condition, value]) =>
    value === undefined ? [] : [{ condition, values: [value] }],
  )
  if (subAccounts !== undefined) {
    const ids = JSON.stringify(subAccounts)
    given.push({ condition: OF_SUB_ACCOUNTS, values: [ids, accountId, ids] })
  }
  const where = ['account_id = ?', ...given.map(({ condition }) => condition), inTime('no')].join(' AND ')
  const values = [accountId, ...given.flatMap((each) => each.values)]
  return db.snapshot(() => {
    const counted =
      given.length === 0
        ? db.get<{ n: number }>('SELECT seq AS n FROM history_heads WHERE account_id = ?', accountId)
        : db.get<{ n: number }>(`SELECT count(*) AS n FROM history WHERE ${where}`, ...values)
    const found = db.tuples(
      `SELECT ${HISTORY_ROW.columns('h')} FROM history h WHERE ${where} ORDER BY seq DESC LIMIT ? OFFSET ?`,
      ...[...values, limit, (page - 1) * limit],
    )
    return { items: HISTORY_ROW.readAll(found).map(toHistoryRow), total: counted?.n ?? 0 }
  })
}

export function readRows(db: Connection, table: Table, after: StoredRow | undefined, limit: number): StoredRow[] {
  const key = table.key.map(columnOf).join(', ')
  const place = after === undefined ? [] : table.key.map((field) => after[field] ?? null)
  const beyond = after === undefined ? '' : `WHERE (${key}) > (${place.map(() => '?').join(', ')})`
  return db.all<StoredRow>(
    `SELECT ${selectList(table)} FROM ${tableOf(table)} ${beyond} ORDER BY ${key} LIMIT ?`,
    ...place,
    limit,
  )
}
