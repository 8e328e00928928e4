// Every question the store answers, pages of tokens aside, as SQL: one statement each, so that an answer comes from one snapshot
// and one round trip.

import type { Delivering } from '../../../tokens/event-ports.ts'
import { ALL_ACCOUNTS } from '../../../tokens/model/permissions.ts'
import type { StoredKey, Timestamp, TokenActivity, TokenRecord } from '../../../tokens/model/token.ts'
import type { NameAsked } from '../../../tokens/operator-ports.ts'
import type { StoredLimit, TokenOwner, TokenRow } from '../../../tokens/ports.ts'
import type { Stamped } from '../../../tokens/trust/stamp.ts'
import type { FoundRows } from '../../../tokens/trust/verdict.ts'
import * as bulk from '../../bulk-queries.ts'
import { CANDIDATE, CHANGED, LIMIT, LISTED, TOKEN } from '../../columns.ts'
import * as exports from '../../export-queries.ts'
import * as history from '../../history-queries.ts'
import * as pages from '../../pages.ts'
import type { Query } from '../../queries.ts'
import * as queries from '../../queries.ts'
import * as recent from '../../recent-queries.ts'
import type { Dialect, Question } from '../../statements.ts'
import * as tokens from '../../token-queries.ts'
import * as usage from '../../usage-queries.ts'
import * as webhooks from '../../webhook-queries.ts'
import type { Connection } from '../postgres-connection.ts'
import { binaryArray } from './binary-arrays.ts'
import { POSTGRES } from './dialect.ts'

export { findMark, findNews } from './news.ts'

/**
 * The limit makes PostgreSQL look the row up: it expects a row from every partition, and would rather read through a small table
 * for so many.
 */
const OWNER_OF_T = 'JOIN LATERAL (SELECT * FROM sub_accounts WHERE id = t.sub_account_id LIMIT 1) s ON true'
const TOKENS_WITH_OWNERS = `tokens t ${OWNER_OF_T}`

export async function ask<Args extends readonly unknown[], Answer>(
  db: Connection,
  { values, postgresSql, read }: Query<Args, Answer>,
  args: Args,
  lock = '',
): Promise<Answer> {
  return read(await db.tuples(postgresSql + lock, ...values(...args)))
}

function asked<Args extends readonly unknown[], Answer>(query: Query<Args, Answer>, lock?: string) {
  return (db: Connection, ...args: Args): Promise<Answer> => ask(db, query, args, lock)
}

export const findAccount = asked(queries.findAccount)
export const listAccounts = asked(queries.listAccounts)
export const findKeyById = asked(queries.findKeyById)
export const findSession = asked(queries.findSession)
export const findSessionById = asked(queries.findSessionById)
/** Until the transaction ends, it can be renewed but not ended. */
export const keepSession = asked(queries.findSessionById, ' FOR KEY SHARE')
export const listSessions = asked(queries.listSessions)
export const findPortalSession = asked(queries.findPortalSession)
export const findRequest = asked(queries.findRequest)
export const findSubAccount = asked(queries.findSubAccount)
export const findOwner = asked(queries.findOwner)
export const countTokens = asked(queries.countTokens)
export const listWebhooks = asked(webhooks.listWebhooks)
export const findWebhook = asked(webhooks.findWebhook)
const findWebhookById = asked(webhooks.findWebhookById)
const listWaiting = asked(webhooks.listWaiting)
const countDisabled = asked(webhooks.countDisabled)
const listLagging = asked(webhooks.listLagging)
export const findBulk = asked(bulk.findBulk)
export const findBulkPart = asked(bulk.findBulkPart)
export const findRecent = asked(recent.findRecent)
export const listRunningBulk = asked(bulk.listRunningBulk)
export const countRunningBulk = asked(bulk.countRunningBulk)
export const readChainPart = asked(queries.readChainPart)
export const readChainHeads = asked(queries.readChainHeads)
export const readVault = asked(queries.readVault)
export const listRetiredMasterKeys = asked(queries.listRetiredMasterKeys)
export const ping = asked(queries.ping)

function built<Args extends readonly unknown[], Answer>(build: (dialect: Dialect, ...args: Args) => Question<Answer>) {
  return async (db: Connection, ...args: Args): Promise<Answer> => {
    const { sql, values, read } = build(POSTGRES, ...args)
    return read(await db.tuples(sql, ...values))
  }
}

export const listKeys = built(pages.listKeys)
export const listPortalSessions = built(pages.listPortalSessions)
export const listVerifiers = built(pages.listVerifiers)
export const listSubAccounts = built(pages.listSubAccounts)
export const listHistory = built(history.listHistory)
export const countExpiring = built(tokens.countExpiring)
export const findUnannounced = built(tokens.findUnannounced)
export const listBulk = built(bulk.listBulk)
export const listDeliveries = built(webhooks.listDeliveries)
export const readBehind = built(webhooks.readBehind)
export const findDue = built(webhooks.findDue)
export const readFeed = built(history.readFeed)
export const readHeads = built(history.readHeads)
export const readOverview = built(tokens.readOverview)
export const readUsage = built(usage.readUsage)
export const readBusiest = built(usage.readBusiest)
export const readRows = built(pages.readRows)
export const exportTokens = built(exports.exportTokens)
export const exportSubAccounts = built(exports.exportSubAccounts)
export const exportKeys = built(exports.exportKeys)

export async function findKey(db: Connection, digest: Uint8Array): Promise<Stamped<StoredKey> | undefined> {
  const answer = await db.read(`${queries.KEY_BY} WHERE k.digest = $1`, [digest])
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
    `SELECT asked.position - 1, ${TOKEN.columns('t')}
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (sub_account_id, name, position)
     JOIN sub_accounts s ON s.id = asked.sub_account_id JOIN LATERAL (
       SELECT * FROM tokens WHERE account_id = s.account_id AND sub_account_id = s.id AND name = asked.name LIMIT 1
     ) t ON true`,
    ...[asked.map(({ subAccountId }) => subAccountId), asked.map(({ name }) => name.replaceAll('\0', '\ufffd'))],
  )
  const tokens = new Map(found.map((values) => [values[0], TOKEN.read(values, 1)]))
  return asked.map((_, position) => tokens.get(position))
}

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

/** With the account, PostgreSQL opens one partition. */
export async function findOwners(
  db: Connection,
  accountId: string,
  tokenIds: readonly string[],
): Promise<readonly TokenOwner[]> {
  const isOfAll = accountId === ALL_ACCOUNTS
  return db.all<TokenOwner>(
    `SELECT id, sub_account_id AS "subAccountId", account_id AS "accountId" FROM tokens
     WHERE id = ANY($1::text[])${isOfAll ? '' : ' AND account_id = $2'}`,
    tokenIds.filter((id) => !id.includes('\0')),
    ...(isOfAll ? [] : [accountId]),
  )
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

const KNOWN = `
  SELECT encode(digest, 'hex') FROM tokens WHERE digest = ANY($1::bytea[])
  UNION ALL SELECT encode(digest, 'hex') FROM retired_credentials WHERE digest = ANY($1::bytea[])`
const KNOWN_PLACES = `SELECT encode(digest, 'hex') FROM credential_places WHERE digest = ANY($1::bytea[])`

export async function findKnown(
  db: Connection,
  digests: readonly string[],
  isPartitioned: boolean,
): Promise<readonly string[]> {
  const bytes = digests.map((digest) => Buffer.from(digest, 'hex'))
  return (await db.tuples(isPartitioned ? KNOWN_PLACES : KNOWN, binaryArray('bytes', bytes))).flat() as string[]
}

export async function findCandidateRows(db: Connection, tokenId: string): Promise<FoundRows | undefined> {
  const found = await db.tuple(`SELECT ${CANDIDATE.columns} FROM ${TOKENS_WITH_OWNERS} WHERE t.id = $1`, tokenId)
  return found && { ...CANDIDATE.read(found), retired: undefined }
}

const FORMER_OF = `SELECT r.token_id, r.retires_at, v.verifications FROM retired_credentials r
  LEFT JOIN recent_verifications v ON v.token_id = r.token_id WHERE r.token_id = ANY($1::text[]) AND r.retires_at > $2`

export async function findActivity(
  db: Connection,
  tokenIds: readonly string[],
  at: Timestamp,
): Promise<ReadonlyMap<string, TokenActivity>> {
  const [used, formers] = await Promise.all([
    db.tuples('SELECT token_id, at FROM last_used WHERE token_id = ANY($1::text[])', tokenIds),
    db.tuples(FORMER_OF, tokenIds, at),
  ])
  const usedAt = new Map(used as [string, number][])
  const formersOf = Map.groupBy(formers, ([tokenId]) => tokenId as string)
  const known = new Set([...usedAt.keys(), ...formersOf.keys()])
  const toFormer = ([, until, verifications]: readonly unknown[]) => [until, verifications] as [number, string | null]
  return new Map(
    [...known].map((id) => [id, recent.toActivity(usedAt.get(id) ?? null, formersOf.get(id)?.map(toFormer) ?? [])]),
  )
}

export async function findDelivering(db: Connection, id: string): Promise<Delivering | undefined> {
  const [webhook, waiting] = await Promise.all([findWebhookById(db, id), listWaiting(db, id)])
  return webhook && { webhook, waiting }
}

export async function readLagging(db: Connection, limit: number) {
  const [disabled, lagging] = await Promise.all([countDisabled(db), listLagging(db, limit)])
  return { disabled, lagging }
}

export async function findLimits(db: Connection, subjects: readonly string[]): Promise<readonly StoredLimit[]> {
  const found = await db.tuples(
    `SELECT ${LIMIT.columns('l')} FROM limits l WHERE l.subject = ANY($1::text[])`,
    subjects,
  )
  return LIMIT.readAll(found)
}
