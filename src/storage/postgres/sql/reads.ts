// Every question the store answers, lists of tokens and sub-accounts aside, as SQL: one statement each, so that an answer comes
// from one snapshot and one round trip.
import type { OverviewCounts, OverviewQuestion } from '../../../tokens/model/overview.ts'
import type { Slice } from '../../../tokens/model/page.ts'
import type { StoredRow, Table } from '../../../tokens/model/tables.ts'
import {
  idFloor,
  type Status,
  type StoredKey,
  type Timestamp,
  type TokenActivity,
  type TokenRecord,
} from '../../../tokens/model/token.ts'
import type { NameAsked, StoredLimit, TokenRow } from '../../../tokens/ports.ts'
import { type HistoryQuery, type HistoryRow, toHistoryRow } from '../../../tokens/record/history.ts'
import type { Stamped } from '../../../tokens/trust/stamp.ts'
import type { FoundRows } from '../../../tokens/trust/verdict.ts'
import type { Query } from '../../queries.ts'
import * as queries from '../../queries.ts'
import {
  CANDIDATE,
  CHANGED,
  columnOf,
  HISTORY_ROW,
  KEY,
  LIMIT,
  LISTED,
  SUB_ACCOUNT_NAMES,
  SUB_ACCOUNT_ROW,
  selectList,
  TOKEN,
  tableOf,
  toSubAccountRow,
} from '../../tables.ts'
import type { Connection } from '../connection.ts'
import type { Value } from './batch.ts'
import { outlived, suspendedOf, toSlice, Values } from './listing.ts'

/**
 * The limit makes PostgreSQL look the row up: it expects a row from every partition, and would rather read through a small table
 * for so many.
 */
const OWNER_OF_T = 'JOIN LATERAL (SELECT * FROM sub_accounts WHERE id = t.sub_account_id LIMIT 1) s ON true'
const TOKENS_WITH_OWNERS = `tokens t ${OWNER_OF_T}`

const KEY_BY = `SELECT ${KEY.columns('k')} FROM account_keys k`

function asked<Args extends readonly unknown[], Answer>({ values, sql, read }: Query<Args, Answer>, lock = '') {
  const text = sql.replaceAll('?', '$') + lock
  return async (db: Connection, ...args: Args): Promise<Answer> => read(await db.tuples(text, ...values(...args)))
}

export const findAccount = asked(queries.findAccount)
export const listAccounts = asked(queries.listAccounts)
export const lockKey = asked(queries.findKeyById, ' FOR UPDATE')
export const findSession = asked(queries.findSession)
export const lockSession = asked(queries.findSessionById, ' FOR UPDATE')
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

export async function findKey(db: Connection, digest: Uint8Array): Promise<Stamped<StoredKey> | undefined> {
  const answer = await db.read(`${KEY_BY} WHERE k.digest = $1`, [digest])
  const [fields] = answer.rows
  return fields && db.remembered.keys.get(fields, answer.columns)
}

export async function findToken(db: Connection, accountId: string, id: string): Promise<TokenRow | undefined> {
  const answer = await db.read(
    `SELECT ${LISTED.columns} FROM ${TOKENS_WITH_OWNERS} WHERE t.id = $1 AND t.account_id = $2`,
    [id, accountId],
  )
  const [fields] = answer.rows
  return fields && db.remembered.listed.get(fields, answer.columns)
}

/** With what a change needs: the digest and the stamp. */
export async function findChanged(db: Connection, accountId: string, id: string) {
  const values = await db.tuple(
    `SELECT ${CHANGED.columns} FROM ${TOKENS_WITH_OWNERS} WHERE t.id = $1 AND t.account_id = $2`,
    ...[id, accountId],
  )
  return values && CHANGED.read(values)
}

/** No stored name has a NUL, which PostgreSQL does not take. */
export async function findTokensByNames(
  db: Connection,
  asked: readonly NameAsked[],
): Promise<(TokenRecord | undefined)[]> {
  const found = await db.tuples(
    `SELECT asked.place - 1, ${TOKEN.columns('t')}
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (sub_account_id, name, place)
     JOIN sub_accounts s ON s.id = asked.sub_account_id JOIN LATERAL (
       SELECT * FROM tokens WHERE account_id = s.account_id AND sub_account_id = s.id AND name = asked.name LIMIT 1
     ) t ON true`,
    ...[asked.map(({ subAccountId }) => subAccountId), asked.map(({ name }) => name.replaceAll('\0', '\ufffd'))],
  )
  const tokens = new Map(found.map((values) => [values[0], TOKEN.read(values, 1)]))
  return asked.map((_, place) => tokens.get(place))
}

export async function readOverview(
  db: Connection,
  accountId: string,
  { expiredBefore, expiringBefore, weeks, largest, subAccounts = null }: OverviewQuestion,
): Promise<OverviewCounts> {
  const floors = weeks.map((time) => idFloor('tok', time))
  const row = await db.get<OverviewColumns>(
    `SELECT
       ${countOf('active')} AS active,
       ${countOf('inactive')} AS inactive,
       (SELECT count(*) FROM tokens t
        WHERE t.account_id = $1 ${WITHIN} AND NOT EXISTS (SELECT FROM last_used WHERE token_id = t.id)) AS "neverUsed",
       (SELECT count(*) FROM tokens t WHERE account_id = $1 ${WITHIN} AND status = 'active'
        AND (expires_at < $2 OR ${outlived('$1', '$2 - 1')})) AS expired,
       (SELECT count(*) FROM tokens t
        WHERE account_id = $1 AND sub_account_id = ANY(${suspendedOf('$1')}) ${WITHIN} AND status = 'active'
        AND (expires_at IS NULL OR expires_at >= $2) AND NOT ${outlived('$1', '$2 - 1')}) AS "suspendedTokens",
       (SELECT count(*) FROM tokens
        WHERE account_id = $1 ${WITHIN} AND expires_at >= $2 AND expires_at < $3 AND status = 'active') AS expiring,
       (SELECT count(*) FROM sub_accounts WHERE account_id = $1 ${AMONG}) AS "subAccounts",
       (SELECT count(suspended_at) FROM sub_accounts WHERE account_id = $1 ${AMONG}) AS suspended,
       ARRAY(SELECT (SELECT count(*)::float8 FROM tokens
                     WHERE account_id = $1 ${WITHIN} AND id >= week.first AND id < week.next)
             FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS week (first, next, no) ORDER BY no) AS made,
       ${LARGEST} AS largest`,
    ...[accountId, expiredBefore, expiringBefore, floors.slice(0, -1), floors.slice(1), largest, subAccounts],
  )
  if (row === undefined) throw new Error('an overview is one row')
  const { active, inactive, largest: found, ...counts } = row
  return { ...counts, tokens: { active, inactive }, largest: (found ?? []).map((values) => toSubAccountRow(values)) }
}

type OverviewColumns = Omit<OverviewCounts, 'tokens' | 'largest'> &
  Record<Status, number> & {
    /** Arrays of columns, as JSON; the stamp as text, which nobody reads here. */
    readonly largest: unknown[][] | null
  }

/** Only tokens of the sub-accounts asked for, or only these; all if there are none. */
const WITHIN = 'AND ($7::text[] IS NULL OR sub_account_id = ANY($7))'
const AMONG = 'AND ($7::text[] IS NULL OR id = ANY($7))'
const countOf = (status: Status) =>
  `(SELECT coalesce(sum(count), 0)::bigint FROM token_counts WHERE status = '${status}' AND scope = ANY(
     CASE WHEN $7::text[] IS NULL THEN ARRAY[$1] ELSE ARRAY(SELECT id FROM sub_accounts WHERE account_id = $1 ${AMONG}) END))`

const LARGEST = `(SELECT json_agg(json_build_array(${SUB_ACCOUNT_NAMES.join(', ')})) FROM (
  SELECT * FROM (
    SELECT ${SUB_ACCOUNT_ROW} FROM sub_accounts s WHERE s.account_id = $1 ${AMONG}
  ) AS owner ORDER BY active + inactive DESC, id DESC LIMIT $6) AS row)`

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
  // In the order of the request.
  return new Map(ids.flatMap((id) => (names.has(id) ? [[id, names.get(id) ?? '']] : [])))
}

const BY_DIGEST = `
  SELECT ${CANDIDATE.columns}, NULL::text, NULL::bigint, NULL::bytea FROM ${TOKENS_WITH_OWNERS} WHERE t.digest = $1
  UNION ALL
  SELECT ${CANDIDATE.columns}, r.token_id, r.retires_at, r.stamp
  FROM retired_credentials r JOIN tokens t ON t.id = r.token_id ${OWNER_OF_T} WHERE r.digest = $1`

/** With the account from a function, PostgreSQL opens one partition; joined by `p.account_id`, it would open them all. */
const BY_PLACE = `
  SELECT ${CANDIDATE.columns}, r.token_id, r.retires_at, r.stamp
  FROM credential_places p JOIN tokens t ON t.account_id = credential_account($1) AND t.id = p.token_id ${OWNER_OF_T}
  LEFT JOIN retired_credentials r ON r.digest = p.digest WHERE p.digest = $1`

/** By the digest of its credential, or of a former one. */
export async function findByDigest(
  db: Connection,
  digest: Uint8Array,
  isPartitioned: boolean,
): Promise<FoundRows | undefined> {
  const found = (await db.tuples(isPartitioned ? BY_PLACE : BY_DIGEST, digest)).map((values) => {
    const [tokenId, retiresAt, stamp] = values.slice(CANDIDATE.width) as [string | null, number, Uint8Array]
    return { ...CANDIDATE.read(values), retired: tokenId === null ? undefined : { digest, tokenId, retiresAt, stamp } }
  })
  return found.find(({ retired }) => retired === undefined) ?? found[0]
}

export async function findCandidateRows(db: Connection, tokenId: string): Promise<FoundRows | undefined> {
  const found = await db.tuple(`SELECT ${CANDIDATE.columns} FROM ${TOKENS_WITH_OWNERS} WHERE t.id = $1`, tokenId)
  return found && { ...CANDIDATE.read(found), retired: undefined }
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

export async function findLimits(db: Connection, subjects: readonly string[]): Promise<readonly StoredLimit[]> {
  const found = await db.tuples(
    `SELECT ${LIMIT.columns('l')} FROM limits l WHERE l.subject = ANY($1::text[])`,
    ...[subjects],
  )
  return LIMIT.readAll(found)
}

/** What was done to these sub-accounts and their tokens, deleted ones included. */
const ofSubAccounts = (account: string, ids: string) => `(subject = ANY(${ids}::text[]) OR token_id IN (
  SELECT c.token_id FROM history c WHERE c.account_id = ${account} AND c.action = 'token.create'
    AND split_part(split_part(c.to_facts COLLATE "C", '"subAccountId":"', 2), '"', 1) = ANY(${ids}::text[])))`

export async function listHistory(db: Connection, accountId: string, query: HistoryQuery): Promise<Slice<HistoryRow>> {
  const { page, limit, tokenId, by, action, from, before, subAccounts } = query
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
  if (subAccounts !== undefined) conditions.push(ofSubAccounts(account, values.add(subAccounts)))
  const found = await db.tuples(
    conditions.length === 0
      ? wholeHistory(account, take, skip)
      : filteredHistory([`account_id = ${account}`, ...conditions].join(' AND '), take, skip),
    ...values.list,
  )
  return toSlice(found, (values, from) => toHistoryRow(HISTORY_ROW.read(values, from)))
}

/** Rows are numbered without gaps, so that a page is a range of numbers. */
const wholeHistory = (account: string, take: string, skip: string) => `
  SELECT counted.total, ${HISTORY_ROW.columns('h')} FROM (
    SELECT coalesce((SELECT seq FROM history_heads WHERE account_id = ${account}), 0) AS total
  ) AS counted LEFT JOIN history h
    ON h.account_id = ${account} AND h.seq <= counted.total - ${skip}::bigint
      AND h.seq > counted.total - ${skip}::bigint - ${take}::bigint
  ORDER BY h.seq DESC`

const filteredHistory = (where: string, take: string, skip: string) => `
  SELECT counted.total, page.* FROM (
    SELECT count(*) AS total FROM history WHERE ${where}
  ) AS counted LEFT JOIN (
    SELECT ${HISTORY_ROW.columns('h')} FROM history h WHERE ${where} ORDER BY seq DESC LIMIT ${take} OFFSET ${skip}
  ) AS page ON true ORDER BY page.seq DESC`

export function readRows(
  db: Connection,
  table: Table,
  after: StoredRow | undefined,
  limit: number,
): Promise<StoredRow[]> {
  const key = table.key.map(columnOf).join(', ')
  const place = after === undefined ? [] : table.key.map((field) => after[field] ?? null)
  const beyond = after === undefined ? '' : `WHERE (${key}) > (${place.map((_, n) => `$${n + 2}`).join(', ')})`
  return db.all<StoredRow>(
    `SELECT ${selectList(table)} FROM ${tableOf(table)} ${beyond} ORDER BY ${key} LIMIT $1`,
    limit,
    ...place,
  )
}
