// Every change the store makes, as plain SQL inside the transaction that the writer thread has opened. Each either
// completes or throws, and is then rolled back as a whole.
import { Failure } from '../../tokens/errors.ts'
import {
  chainStamp,
  difference,
  type HistoryEvent,
  headStamp,
  historyEvent,
  type Origin,
} from '../../tokens/history.ts'
import { restamp, stampOf } from '../../tokens/stamp.ts'
import type { Expected, Idempotency, Rotation, StoredKey, TokenRow } from '../../tokens/store.ts'
import type { SubAccountRow } from '../../tokens/token.ts'
import { type Account, type AccountKey, foldCase, type SubAccount, type TokenRecord } from '../../tokens/token.ts'
import { applySubAccountUpdate, applyUpdate, type SubAccountChange, type TokenChange } from '../../tokens/update.ts'
import type { Stamps } from '../../tokens/vault.ts'
import { type KeyColumns, type StampedTokenRow, toKey } from '../rows.ts'
import type { Connection } from './connection.ts'
import { indexedGrams } from './grams.ts'
import { findStampedToken, findSubAccount, ownsSubAccount } from './reads.ts'

export interface Session {
  readonly db: Connection
  readonly stamps: Stamps
}

const IDEMPOTENCY_MEMORY_MS = 24 * 60 * 60 * 1000

export function insertAccount({ db, stamps }: Session, account: Account, origin: Origin): void {
  db.run('INSERT INTO accounts (id, name, created_at) VALUES (?, ?, ?)', account.id, account.name, account.createdAt)
  const to = { name: account.name }
  record({ db, stamps }, [historyEvent(account.id, 'account.create', account.id, {}, to)], origin)
}

export function insertKey({ db, stamps }: Session, key: StoredKey, origin: Origin): void {
  db.run(
    `INSERT INTO account_keys (id, account_id, name, digest, created_at, expires_at, revoked_at, stamp)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[key.id, key.accountId, key.name, key.digest, key.createdAt, key.expiresAt, key.revokedAt],
    stampOf('key', key, stamps),
  )
  const to = { name: key.name, expiresAt: key.expiresAt }
  record({ db, stamps }, [historyEvent(key.accountId, 'key.create', key.id, {}, to)], origin)
}

export function revokeKey({ db, stamps }: Session, id: string, origin: Origin): AccountKey {
  const row = db.get<KeyColumns>('SELECT * FROM account_keys WHERE id = ?', id)
  if (row === undefined) throw new Failure('key-not-found')
  const before = toKey(row)
  if (before.revokedAt !== null) return before
  const key = { ...before, revokedAt: origin.at }
  db.run('UPDATE account_keys SET revoked_at = ?, stamp = ? WHERE id = ?', origin.at, stampOf('key', key, stamps), id)
  const { from, to } = difference(before, key, ['revokedAt'])
  record({ db, stamps }, [historyEvent(key.accountId, 'key.revoke', id, from, to)], origin)
  return key
}

export function insertSubAccounts({ db, stamps }: Session, subAccounts: readonly SubAccount[], origin: Origin): void {
  for (const subAccount of subAccounts) {
    const { id, accountId, name, email, companyName, createdAt, suspendedAt } = subAccount
    db.run(
      `INSERT INTO sub_accounts
         (id, account_id, name, email, company_name, folded_text, created_at, suspended_at, stamp)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[id, accountId, name, email, companyName, foldedText(subAccount), createdAt, suspendedAt],
      stampOf('sub-account', subAccount, stamps),
    )
  }
  const events = subAccounts.map(({ id, accountId, name, email, companyName }) =>
    historyEvent(accountId, 'sub-account.create', id, {}, { name, email, companyName }),
  )
  record({ db, stamps }, events, origin)
}

export function updateSubAccount(
  { db, stamps }: Session,
  accountId: string,
  id: string,
  change: SubAccountChange,
  origin: Origin,
): SubAccountRow {
  const found = findSubAccount(db, accountId, id)
  if (found === undefined) throw new Failure('sub-account-forbidden')
  const before = found.subAccount
  const after = applySubAccountUpdate(before, change, origin.at)
  if (after === before) return found
  // Suspension is all that decides here: an owner who names it says what holds, whatever was there before.
  const named = change.status !== undefined
  const stamp = named ? stampOf('sub-account', after, stamps) : restamp('sub-account', before, after, stamps)
  db.run(
    `UPDATE sub_accounts SET name = ?, email = ?, company_name = ?, folded_text = ?, suspended_at = ?, stamp = ?
     WHERE id = ?`,
    ...[after.name, after.email, after.companyName, foldedText(after), after.suspendedAt, stamp, id],
  )
  const { from, to } = difference(before, after, ['name', 'email', 'companyName', 'suspendedAt'])
  record({ db, stamps }, [historyEvent(accountId, 'sub-account.update', id, from, to)], origin)
  return { ...found, subAccount: after }
}

export function foldedText({ name, email, companyName }: SubAccount): string {
  return foldCase([name, email, companyName].join('\n'))
}

export function insertTokens(
  session: Session,
  tokens: readonly TokenRecord[],
  origin: Origin,
  idempotency?: Idempotency,
): readonly string[] {
  const { db } = session
  const [first] = tokens
  if (first === undefined) return []
  const former = idempotency && findIdempotent(db, first.accountId, idempotency, origin)
  if (former !== undefined) return [former]
  let no = db.get<{ last: number | null }>('SELECT max(no) AS last FROM tokens')?.last ?? 0
  for (const token of tokens) insertToken(session, token, ++no)
  recount(db, tokens, 1)
  const events = tokens.map(({ id, accountId, subAccountId, name, status, expiresAt }) =>
    historyEvent(accountId, 'token.create', id, {}, { name, status, expiresAt, subAccountId }, id),
  )
  record(session, events, origin)
  if (idempotency !== undefined) {
    db.run(
      'INSERT INTO idempotency_keys (account_id, key, request_digest, token_id, created_at) VALUES (?, ?, ?, ?, ?)',
      ...[first.accountId, idempotency.key, idempotency.requestDigest, first.id, origin.at],
    )
  }
  return tokens.map(({ id }) => id)
}

function insertToken({ db, stamps }: Session, token: TokenRecord, no: number): void {
  const { id, accountId, subAccountId, name, status, createdAt, expiresAt, version, digest, sealed } = token
  if (db.get('SELECT 1 FROM retired_credentials WHERE digest = ?', digest) !== undefined) {
    throw new Failure('duplicate-credential')
  }
  if (!ownsSubAccount(db, accountId, subAccountId)) throw new Failure('sub-account-forbidden')
  const folded = foldCase(name)
  db.run(
    `INSERT INTO tokens (no, id, account_id, sub_account_id, name, folded_name, status, created_at, expires_at, version,
       digest, sealed, stamp) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[no, id, accountId, subAccountId, name, folded, status, createdAt, expiresAt, version, digest, sealed],
    stampOf('token', token, stamps),
  )
  const grams = indexedGrams(accountNumber(db, accountId), folded)
  db.run('INSERT INTO token_grams (rowid, grams) VALUES (?, ?)', no, grams)
}

/** Counts tokens in or out, in each scope and status once however many they are. */
function recount(db: Connection, tokens: readonly TokenRecord[], by: 1 | -1): void {
  const changes = new Map<string, { scope: string; status: string; by: number }>()
  for (const { accountId, subAccountId, status } of tokens) {
    for (const scope of [accountId, subAccountId]) {
      const change = changes.get(scope + status) ?? { scope, status, by: 0 }
      change.by += by
      changes.set(scope + status, change)
    }
  }
  for (const { scope, status, by: count } of changes.values()) {
    db.run(
      `INSERT INTO token_counts (scope, status, count) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET count = count + excluded.count`,
      ...[scope, status, count],
    )
  }
}

function findIdempotent(db: Connection, accountId: string, asked: Idempotency, origin: Origin): string | undefined {
  db.run('DELETE FROM idempotency_keys WHERE created_at < ?', origin.at - IDEMPOTENCY_MEMORY_MS)
  const former = db.get<{ request_digest: string; token_id: string }>(
    'SELECT request_digest, token_id FROM idempotency_keys WHERE account_id = ? AND key = ?',
    accountId,
    asked.key,
  )
  if (former !== undefined && former.request_digest !== asked.requestDigest) throw new Failure('idempotency-conflict')
  return former?.token_id
}

export function updateToken(
  session: Session,
  accountId: string,
  id: string,
  change: TokenChange,
  origin: Origin,
  expected?: Expected,
): TokenRow {
  const { db, stamps } = session
  const row = getToken(db, accountId, id, expected)
  const before = row.token
  const after = applyUpdate(before, change)
  if (after === before) return row
  db.run(
    'UPDATE tokens SET name = ?, folded_name = ?, status = ?, version = ?, stamp = ? WHERE id = ?',
    ...[after.name, foldCase(after.name), after.status, after.version, restamp('token', before, after, stamps), id],
  )
  if (after.status !== before.status) {
    recount(db, [before], -1)
    recount(db, [after], 1)
  }
  if (after.name !== before.name) {
    const grams = indexedGrams(accountNumber(db, accountId), foldCase(after.name))
    db.run('UPDATE token_grams SET grams = ? WHERE rowid = (SELECT no FROM tokens WHERE id = ?)', grams, id)
  }
  const { from, to } = difference(before, after, ['name', 'status'])
  record(session, [historyEvent(accountId, 'token.update', id, from, to, id)], origin)
  return { ...row, token: after }
}

export function rotateToken(
  session: Session,
  accountId: string,
  id: string,
  rotation: Rotation,
  origin: Origin,
): TokenRow {
  const { db, stamps } = session
  const row = getToken(db, accountId, id, undefined)
  const before = row.token
  const { sealed, digest, formerUntil } = rotation
  const after = { ...before, sealed, digest, version: before.version + 1 }
  db.run(
    'UPDATE tokens SET sealed = ?, digest = ?, version = ?, stamp = ? WHERE id = ?',
    ...[sealed, digest, after.version, restamp('token', before, after, stamps), id],
  )
  // Without an overlap every former credential dies now, those of earlier rotations too: leaks end here.
  const outlived = formerUntil > origin.at ? origin.at : Number.MAX_SAFE_INTEGER
  db.run('DELETE FROM retired_credentials WHERE token_id = ? AND retires_at <= ?', id, outlived)
  if (formerUntil > origin.at) {
    const retired = { digest: before.digest, tokenId: id, retiresAt: formerUntil }
    db.run(
      'INSERT INTO retired_credentials (digest, token_id, retires_at, stamp) VALUES (?, ?, ?, ?)',
      ...[retired.digest, id, formerUntil, stampOf('retired', retired, stamps)],
    )
  }
  const to = { formerCredentialUntil: formerUntil > origin.at ? formerUntil : null }
  record(session, [historyEvent(accountId, 'token.rotate', id, {}, to, id)], origin)
  return { ...row, token: after }
}

export function deleteToken(
  session: Session,
  accountId: string,
  id: string,
  origin: Origin,
  expected?: Expected,
): TokenRow {
  const { db } = session
  const row = getToken(db, accountId, id, expected)
  db.run('DELETE FROM token_grams WHERE rowid = (SELECT no FROM tokens WHERE id = ?)', id)
  db.run('DELETE FROM tokens WHERE id = ?', id)
  recount(db, [row.token], -1)
  const { name, status } = row.token
  record(session, [historyEvent(accountId, 'token.delete', id, { name, status }, {}, id)], origin)
  return row
}

function getToken(db: Connection, accountId: string, id: string, expected: Expected): StampedTokenRow {
  const row = findStampedToken(db, accountId, id)
  if (row === undefined) throw new Failure('token-not-found')
  if (expected?.versions.includes(row.token.version) === false) throw new Failure('version-mismatch')
  return row
}

export function markUsed({ db }: Session, marks: ReadonlyMap<string, number>): void {
  for (const [tokenId, at] of marks) {
    db.run(
      `INSERT INTO last_used (token_id, at) SELECT id, ?2 FROM tokens WHERE id = ?1
       ON CONFLICT DO UPDATE SET at = max(at, excluded.at)`,
      ...[tokenId, at],
    )
  }
  db.run('UPDATE use_flushes SET n = n + 1 WHERE id = 1')
}

export function accountNumber(db: Connection, accountId: string): number {
  const account = db.get<{ no: number }>('SELECT no FROM accounts WHERE id = ?', accountId)
  if (account === undefined) throw new Failure('account-not-found')
  return account.no
}

/** Appends to the chains; the head of each account is read and written once however many events there are. */
function record({ db, stamps }: Session, events: readonly HistoryEvent[], origin: Origin): void {
  const heads = new Map<string, { seq: number; last: Uint8Array }>()
  for (const each of events) {
    const head = heads.get(each.accountId) ?? readHead(db, each.accountId)
    const row = { ...each, ...origin, seq: head.seq + 1 }
    const stamp = chainStamp(row, head.last, stamps)
    db.run(
      `INSERT INTO history (account_id, seq, at, by, action, subject, token_id, from_facts, to_facts, request_id,
         address, stamp) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[row.accountId, row.seq, row.at, row.by, row.action, row.subject, row.tokenId],
      ...[JSON.stringify(row.from), JSON.stringify(row.to), row.requestId, row.address, stamp],
    )
    heads.set(each.accountId, { seq: row.seq, last: stamp })
  }
  for (const [accountId, { seq, last }] of heads) {
    db.run(
      'INSERT OR REPLACE INTO history_heads (account_id, seq, last, stamp) VALUES (?, ?, ?, ?)',
      ...[accountId, seq, last, headStamp(accountId, seq, last, stamps)],
    )
  }
}

function readHead(db: Connection, accountId: string): { seq: number; last: Uint8Array } {
  const head = db.get<{ seq: number; last: Uint8Array }>(
    'SELECT seq, last FROM history_heads WHERE account_id = ?',
    accountId,
  )
  return head ?? { seq: 0, last: new Uint8Array() }
}
