// New tokens, with their history.
import { Failure } from '../../../tokens/errors.ts'
import { TOKENS } from '../../../tokens/model/tables.ts'
import type { Account, TokenRecord } from '../../../tokens/model/token.ts'
import { requireStorable, tokenCreated } from '../../../tokens/plan.ts'
import type { Origin } from '../../../tokens/record/history.ts'
import { stampOf } from '../../../tokens/trust/stamp.ts'
import type { Connection } from '../postgres-connection.ts'
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
): Promise<void> {
  if (tokens.length === 0) return
  const { db, stamps } = transaction
  const accountIds = tokens.map((token) => token.accountId)
  const [heads, owners] = await Promise.all([lockHeads(transaction, accountIds, origin), findOwners(db, tokens)])
  const created = tokens.map((token): Recorded => {
    const owner = owners.get(token.subAccountId)
    if (owner?.accountId !== token.accountId) throw new Failure('sub-account-forbidden')
    requireStorable(owner, token.sealed)
    return [tokenCreated(token, owner.name), origin]
  })
  const stamped = tokens.map((token) => ({ ...token, stamp: stampOf(TOKENS, token, stamps) }))
  await Promise.all([
    insertRows(db, TOKENS, stamped),
    requireUnretired(db, tokens),
    record(transaction, heads, created),
  ])
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
