// Every change the store makes, as SQL inside the transaction that the writer thread has begun. Each either completes or
// throws, and is then rolled back as a whole.
import { Failure } from '../../../tokens/errors.ts'
import { type Ask, type Reserved, reserve } from '../../../tokens/model/limit.ts'
import {
  ACCOUNT_KEYS,
  ACCOUNTS,
  RETIRED_CREDENTIALS,
  type StoredRow,
  SUB_ACCOUNTS,
  TOKENS,
} from '../../../tokens/model/tables.ts'
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
import type { Origin } from '../../../tokens/record/history.ts'
import { PRECISION_MS } from '../../../tokens/record/uses.ts'
import { type Stamped, stampOf } from '../../../tokens/trust/stamp.ts'
import { keyIdOf } from '../../../tokens/trust/vault.ts'
import { asListed, CHANGED, changedFields } from '../../tables.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { requireAuthority } from './authority.ts'
import { indexedGrams } from './grams.ts'
import { insertion, insertTags } from './insertion.ts'
import { findAccount, findKeyById, findSubAccount, findSubAccountName, TOKENS_WITH_OWNERS } from './reads.ts'
import { requireSealing, sealingKey } from './sealing.ts'
import { update } from './update.ts'

export * from './session-writes.ts'
export * from './webhook-writes.ts'

const insertAccountRow = insertion(ACCOUNTS)
const insertKeyRow = insertion(ACCOUNT_KEYS)
const insertSubAccountRow = insertion(SUB_ACCOUNTS, ['foldedText'])
const insertTokenRow = insertion(TOKENS, ['no', 'foldedName'])
const insertRetired = insertion(RETIRED_CREDENTIALS)

export function insertAccount(transaction: Transaction, account: Account, origin: Origin): void {
  insertAccountRow(transaction.db, account)
  transaction.record(plans.accountCreated(account), origin)
}

export function updateAccount(
  transaction: Transaction,
  id: string,
  change: plans.AccountUpdate,
  origin: Origin,
): Account {
  requireAuthority(transaction.db, origin)
  const before = findAccount(transaction.db, id) as Account
  const plan = plans.planAccountUpdate(before, change)
  if (plan === undefined) return before
  update(transaction.db, 'accounts', changedFields(ACCOUNTS, before, plan.after), 'id', id)
  transaction.record(plan.event, origin)
  return plan.after
}

export function insertKey(transaction: Transaction, key: StoredKey, origin: Origin): void {
  requireAuthority(transaction.db, origin)
  insertKeyRow(transaction.db, { ...key, stamp: stampOf(ACCOUNT_KEYS, key, transaction.stamps) })
  transaction.record(plans.keyCreated(key), origin)
}

export function revokeKey(transaction: Transaction, id: string, origin: Origin): AccountKey {
  const { db, stamps } = transaction
  requireAuthority(db, origin)
  const before = findKeyById(db, id)
  const plan = plans.planKeyRevocation(before, origin, stamps)
  if (plan === undefined || before === undefined) return before as Stamped<StoredKey>
  update(db, 'account_keys', changedFields(ACCOUNT_KEYS, before, plan.after), 'id', id)
  transaction.record(plan.event, origin)
  transaction.note(plan)
  return plan.after
}

export function insertSubAccounts(transaction: Transaction, subAccounts: readonly SubAccount[], origin: Origin): void {
  requireAuthority(transaction.db, origin)
  for (const subAccount of subAccounts) {
    const stamp = stampOf(SUB_ACCOUNTS, subAccount, transaction.stamps)
    insertSubAccountRow(transaction.db, { ...subAccount, stamp, foldedText: foldedText(subAccount) })
    transaction.record(plans.subAccountCreated(subAccount), origin)
  }
}

export function updateSubAccount(
  transaction: Transaction,
  accountId: string,
  id: string,
  change: SubAccountUpdate,
  origin: Origin,
  fingerprints?: readonly string[],
): SubAccountRow {
  const { db, stamps } = transaction
  requireAuthority(db, origin)
  const found = findSubAccount(db, accountId, id)
  const plan = plans.planSubAccountUpdate(found?.subAccount, change, origin, stamps, fingerprints)
  if (plan === undefined || found === undefined) return found as SubAccountRow
  const fields = changedFields(SUB_ACCOUNTS, found.subAccount, plan.after)
  update(db, 'sub_accounts', { ...fields, foldedText: foldedText(plan.after) }, 'id', id)
  transaction.record(plan.event, origin)
  transaction.note(plan)
  return { ...found, subAccount: plan.after }
}

export function insertTokens(transaction: Transaction, tokens: readonly TokenRecord[], origin: Origin): void {
  const { db } = transaction
  requireAuthority(db, origin)
  const nameOwner = makeCheck(db)
  let no = db.get<{ last: number | null }>('SELECT max(no) AS last FROM tokens')?.last ?? 0
  for (const token of tokens) insertToken(transaction, token, nameOwner(token), ++no, origin)
}

/** Returns the name of the token's sub-account, or throws. What all tokens of one call share is looked up once. */
function makeCheck(db: Connection): (token: TokenRecord) => string {
  const owners = new Map<string, { readonly account: Account; readonly name: string }>()
  const sealing = sealingKey(db)
  const anyRetired = db.tuple(`SELECT 1 FROM retired_credentials WHERE digest >= x'' LIMIT 1`) !== undefined
  return ({ accountId, subAccountId, sealed, digest }) => {
    if (keyIdOf(sealed) !== sealing) throw new Failure('master-key-superseded')
    let owner = owners.get(subAccountId)
    if (owner?.account.id !== accountId) {
      const name = findSubAccountName(db, accountId, subAccountId)
      if (name === undefined) throw new Failure('sub-account-forbidden')
      owner = { account: findAccount(db, accountId) as Account, name }
      owners.set(subAccountId, owner)
    }
    plans.requireStorable(owner.account, sealed)
    if (anyRetired && db.tuple('SELECT 1 FROM retired_credentials WHERE digest = ?', digest) !== undefined) {
      throw new Failure('duplicate-credential')
    }
    return owner.name
  }
}

function insertToken(transaction: Transaction, token: TokenRecord, owner: string, no: number, origin: Origin): void {
  const { db, stamps } = transaction
  const foldedName = foldCase(token.name)
  insertTokenRow(db, { ...token, stamp: stampOf(TOKENS, token, stamps), no, foldedName })
  insertTags(db, token)
  const grams = indexedGrams(transaction.accountNumber(token.accountId), foldedName)
  db.run('INSERT INTO token_grams (rowid, grams) VALUES (?, ?)', no, grams)
  transaction.indexed++
  transaction.count(token, 1)
  transaction.record(plans.tokenCreated(token, owner), origin)
}

export function changeToken(
  transaction: Transaction,
  accountId: string,
  id: string,
  change: plans.TokenChange,
  origin: Origin,
  expected?: plans.Expected,
): TokenRow {
  requireAuthority(transaction.db, origin)
  if (change.kind === 'rotate') {
    const { sealed } = change.rotation
    requireSealing(transaction.db, [sealed])
    plans.requireStorable(findAccount(transaction.db, accountId), sealed)
  }
  if (change.kind === 'erase') requireSealing(transaction.db, [change.sealed])
  return applyTokenChange(transaction, accountId, id, change, origin, expected)
}

/** Whatever key a credential is sealed with: one from the journal may be older or newer than the sealing key. */
export function applyTokenChange(
  transaction: Transaction,
  accountId: string,
  id: string,
  change: plans.TokenChange,
  origin: Origin,
  expected?: plans.Expected,
): TokenRow {
  const found = findChanged(transaction.db, accountId, id)
  const plan = plans.planTokenChange(found?.token, change, origin, transaction.stamps, expected)
  if (found === undefined) throw new Failure('token-not-found')
  if (plan === undefined) return asListed(found.token, found.subAccount)
  if (plan.isDeleted) deleteToken(transaction, found)
  else replaceToken(transaction, found, plan)
  transaction.record(plan.event, origin)
  transaction.note(plan)
  return asListed(plan.after, found.subAccount)
}

interface Found {
  readonly no: number
  readonly token: Stamped<TokenRecord>
  readonly subAccount: SubAccount
}

export function findChanged(db: Connection, accountId: string, id: string): Found | undefined {
  const values = db.tuple(
    `SELECT ${CHANGED.columns}, t.no FROM ${TOKENS_WITH_OWNERS} WHERE t.id = ? AND t.account_id = ?`,
    ...[id, accountId],
  )
  return values && { ...CHANGED.read(values), no: values[CHANGED.width] as number }
}

export function updateTokenRow(
  db: Connection,
  { no, token }: Found,
  after: TokenRecord,
  derived: StoredRow = {},
): void {
  update(db, 'tokens', { ...changedFields(TOKENS, token, after), ...derived }, 'no', no)
}

function replaceToken(
  transaction: Transaction,
  found: Found,
  { after, retired, endRetiredUpTo }: plans.TokenPlan,
): void {
  const { db } = transaction
  const { no, token: before } = found
  const isRenamed = after.name !== before.name
  const foldedName = foldCase(after.name)
  updateTokenRow(db, found, after, isRenamed ? { foldedName } : {})
  if (after.status !== before.status) {
    transaction.count(before, -1)
    transaction.count(after, 1)
  }
  if (isRenamed) {
    update(
      db,
      'token_grams',
      { grams: indexedGrams(transaction.accountNumber(after.accountId), foldedName) },
      'rowid',
      no,
    )
    transaction.indexed++
  }
  if (endRetiredUpTo !== undefined) {
    db.run('DELETE FROM retired_credentials WHERE token_id = ? AND retires_at <= ?', after.id, endRetiredUpTo)
  }
  if (retired !== undefined) insertRetired(db, retired)
}

function deleteToken(transaction: Transaction, { no, token }: Found): void {
  transaction.db.run('DELETE FROM token_grams WHERE rowid = ?', no)
  transaction.indexed++
  transaction.db.run('DELETE FROM tokens WHERE no = ?', no)
  transaction.db.run('DELETE FROM limits WHERE subject = ?', token.id)
  transaction.count(token, -1)
}

export function changeMasterKey({ db }: Transaction, { from, to, sealedSecret, at }: MasterKeyChange): void {
  const changed = db.run('UPDATE vault SET seals = 0 WHERE key_id = ? AND seals = 1', from)
  if (changed === 0) throw new Failure('master-key-superseded')
  db.run('INSERT INTO vault (key_id, sealed_secret, created_at) VALUES (?, ?, ?)', to, sealedSecret, at)
}

export function resealTokens({ db }: Transaction, resealed: readonly Resealed[]): number {
  requireSealing(
    db,
    resealed.map(({ after }) => after),
  )
  let changed = 0
  for (const { id, before, after } of resealed) {
    changed += db.run('UPDATE tokens SET sealed = ? WHERE id = ? AND sealed = ?', after, id, before)
  }
  return changed
}

export function retireMasterKey({ db }: Transaction, id: string, at: number): void {
  if (db.run('DELETE FROM vault WHERE key_id = ? AND seals = 0', id) === 0) return
  db.run('INSERT INTO retired_master_keys (key_id, retired_at) VALUES (?, ?)', id, at)
}

/** Needs no history row: what is left of a limit is no change of a token. */
export function reserveUnits({ db }: Transaction, _account: string, ask: Ask): Reserved {
  const before = ask.rows.map(({ subject, limit }) => {
    return (
      db.tuple<[string]>('SELECT state FROM limits WHERE subject = ? AND kind = ?', subject, limit.kind)?.[0] ?? null
    )
  })
  const { reserved, states } = reserve(before, ask, Date.now())
  for (const [n, { subject, limit }] of ask.rows.entries()) {
    const state = states[n]
    if (state === undefined) continue
    const keep = 'INSERT INTO limits VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET state = excluded.state'
    db.run(keep, subject, limit.kind, state)
  }
  return reserved
}

export function markUsed({ db }: Transaction, marks: ReadonlyMap<string, number>): Map<string, number> {
  const recent = new Map<string, number>()
  for (const [id, at] of marks) {
    const [find, write] = id.startsWith('key_') ? KEY_USE : TOKEN_USE
    const [recorded] = db.tuple<[number | null]>(find, id) ?? []
    if (typeof recorded === 'number' && at - recorded < PRECISION_MS) recent.set(id, recorded)
    else db.run(write, at, id)
  }
  return recent
}

const KEY_USE = [
  'SELECT last_used_at FROM account_keys WHERE id = ?',
  'UPDATE account_keys SET last_used_at = ? WHERE id = ?',
] as const
const TOKEN_USE = [
  'SELECT at FROM last_used WHERE token_id = ?',
  `INSERT INTO last_used (at, token_id) SELECT ?, id FROM tokens WHERE id = ?
   ON CONFLICT DO UPDATE SET at = excluded.at`,
] as const

/** Changes nothing. Sent because the writer reconciles store and journal before any change. */
export function probe(_session: Transaction): void {}
