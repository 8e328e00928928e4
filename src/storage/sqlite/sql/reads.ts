// Every question the store answers, pages of tokens aside, as SQL. Short ones run on the event loop, the others on a reader
// thread.

import type { Delivering } from '../../../tokens/event-ports.ts'
import type { ListedToken, SubAccount, TokenActivity, TokenRecord } from '../../../tokens/model/token.ts'
import type { NameAsked } from '../../../tokens/operator-ports.ts'
import type { StoredLimit, TokenOwner, TokenRow } from '../../../tokens/ports.ts'
import type { FoundRows } from '../../../tokens/trust/verdict.ts'
import * as bulk from '../../bulk-queries.ts'
import { CANDIDATE, LIMIT, LISTED, LISTED_TOKEN, OWNER, TOKEN } from '../../columns.ts'
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
import type { Connection } from '../sqlite-connection.ts'
import { SQLITE, toInput } from './dialect.ts'

export { findMark, findNews } from './news.ts'

export const TOKENS_WITH_OWNERS = 'tokens t CROSS JOIN sub_accounts s ON s.id = t.sub_account_id'

const LIMIT_OF = `SELECT ${LIMIT.columns('l')} FROM limits l`

export function ask<Args extends readonly unknown[], Answer>(db: Connection, query: Query<Args, Answer>, args: Args) {
  return query.read(db.tuples(query.sql, ...query.values(...args)))
}

function asked<Args extends readonly unknown[], Answer>(query: Query<Args, Answer>) {
  return (db: Connection, ...args: Args): Answer => ask(db, query, args)
}

export const findAccount = asked(queries.findAccount)
export const listAccounts = asked(queries.listAccounts)
export const findKey = asked(queries.findKey)
export const findKeyById = asked(queries.findKeyById)
export const findSession = asked(queries.findSession)
export const findSessionById = asked(queries.findSessionById)
export const listSessions = asked(queries.listSessions)
export const findPortalSession = asked(queries.findPortalSession)
export const findRequest = asked(queries.findRequest)
export const findSubAccount = asked(queries.findSubAccount)
export const findOwner = asked(queries.findOwner)
export const countTokens = asked(queries.countTokens)
export const findRecent = asked(recent.findRecent)
export const listWebhooks = asked(webhooks.listWebhooks)
export const findWebhook = asked(webhooks.findWebhook)
const findWebhookById = asked(webhooks.findWebhookById)
const listWaiting = asked(webhooks.listWaiting)
const countDisabled = asked(webhooks.countDisabled)
const listLagging = asked(webhooks.listLagging)
export const findBulk = asked(bulk.findBulk)
export const findBulkPart = asked(bulk.findBulkPart)
export const listRunningBulk = asked(bulk.listRunningBulk)
export const countRunningBulk = asked(bulk.countRunningBulk)
export const readChainPart = asked(queries.readChainPart)
export const readChainHeads = asked(queries.readChainHeads)
export const readVault = asked(queries.readVault)
export const listRetiredMasterKeys = asked(queries.listRetiredMasterKeys)
export const ping = asked(queries.ping)

function built<Args extends readonly unknown[], Answer>(build: (dialect: Dialect, ...args: Args) => Question<Answer>) {
  return (db: Connection, ...args: Args): Answer => {
    const { sql, values, read } = build(SQLITE, ...args)
    return read(db.tuples(sql, ...values.map(toInput)))
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

export function findSealingKey(db: Connection): string | undefined {
  return db.tuple<[string]>('SELECT key_id FROM vault WHERE seals = 1')?.[0]
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

const OWNER_OF_TOKEN = 'SELECT id, sub_account_id, account_id FROM tokens WHERE id = ?'

/** Of any account: the caller compares. */
export function findOwners(db: Connection, _accountId: string, tokenIds: readonly string[]): TokenOwner[] {
  return tokenIds.flatMap((tokenId) => {
    const found = db.tuple<[string, string, string]>(OWNER_OF_TOKEN, tokenId)
    if (found === undefined) return []
    const [id, subAccountId, accountId] = found
    return [{ id, subAccountId, accountId }]
  })
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

const KNOWN = 'SELECT 1 FROM tokens WHERE digest = ?1 UNION ALL SELECT 1 FROM retired_credentials WHERE digest = ?1'

export function findKnown(db: Connection, _accountId: string, digests: readonly string[]): string[] {
  return digests.filter((digest) => db.tuple(KNOWN, Buffer.from(digest, 'hex')) !== undefined)
}

export function findCandidateRows(db: Connection, tokenId: string): FoundRows | undefined {
  const found = db.tuple(BY_TOKEN, tokenId)
  return found && { ...CANDIDATE.read(found), retired: undefined }
}

const FORMER_OF = `SELECT r.retires_at, v.verifications FROM retired_credentials r
  LEFT JOIN recent_verifications v ON v.token_id = r.token_id WHERE r.token_id = ? AND r.retires_at > ?`

export function findActivity(db: Connection, tokenIds: readonly string[], at: number): Map<string, TokenActivity> {
  const found = new Map<string, TokenActivity>()
  for (const id of tokenIds) {
    const [lastUsedAt = null] = db.tuple<[number]>('SELECT at FROM last_used WHERE token_id = ?', id) ?? []
    const formers = db.tuples<[number, string | null]>(FORMER_OF, id, at)
    if (lastUsedAt !== null || formers.length > 0) found.set(id, recent.toActivity(lastUsedAt, formers))
  }
  return found
}

export function findDelivering(db: Connection, id: string): Delivering | undefined {
  const webhook = findWebhookById(db, id)
  return webhook && { webhook, waiting: listWaiting(db, id) }
}

export function readLagging(db: Connection, limit: number) {
  return { disabled: countDisabled(db), lagging: listLagging(db, limit) }
}

export function findLimits(db: Connection, subjects: readonly string[]): StoredLimit[] {
  return subjects.flatMap((subject) => LIMIT.readAll(db.tuples(`${LIMIT_OF} WHERE l.subject = ?`, subject)))
}
