// Single rows, found by their keys. Statements that are used often are written once: each new string would have to be hashed and compared
// again.
import type { ListedToken, SubAccount } from '../../../tokens/model/token.ts'
import type { TokenRow } from '../../../tokens/service/ports.ts'
import type { FoundRows } from '../../../tokens/trust/verdict.ts'
import { CANDIDATE, LISTED, LISTED_TOKEN, OWNER } from '../../columns.ts'
import type { Query } from '../../questions/question.ts'
import type { Connection } from '../sqlite-connection.ts'
import { SQLITE } from './dialect.ts'

export function ask<Args extends readonly unknown[], Answer>(db: Connection, query: Query<Args, Answer>, args: Args) {
  return query.read(db.tuples(query.sql, ...query.values(...args)))
}

const LISTED_WITH_OWNER = `SELECT ${LISTED.columns} FROM ${SQLITE.tokensWithOwners} WHERE t.id = ? AND t.account_id = ?`

export function findToken(db: Connection, accountId: string, id: string): TokenRow | undefined {
  const values = db.tuple(LISTED_WITH_OWNER, id, accountId)
  return values && LISTED.read(values)
}

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

/** Undefined where the sub-account is not the account's. */
export function findSubAccountName(db: Connection, accountId: string, id: string): string | undefined {
  return db.tuple<[string]>('SELECT name FROM sub_accounts WHERE id = ? AND account_id = ?', id, accountId)?.[0]
}

export function findSealingKey(db: Connection): string | undefined {
  return db.tuple<[string]>('SELECT key_id FROM vault WHERE seals = 1')?.[0]
}

const BY_DIGEST = `SELECT ${CANDIDATE.columns} FROM ${SQLITE.tokensWithOwners} WHERE t.digest = ?`
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
