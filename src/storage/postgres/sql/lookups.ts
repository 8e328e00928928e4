// Single rows, found by their keys.
import type { StoredKey } from '../../../tokens/model/token.ts'
import type { TokenRow } from '../../../tokens/service/ports.ts'
import type { Stamped } from '../../../tokens/trust/stamp.ts'
import type { FoundRows } from '../../../tokens/trust/verdict.ts'
import { CANDIDATE, CHANGED, LISTED } from '../../columns.ts'
import * as accounts from '../../questions/accounts.ts'
import type { Query } from '../../questions/question.ts'
import type { Connection } from '../postgres-connection.ts'
import { OWNER_OF_T, POSTGRES } from './dialect.ts'

export async function ask<Args extends readonly unknown[], Answer>(
  db: Connection,
  { values, postgresSql, read }: Query<Args, Answer>,
  args: Args,
  lock = '',
): Promise<Answer> {
  return read(await db.tuples(postgresSql + lock, ...values(...args)))
}

export async function findKeyByDigest(db: Connection, digest: Uint8Array): Promise<Stamped<StoredKey> | undefined> {
  const answer = await db.read(accounts.findKeyByDigest.postgresSql, [digest])
  const [fields] = answer.rows
  return fields && db.remembered.keys.get(fields, answer.columns)
}

export async function findToken(db: Connection, accountId: string, id: string): Promise<TokenRow | undefined> {
  const answer = await db.read(
    `SELECT ${LISTED.columns} FROM ${POSTGRES.tokensWithOwners} WHERE t.id = $1 AND t.account_id = $2`,
    [id, accountId],
  )
  const [fields] = answer.rows
  return fields && db.remembered.listed.get(fields, answer.columns)
}

/** With what a change needs: the digest and the stamp. */
export async function findChanged(db: Connection, accountId: string, id: string) {
  const values = await db.tuple(
    `SELECT ${CHANGED.columns} FROM ${POSTGRES.tokensWithOwners} WHERE t.id = $1 AND t.account_id = $2`,
    ...[id, accountId],
  )
  return values && CHANGED.read(values)
}

const BY_DIGEST = `
  SELECT ${CANDIDATE.columns}, NULL::text, NULL::bigint, NULL::bytea FROM ${POSTGRES.tokensWithOwners} WHERE t.digest = $1
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
