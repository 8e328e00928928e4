// New tokens, with their history.
import { Failure } from '../../../tokens/errors.ts'
import { IDEMPOTENCY_KEYS, TOKENS } from '../../../tokens/model/tables.ts'
import type { Account, TokenRecord } from '../../../tokens/model/token.ts'
import { FORGOTTEN_AT_ONCE, IDEMPOTENCY_MEMORY_MS } from '../../../tokens/model/update.ts'
import { requireStorable, tokenCreated } from '../../../tokens/plan.ts'
import type { FormerRequest, Idempotency } from '../../../tokens/ports.ts'
import type { Origin } from '../../../tokens/record/history.ts'
import { stampOf } from '../../../tokens/trust/stamp.ts'
import type { Connection } from '../connection.ts'
import { binaryArray } from './binary-arrays.ts'
import { lockHeads, type Recorded, record, type Transaction } from './history.ts'
import { insertRows } from './insertion.ts'

interface Owner {
  readonly accountId: string
  readonly name: string
  readonly credentials: Account['credentials']
}

/** All or none. Refuses a token whose sub-account is not its account's. */
export async function insertTokens(
  transaction: Transaction,
  tokens: readonly TokenRecord[],
  origin: Origin,
  idempotency?: Idempotency,
): Promise<FormerRequest | undefined> {
  const [first] = tokens
  if (first === undefined) return undefined
  const { db, stamps } = transaction
  const { accountId, id: subject } = first
  const { by, at: createdAt } = origin
  const accountIds = tokens.map((token) => token.accountId)
  const [heads, owners, former] = await Promise.all([
    lockHeads(transaction, accountIds, origin),
    findOwners(db, tokens),
    idempotency && findFormer(db, accountId, idempotency, origin),
  ])
  if (former !== undefined) return former
  const created = tokens.map((token): Recorded => {
    const owner = owners.get(token.subAccountId)
    if (owner?.accountId !== token.accountId) throw new Failure('sub-account-forbidden')
    requireStorable(owner, token.sealed)
    return [tokenCreated(token, owner.name), origin]
  })
  const keys = idempotency === undefined ? [] : [{ ...idempotency, accountId, by, subject, createdAt }]
  const stamped = tokens.map((token) => ({ ...token, stamp: stampOf(TOKENS, token, stamps) }))
  await Promise.all([
    insertRows(db, TOKENS, stamped),
    requireUnretired(db, tokens),
    record(transaction, heads, created),
    insertRows(db, IDEMPOTENCY_KEYS, keys),
  ])
  return undefined
}

/** The sub-accounts of the tokens. */
async function findOwners(db: Connection, tokens: readonly TokenRecord[]): Promise<ReadonlyMap<string, Owner>> {
  const found = await db.all<Owner & { id: string }>(
    `SELECT id, account_id AS "accountId", name, (SELECT credentials FROM accounts WHERE id = s.account_id) AS credentials
     FROM sub_accounts s WHERE id = ANY($1::text[])`,
    [...new Set(tokens.map(({ subAccountId }) => subAccountId))],
  )
  return new Map(found.map(({ id, ...owner }) => [id, owner]))
}

/** After the insertion, which waits for a concurrent rotation of the same credential. */
async function requireUnretired(db: Connection, tokens: readonly TokenRecord[]): Promise<void> {
  const digests = binaryArray(
    'bytes',
    tokens.map(({ digest }) => digest),
  )
  const retired = await db.get('SELECT FROM retired_credentials WHERE digest = ANY($1::bytea[]) LIMIT 1', digests)
  if (retired !== undefined) throw new Failure('duplicate-credential')
}

async function findFormer(
  db: Connection,
  accountId: string,
  { key }: Idempotency,
  { at, by }: Origin,
): Promise<FormerRequest | undefined> {
  const oldest = at - IDEMPOTENCY_MEMORY_MS
  const [former] = await Promise.all([
    db.get<FormerRequest>(
      `SELECT request_digest AS "requestDigest", subject, created_at AS "createdAt" FROM idempotency_keys
       WHERE account_id = $1 AND by = $2 AND key = $3`,
      ...[accountId, by, key],
    ),
    // Only this account's: those of others may be locked by their own transactions. A few at a time: there may be a million.
    db.run(
      `DELETE FROM idempotency_keys WHERE ctid = ANY(ARRAY(
         SELECT ctid FROM idempotency_keys WHERE account_id = $1 AND created_at < $2
         ORDER BY created_at LIMIT ${FORGOTTEN_AT_ONCE}
       ) || ARRAY(SELECT ctid FROM idempotency_keys WHERE account_id = $1 AND by = $3 AND key = $4 AND created_at < $2))`,
      ...[accountId, oldest, by, key],
    ),
  ])
  return former !== undefined && former.createdAt >= oldest ? former : undefined
}
