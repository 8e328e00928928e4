// New tokens, with their history. Stamps, chains and the columns of the statements can be made before the accounts are locked, by
// what their chains and sub-accounts are expected to be then; what has changed meanwhile is made again.
import { isDeepStrictEqual } from 'node:util'
import { Failure } from '../../../tokens/errors.ts'
import { HISTORY, IDEMPOTENCY_KEYS, TOKENS } from '../../../tokens/model/tables.ts'
import type { Account, TokenRecord } from '../../../tokens/model/token.ts'
import { FORGOTTEN_AT_ONCE, IDEMPOTENCY_MEMORY_MS } from '../../../tokens/model/update.ts'
import { requireStorable, tokenCreated } from '../../../tokens/plan.ts'
import type { FormerRequest, Idempotency } from '../../../tokens/ports.ts'
import type { ChainEnd, Origin } from '../../../tokens/record/history.ts'
import { stampOf } from '../../../tokens/trust/stamp.ts'
import type { Stamps } from '../../../tokens/trust/vault.ts'
import type { Connection } from '../connection.ts'
import { readAuthorities } from './authority.ts'
import { binaryArray } from './binary-arrays.ts'
import { continueChains, findHeads, type Heads, type Transaction, writeHeads } from './history.ts'
import { type Insertion, insertionsOf, insertRows, runInsertions } from './insertion.ts'

/** Tokens to insert, and who asked for them. */
export interface NewTokens {
  readonly tokens: readonly TokenRecord[]
  readonly origin: Origin
}

interface Owner {
  readonly accountId: string
  readonly name: string
  readonly credentials: Account['credentials']
}

/** What the history of new tokens depends on: the ends of their accounts' chains, and their sub-accounts. */
interface Surroundings {
  readonly heads: Heads
  readonly owners: ReadonlyMap<string, Owner>
}

export interface Prepared {
  readonly surroundings: Surroundings
  readonly insertions: readonly Insertion[]
  readonly digests: Uint8Array
  /** Of the chains, after these tokens. */
  readonly ends: ReadonlyMap<string, ChainEnd>
}

/** Refuses a token whose sub-account is not its account's. */
export function prepare(stamps: Stamps, { tokens, origin }: NewTokens, surroundings: Surroundings): Prepared {
  const { heads, owners } = surroundings
  const stamped = tokens.map((token) => ({ ...token, stamp: stampOf(TOKENS, token, stamps) }))
  const events = tokens.map((token) => {
    const owner = owners.get(token.subAccountId)
    if (owner?.accountId !== token.accountId) throw new Failure('sub-account-forbidden')
    requireStorable(owner, token.sealed)
    return [tokenCreated(token, owner.name), origin] as const
  })
  const { rows, ends } = continueChains(stamps, heads, events)
  return {
    surroundings,
    insertions: [...insertionsOf(TOKENS, stamped), ...insertionsOf(HISTORY, rows)],
    digests: binaryArray(
      'bytes',
      tokens.map(({ digest }) => digest),
    ),
    ends,
  }
}

function holds({ heads, owners }: Surroundings, now: Surroundings): boolean {
  for (const [id, head] of heads) if (!sameEnd(head, now.heads.get(id))) return false
  for (const [id, owner] of owners) if (!isDeepStrictEqual(owner, now.owners.get(id))) return false
  return true
}

function sameEnd({ seq, last }: ChainEnd, other: ChainEnd | undefined): boolean {
  return other?.seq === seq && Buffer.compare(other.last, last) === 0
}

/** What the surroundings of these tokens are now. */
export async function readSurroundings(
  transaction: Transaction,
  tokens: readonly TokenRecord[],
  lock: 'FOR UPDATE' | '' = '',
): Promise<Surroundings> {
  const accountIds = tokens.map(({ accountId }) => accountId)
  const [heads, owners] = await Promise.all([
    findHeads(transaction, accountIds, lock),
    findOwners(transaction.db, tokens),
  ])
  return { heads, owners }
}

/** All or none; what `prepared` has for a list is used if its surroundings are as expected. */
export async function insertLists(
  transaction: Transaction,
  lists: readonly NewTokens[],
  prepared: readonly (Prepared | undefined)[],
): Promise<void> {
  const [tokens, origins] = [lists.flatMap((list) => list.tokens), lists.map(({ origin }) => origin)]
  const [surroundings, requireAuthority] = await Promise.all([
    readSurroundings(transaction, tokens, 'FOR UPDATE'),
    readAuthorities(transaction.db, origins),
  ])
  origins.forEach(requireAuthority)
  await writeAll(transaction, lists, prepared, surroundings)
}

/** Sends nothing before all lists are ready: one of them may be refused. */
async function writeAll(
  transaction: Transaction,
  lists: readonly NewTokens[],
  prepared: readonly (Prepared | undefined)[],
  { heads, owners }: Surroundings,
): Promise<void> {
  const { db, stamps } = transaction
  const ends = new Map<string, ChainEnd>()
  const ready = lists.map((list, n) => {
    const now = { heads: new Map([...heads, ...ends]), owners }
    const expected = prepared[n]
    const each = expected !== undefined && holds(expected.surroundings, now) ? expected : prepare(stamps, list, now)
    for (const [accountId, end] of each.ends) ends.set(accountId, end)
    return each
  })
  await Promise.all([
    ...ready.flatMap(({ insertions, digests }) => [runInsertions(db, insertions), requireUnretired(db, digests)]),
    writeHeads(transaction, heads, ends),
  ])
}

export async function insertTokens(
  transaction: Transaction,
  tokens: readonly TokenRecord[],
  origin: Origin,
  idempotency?: Idempotency,
): Promise<FormerRequest | undefined> {
  const [first] = tokens
  if (first === undefined) return undefined
  const { db } = transaction
  const { accountId, id: subject } = first
  const { by, at: createdAt } = origin
  const [surroundings, requireAuthority, former] = await Promise.all([
    readSurroundings(transaction, tokens, 'FOR UPDATE'),
    readAuthorities(db, [origin]),
    idempotency && findFormer(db, accountId, idempotency, origin),
  ])
  requireAuthority(origin)
  if (former !== undefined) return former
  const keys = idempotency === undefined ? [] : [{ ...idempotency, accountId, by, subject, createdAt }]
  await Promise.all([
    writeAll(transaction, [{ tokens, origin }], [], surroundings),
    insertRows(db, IDEMPOTENCY_KEYS, keys),
  ])
  return undefined
}

/** The sub-accounts of the tokens. */
async function findOwners(db: Connection, tokens: readonly TokenRecord[]): Promise<Surroundings['owners']> {
  const found = await db.all<Owner & { id: string }>(
    `SELECT id, account_id AS "accountId", name, (SELECT credentials FROM accounts WHERE id = s.account_id) AS credentials
     FROM sub_accounts s WHERE id = ANY($1::text[])`,
    [...new Set(tokens.map(({ subAccountId }) => subAccountId))],
  )
  return new Map(found.map(({ id, ...owner }) => [id, owner]))
}

/** After the insertion, which waits for a concurrent rotation of the same credential. */
async function requireUnretired(db: Connection, digests: Uint8Array): Promise<void> {
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
