// Every change the store makes, as SQL inside one transaction. A change with a history row locks the history head of its account,
// as its first lock where it changes tokens, so that these changes happen one after the other and cannot deadlock. Statements
// that do not need each other's answers are sent together; they still run in the order in which they are written here.
import { Failure } from '../../../tokens/errors.ts'
import { type Ask, type Reserved, type RowAsk, reserve } from '../../../tokens/model/limit.ts'
import { ACCOUNT_KEYS, ACCOUNTS, RETIRED_CREDENTIALS, SUB_ACCOUNTS, TOKENS } from '../../../tokens/model/tables.ts'
import {
  type Account,
  type AccountKey,
  foldCase,
  foldedText,
  type StoredKey,
  type SubAccount,
  type SubAccountRow,
  type TokenRecord,
} from '../../../tokens/model/token.ts'
import type { SubAccountUpdate } from '../../../tokens/model/update.ts'
import * as plans from '../../../tokens/plan.ts'
import type { MasterKeyChange, Resealed, TokenRow } from '../../../tokens/ports.ts'
import { NO_ROWS, type Origin } from '../../../tokens/record/history.ts'
import { PRECISION_MS } from '../../../tokens/record/uses.ts'
import { stampOf } from '../../../tokens/trust/stamp.ts'
import { asListed, changedFields } from '../../tables.ts'
import type { Connection } from '../connection.ts'
import { readAuthorities } from './authority.ts'
import { binaryArray } from './binary-arrays.ts'
import { indexedGrams } from './grams.ts'
import { lockHeads, lockHeadsOnly, type Recorded, record, type Transaction } from './history.ts'
import { insertRows } from './insertion.ts'
import { findAccount, findChanged, findKeyById, findSubAccount } from './reads.ts'
import { update } from './update.ts'

export * from './session-writes.ts'
export { insertTokens } from './token-insertion.ts'
export * from './webhook-writes.ts'

/** The lock that migration 003 makes everyone share who seals: the letters "latchsea". */
const SEALING_LOCK = '7809651199140128097'

export async function insertAccount(transaction: Transaction, account: Account, origin: Origin): Promise<void> {
  await insertRows(transaction.db, ACCOUNTS, [account])
  const heads = new Map([[account.id, NO_ROWS]])
  await record(transaction, heads, [[plans.accountCreated(account), origin]])
}

export async function updateAccount(
  transaction: Transaction,
  id: string,
  change: plans.AccountUpdate,
  origin: Origin,
): Promise<Account> {
  const { db } = transaction
  const [heads, before] = await Promise.all([lockHeads(transaction, [id], origin), findAccount(db, id)])
  const plan = plans.planAccountUpdate(before, change)
  if (plan === undefined || before === undefined) return before as Account
  const fields = changedFields(ACCOUNTS, before, plan.after)
  await Promise.all([update(db, 'accounts', fields, { id }), record(transaction, heads, [[plan.event, origin]])])
  return plan.after
}

export async function insertKey(transaction: Transaction, key: StoredKey, origin: Origin): Promise<void> {
  const { db, stamps } = transaction
  const heads = await lockHeads(transaction, [key.accountId], origin)
  await insertRows(db, ACCOUNT_KEYS, [{ ...key, stamp: stampOf(ACCOUNT_KEYS, key, stamps) }])
  await record(transaction, heads, [[plans.keyCreated(key), origin]])
}

export async function revokeKey(transaction: Transaction, id: string, origin: Origin): Promise<AccountKey> {
  const { db, stamps } = transaction
  const accountId = (await findKeyById(db, id))?.accountId ?? ''
  const [heads, before] = await Promise.all([lockHeads(transaction, [accountId], origin), findKeyById(db, id)])
  const plan = plans.planKeyRevocation(before, origin, stamps)
  if (plan === undefined || before === undefined) {
    await transaction.raise?.()
    return before as StoredKey
  }
  await Promise.all([
    update(db, 'account_keys', changedFields(ACCOUNT_KEYS, before, plan.after), { id }),
    record(transaction, heads, [[plan.event, origin, plan.revocation]]),
  ])
  return plan.after
}

export async function insertSubAccounts(
  transaction: Transaction,
  subAccounts: readonly SubAccount[],
  origin: Origin,
): Promise<void> {
  if (subAccounts.length === 0) return
  const { db, stamps } = transaction
  const heads = await lockHeads(
    transaction,
    subAccounts.map(({ accountId }) => accountId),
    origin,
  )
  await insertRows(
    db,
    SUB_ACCOUNTS,
    subAccounts.map((each) => ({ ...each, stamp: stampOf(SUB_ACCOUNTS, each, stamps) })),
  )
  await record(
    transaction,
    heads,
    subAccounts.map((each) => [plans.subAccountCreated(each), origin]),
  )
}

export async function updateSubAccount(
  transaction: Transaction,
  accountId: string,
  id: string,
  change: SubAccountUpdate,
  origin: Origin,
  fingerprints?: readonly string[],
): Promise<SubAccountRow> {
  const { db, stamps } = transaction
  const [heads, found] = await Promise.all([
    lockHeads(transaction, [accountId], origin),
    findSubAccount(db, accountId, id),
  ])
  const plan = plans.planSubAccountUpdate(found?.subAccount, change, origin, stamps, fingerprints)
  if (plan === undefined || found === undefined) {
    await transaction.raise?.()
    return found as SubAccountRow
  }
  const fields = changedFields(SUB_ACCOUNTS, found.subAccount, plan.after)
  await Promise.all([
    update(db, 'sub_accounts', { ...fields, foldedText: foldedText(plan.after) }, { id }),
    record(transaction, heads, [[plan.event, origin, plan.revocation]]),
  ])
  return { ...found, subAccount: plan.after }
}

/** One of several changes of an account's tokens. */
export interface AskedChange {
  readonly id: string
  readonly change: plans.TokenChange
  readonly origin: Origin
  readonly expected: plans.Expected
}

/**
 * Of one account, each of another token. One that the rules refuse is answered with its Failure and does not affect the
 * others; what the database refuses undoes them all.
 */
export async function changeTokens(
  transaction: Transaction,
  accountId: string,
  asked: readonly AskedChange[],
): Promise<(TokenRow | Failure)[]> {
  const { db, stamps } = transaction
  const isAnyRotated = asked.some(({ change }) => change.kind === 'rotate')
  const [heads, requireAuthority, account, ...found] = await Promise.all([
    lockHeadsOnly(transaction, [accountId]),
    readAuthorities(
      db,
      asked.map(({ origin }) => origin),
    ),
    isAnyRotated ? findAccount(db, accountId) : undefined,
    ...asked.map(({ id }) => findChanged(db, accountId, id)),
  ])
  const planned: [TokenRecord, plans.TokenPlan][] = []
  const recorded: Recorded[] = []
  const outcomes = asked.map(({ change, origin, expected }, i) =>
    orFailure(() => {
      requireAuthority(origin)
      if (change.kind === 'rotate') plans.requireStorable(account, change.rotation.sealed)
      const plan = plans.planTokenChange(found[i]?.token, change, origin, stamps, expected)
      const { token, subAccount } = found[i] as NonNullable<(typeof found)[number]>
      if (plan === undefined) return asListed(token, subAccount)
      planned.push([token, plan])
      recorded.push([plan.event, origin, plan.revocation])
      return asListed(plan.after, subAccount)
    }),
  )
  const isAnyUnchanged = outcomes.filter((outcome) => !(outcome instanceof Failure)).length > recorded.length
  const writing = planned.flatMap(([token, plan]) => applyPlan(db, token, plan))
  if (recorded.length > 0) writing.push(record(transaction, heads, recorded))
  await Promise.all([...writing, isAnyUnchanged ? transaction.raise?.() : undefined])
  return outcomes
}

function orFailure<Result>(work: () => Result): Result | Failure {
  try {
    return work()
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
}

function applyPlan(db: Connection, before: TokenRecord, plan: plans.TokenPlan): Promise<unknown>[] {
  const { after, isDeleted, retired, endRetiredUpTo } = plan
  const { id, accountId } = after
  if (isDeleted) {
    return [
      db.run('DELETE FROM tokens WHERE account_id = $1 AND id = $2', accountId, id),
      db.run('DELETE FROM limits WHERE subject = $1', id),
    ]
  }
  const writing: Promise<unknown>[] = [update(db, 'tokens', changedFields(TOKENS, before, after), { accountId, id })]
  if (after.name !== before.name) writing.push(renameInSearch(db, after))
  if (endRetiredUpTo !== undefined) {
    const sql = 'DELETE FROM retired_credentials WHERE token_id = $1 AND retires_at <= $2'
    writing.push(db.run(sql, id, endRetiredUpTo))
  }
  if (retired !== undefined) writing.push(insertRows(db, RETIRED_CREDENTIALS, [retired]))
  return writing
}

function renameInSearch(db: Connection, { id, accountId, name }: TokenRecord): Promise<number> {
  const folded = foldCase(name)
  return db.run(
    'UPDATE token_search SET folded_name = $1, grams = ($2::tsvector[])[1] WHERE account_id = $3 AND token_id = $4',
    ...[folded, binaryArray('tsvector', [indexedGrams(accountId, folded)]), accountId, id],
  )
}

/** How long to wait for transactions that seal; others that want to seal wait behind it. */
const MAX_LOCKED = '500ms'

export async function changeMasterKey({ db }: Transaction, change: MasterKeyChange): Promise<void> {
  const { from, to, sealedSecret, at } = change
  await db.run(`SET LOCAL lock_timeout = '${MAX_LOCKED}'`)
  await db.run(`SELECT pg_advisory_xact_lock(${SEALING_LOCK})`)
  const changed = await db.run('UPDATE vault SET seals = false WHERE key_id = $1 AND seals', from)
  if (changed === 0) throw new Failure('master-key-superseded')
  await db.run('INSERT INTO vault (key_id, sealed_secret, created_at) VALUES ($1, $2, $3)', to, sealedSecret, at)
}

export async function resealTokens({ db }: Transaction, resealed: readonly Resealed[]): Promise<number> {
  return db.run(
    `UPDATE tokens t SET sealed = resealed.after
     FROM unnest($1::text[], $2::bytea[], $3::bytea[]) AS resealed (id, before, after)
     WHERE t.id = resealed.id AND t.sealed = resealed.before`,
    resealed.map(({ id }) => id),
    resealed.map(({ before }) => before),
    resealed.map(({ after }) => after),
  )
}

export async function retireMasterKey({ db }: Transaction, id: string, at: number): Promise<void> {
  if ((await db.run('DELETE FROM vault WHERE key_id = $1 AND NOT seals', id)) === 0) return
  await db.run('INSERT INTO retired_master_keys (key_id, retired_at) VALUES ($1, $2)', id, at)
}

/**
 * By the database's clock, which all instances share. The insertion locks the rows, in one order everywhere, and returns those
 * that were there; a state that was never written is empty, and such a row stays only if something was granted.
 */
export async function reserveUnits({ db }: Transaction, _account: string, ask: Ask): Promise<Reserved> {
  const columns = (rows: readonly RowAsk[]) => [rows.map(({ subject }) => subject), rows.map(({ limit }) => limit.kind)]
  const found = await db.tuples(
    `INSERT INTO limits AS l (subject, kind, state)
     SELECT subject, kind, '' FROM unnest($1::text[], $2::text[]) AS ask (subject, kind) ORDER BY subject, kind
     ON CONFLICT (subject, kind) DO UPDATE SET state = l.state
     RETURNING subject, kind, state, (extract(epoch FROM clock_timestamp()) * 1000)::bigint`,
    ...columns(ask.rows),
  )
  const stored = new Map(found.map(([subject, kind, state]) => [`${subject} ${kind}`, state as string]))
  const before = ask.rows.map(({ subject, limit }) => stored.get(`${subject} ${limit.kind}`) || null)
  const now = Math.max(...found.map(([, , , at]) => Number(at)))
  const { reserved, states } = reserve(before, ask, now)
  const changed = ask.rows.filter((_, n) => states[n] !== undefined)
  await db.run(
    `UPDATE limits l SET state = reserved.state
     FROM unnest($1::text[], $2::text[], $3::text[]) AS reserved (subject, kind, state)
     WHERE l.subject = reserved.subject AND l.kind = reserved.kind`,
    ...[...columns(changed), states.filter((state) => state !== undefined)],
  )
  const unused = ask.rows.filter((_, n) => before[n] === null && states[n] === undefined)
  if (unused.length > 0) {
    await db.run(
      `DELETE FROM limits l USING unnest($1::text[], $2::text[]) AS unused (subject, kind)
       WHERE l.subject = unused.subject AND l.kind = unused.kind`,
      ...columns(unused),
    )
  }
  return reserved
}

/**
 * Instances that share the tokens mark the same ones, mostly within a minute of each other: what is on record is read first,
 * which locks nothing. A token is locked only where it was never used, so that it is not deleted meanwhile. Rows are written in
 * one order everywhere, so that no two batches wait for each other.
 */
export async function markUsed({ db }: Transaction, marks: ReadonlyMap<string, number>): Promise<Map<string, number>> {
  const recorded = await db.tuples(
    `SELECT token_id, at FROM last_used WHERE token_id = ANY($1)
     UNION ALL SELECT id, last_used_at FROM account_keys WHERE id = ANY($1) AND last_used_at IS NOT NULL`,
    [...marks.keys()],
  )
  const known = new Map(recorded.map(([id, at]) => [id as string, Number(at)]))
  const recent = new Map([...known].filter(([id, at]) => (marks.get(id) ?? 0) - at < PRECISION_MS))
  const stale = [...marks].filter(([id]) => !recent.has(id)).sort(([one], [other]) => (one < other ? -1 : 1))
  const write = (sql: string, some: typeof stale) =>
    some.length === 0
      ? 0
      : db.run(
          sql,
          some.map(([id]) => id),
          some.map(([, at]) => at),
        )
  const isKey = (id: string) => id.startsWith('key_')
  await Promise.all([
    write(
      UPDATE_USES,
      stale.filter(([id]) => known.has(id) && !isKey(id)),
    ),
    write(
      INSERT_USES,
      stale.filter(([id]) => !known.has(id) && !isKey(id)),
    ),
    write(
      UPDATE_KEY_USES,
      stale.filter(([id]) => isKey(id)),
    ),
  ])
  return recent
}

const MARKS = 'unnest($1::text[], $2::bigint[]) AS mark (id, at)'
const UPDATE_USES = `UPDATE last_used l SET at = mark.at FROM ${MARKS}
  WHERE l.token_id = mark.id AND l.at <= mark.at - ${PRECISION_MS}`
const INSERT_USES = `INSERT INTO last_used AS l (token_id, at)
  SELECT t.id, mark.at FROM ${MARKS} JOIN tokens t ON t.id = mark.id
  FOR KEY SHARE OF t
  ON CONFLICT (token_id) DO UPDATE SET at = excluded.at WHERE l.at <= excluded.at - ${PRECISION_MS}`
const UPDATE_KEY_USES = `UPDATE account_keys k SET last_used_at = mark.at FROM ${MARKS}
  WHERE k.id = mark.id AND (k.last_used_at IS NULL OR k.last_used_at <= mark.at - ${PRECISION_MS})`
