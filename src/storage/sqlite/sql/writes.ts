// Every change the store makes, as plain SQL inside the transaction that the writer thread has opened. Each either
// completes or throws, and is then rolled back as a whole.
import { Failure } from '../../../tokens/errors.ts'
import {
  type Account,
  type AccountKey,
  foldCase,
  foldedText,
  type Status,
  type SubAccount,
  type SubAccountRow,
} from '../../../tokens/model/token.ts'
import {
  applyRotation,
  applySubAccountUpdate,
  applyUpdate,
  IDEMPOTENCY_MEMORY_MS,
  type Rotation,
  type SubAccountChange,
  type TokenChange,
} from '../../../tokens/model/update.ts'
import { difference, historyEvent, type Origin } from '../../../tokens/record/history.ts'
import type { Expected, Idempotency, MasterKeyChange, Resealed, StoredKey } from '../../../tokens/store.ts'
import { restamp, restampSubAccount, stampOf } from '../../../tokens/trust/stamp.ts'
import { keyIdOf } from '../../../tokens/trust/vault.ts'
import { KEY_COLUMNS, type KeyColumns, toKey } from '../../rows.ts'
import type { Connection } from '../connection.ts'
import type { Session } from '../session.ts'
import { type NewRow, type PackedRow, type PackedTokens, pack, toOwner, unpackNew } from '../threads/packed.ts'
import { indexedGrams, indexedWords } from './grams.ts'
import { findAccount, findSubAccount, findSubAccountName } from './reads.ts'

export function insertAccount(session: Session, account: Account, origin: Origin): void {
  const { db } = session
  db.run('INSERT INTO accounts (id, name, created_at) VALUES (?, ?, ?)', account.id, account.name, account.createdAt)
  const to = { name: account.name }
  session.record(historyEvent(account.id, 'account.create', account, {}, to), origin)
}

export function renameAccount(session: Session, id: string, name: string, origin: Origin): Account {
  const before = findAccount(session.db, id)
  if (before === undefined) throw new Failure('account-not-found')
  if (before.name === name) return before
  session.db.run('UPDATE accounts SET name = ? WHERE id = ?', name, id)
  session.record(historyEvent(id, 'account.rename', { id, name }, { name: before.name }, { name }), origin)
  return { ...before, name }
}

export function insertKey(session: Session, key: StoredKey, origin: Origin): void {
  const { db, stamps } = session
  db.run(
    `INSERT INTO account_keys (id, account_id, name, digest, created_at, expires_at, revoked_at, stamp)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[key.id, key.accountId, key.name, key.digest, key.createdAt, key.expiresAt, key.revokedAt],
    stampOf('key', key, stamps),
  )
  const to = { name: key.name, expiresAt: key.expiresAt }
  session.record(historyEvent(key.accountId, 'key.create', key, {}, to), origin)
}

export function revokeKey(session: Session, id: string, origin: Origin): AccountKey {
  const { db, stamps } = session
  const row = db.get<KeyColumns>(`SELECT ${KEY_COLUMNS} FROM account_keys WHERE id = ?`, id)
  if (row === undefined) throw new Failure('key-not-found')
  const before = toKey(row)
  if (before.revokedAt !== null) return before
  const key = { ...before, revokedAt: origin.at }
  db.run('UPDATE account_keys SET revoked_at = ?, stamp = ? WHERE id = ?', origin.at, stampOf('key', key, stamps), id)
  const { from, to } = difference(before, key, ['revokedAt'])
  session.record(historyEvent(key.accountId, 'key.revoke', key, from, to), origin)
  session.revocations.push({ kind: 'key-off', id, at: origin.at })
  return key
}

export function insertSubAccounts(session: Session, subAccounts: readonly SubAccount[], origin: Origin): void {
  const { db, stamps } = session
  for (const subAccount of subAccounts) {
    const { id, accountId, name, email, companyName, createdAt, suspendedAt } = subAccount
    db.run(
      `INSERT INTO sub_accounts
         (id, account_id, name, email, company_name, folded_text, created_at, suspended_at, stamp)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[id, accountId, name, email, companyName, foldedText(subAccount), createdAt, suspendedAt],
      stampOf('sub-account', subAccount, stamps),
    )
    session.record(historyEvent(accountId, 'sub-account.create', subAccount, {}, { name, email, companyName }), origin)
  }
}

export function updateSubAccount(
  session: Session,
  accountId: string,
  id: string,
  change: SubAccountChange,
  origin: Origin,
): SubAccountRow {
  const { db, stamps } = session
  const found = findSubAccount(db, accountId, id)
  if (found === undefined) throw new Failure('sub-account-forbidden')
  const before = found.subAccount
  const after = applySubAccountUpdate(before, change, origin.at)
  if (after === before) return found
  const stamp = restampSubAccount(before, after, change, stamps)
  db.run(
    `UPDATE sub_accounts SET name = ?, email = ?, company_name = ?, folded_text = ?, suspended_at = ?, stamp = ?
     WHERE id = ?`,
    ...[after.name, after.email, after.companyName, foldedText(after), after.suspendedAt, stamp, id],
  )
  const { from, to } = difference(before, after, ['name', 'email', 'companyName', 'suspendedAt'])
  session.record(historyEvent(accountId, 'sub-account.update', after, from, to), origin)
  if (after.suspendedAt !== before.suspendedAt) {
    if (after.suspendedAt === null) session.givenBack.set(id, origin.at)
    else session.revocations.push({ kind: 'sub-account-off', id, at: origin.at })
  }
  return { ...found, subAccount: after }
}

export function insertTokens(
  session: Session,
  tokens: PackedTokens,
  origin: Origin,
  idempotency?: Idempotency,
): readonly string[] {
  const { db } = session
  const first = unpackNew(tokens).next().value as NewRow | undefined
  if (first === undefined) return []
  const former = idempotency && findIdempotent(db, first.accountId, idempotency, origin)
  if (former !== undefined) return [former]
  const checked = makeCheck(db)
  let no = db.get<{ last: number | null }>('SELECT max(no) AS last FROM tokens')?.last ?? 0
  const ids: string[] = []
  for (const token of unpackNew(tokens)) {
    insertToken(session, token, checked(token), ++no, origin)
    ids.push(token.id)
  }
  if (idempotency !== undefined) {
    db.run(
      'INSERT INTO idempotency_keys (account_id, key, request_digest, token_id, created_at) VALUES (?, ?, ?, ?, ?)',
      ...[first.accountId, idempotency.key, idempotency.requestDigest, first.id, origin.at],
    )
  }
  return ids
}

/** Returns the name of the token's sub-account. What is the same for all the tokens of one call is looked up once. */
function makeCheck(db: Connection): (token: NewRow) => string {
  const owners = new Map<string, { readonly accountId: string; readonly name: string }>()
  const sealing = sealingKey(db)
  const anyRetired = db.tuple(`SELECT 1 FROM retired_credentials WHERE digest >= x'' LIMIT 1`) !== undefined
  return ({ accountId, subAccountId, sealed, digest }) => {
    if (keyIdOf(sealed) !== sealing) throw new Failure('master-key-superseded')
    let owner = owners.get(subAccountId)
    if (owner?.accountId !== accountId) {
      const name = findSubAccountName(db, accountId, subAccountId)
      if (name === undefined) throw new Failure('sub-account-forbidden')
      owner = { accountId, name }
      owners.set(subAccountId, owner)
    }
    if (anyRetired && db.tuple('SELECT 1 FROM retired_credentials WHERE digest = ?', digest) !== undefined) {
      throw new Failure('duplicate-credential')
    }
    return owner.name
  }
}

function insertToken(session: Session, token: NewRow, subAccountName: string, no: number, origin: Origin): void {
  const { db } = session
  const { id, accountId, subAccountId, name, foldedName, status, createdAt, expiresAt, version } = token
  db.run(
    `INSERT INTO tokens (no, id, account_id, sub_account_id, name, folded_name, status, created_at, expires_at, version,
       digest, sealed, stamp) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[no, id, accountId, subAccountId, name, foldedName, status, createdAt, expiresAt, version],
    ...[token.digest, token.sealed, token.stamp],
  )
  const grams = indexedWords(session.accountNumber(accountId), token.gramWords)
  db.run('INSERT INTO token_grams (rowid, grams) VALUES (?, ?)', no, grams)
  session.indexed++
  session.count(token, 1)
  const to = { name, status, expiresAt, subAccountId, subAccountName }
  session.record(historyEvent(accountId, 'token.create', token, {}, to), origin)
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
): PackedRow {
  const { db, stamps } = session
  const { no, token: before, subAccount } = getToken(db, accountId, id, expected)
  const after = applyUpdate(before, change)
  if (after === before) return pack({ token: before, subAccount })
  const stamp = restamp('token', before, after, stamps)
  // Apart, because SQLite writes every index anew whose columns are named, changed or not.
  if (after.status !== before.status) {
    const { status, version } = after
    db.run('UPDATE tokens SET status = ?, version = ?, stamp = ? WHERE no = ?', status, version, stamp, no)
    session.count(before, -1)
    session.count(after, 1)
  }
  if (after.name !== before.name) {
    const folded = foldCase(after.name)
    db.run(
      'UPDATE tokens SET name = ?, folded_name = ?, version = ?, stamp = ? WHERE no = ?',
      ...[after.name, folded, after.version, stamp, no],
    )
    const grams = indexedGrams(session.accountNumber(accountId), folded)
    db.run('UPDATE token_grams SET grams = ? WHERE rowid = ?', grams, no)
    session.indexed++
  }
  const { from, to } = difference(before, after, ['name', 'status'])
  session.record(historyEvent(accountId, 'token.update', after, from, to), origin)
  if (after.status !== before.status) {
    if (after.status === 'active') session.givenBack.set(id, origin.at)
    else session.revocations.push({ kind: 'token-off', id, at: origin.at, version: after.version })
  }
  return pack({ token: after, subAccount })
}

export function rotateToken(
  session: Session,
  accountId: string,
  id: string,
  rotation: Rotation,
  origin: Origin,
  expected?: Expected,
): PackedRow {
  requireSealing(session.db, [rotation.sealed])
  return replaceCredential(session, accountId, id, rotation, origin, expected)
}

/** Whatever key the new one is sealed with: one from the journal may be older or newer than the key that seals. */
export function replaceCredential(
  session: Session,
  accountId: string,
  id: string,
  rotation: Rotation,
  origin: Origin,
  expected?: Expected,
): PackedRow {
  const { db, stamps } = session
  const { no, token: before, subAccount } = getToken(db, accountId, id, expected)
  const { after, retired, outlived, facts } = applyRotation(before, rotation, origin.at)
  const { sealed, digest } = rotation
  db.run(
    'UPDATE tokens SET sealed = ?, digest = ?, version = ?, stamp = ? WHERE no = ?',
    ...[sealed, digest, after.version, restamp('token', before, after, stamps), no],
  )
  db.run('DELETE FROM retired_credentials WHERE token_id = ? AND retires_at <= ?', id, outlived)
  if (retired !== undefined) {
    db.run(
      'INSERT INTO retired_credentials (digest, token_id, retires_at, stamp) VALUES (?, ?, ?, ?)',
      ...[retired.digest, id, retired.retiresAt, stampOf('retired', retired, stamps)],
    )
  }
  session.record(historyEvent(accountId, 'token.rotate', after, {}, facts), origin)
  session.revocations.push({
    kind: 'token-rotated',
    id,
    at: origin.at,
    version: after.version,
    digest: Buffer.from(digest).toString('base64'),
    sealed: Buffer.from(sealed).toString('base64'),
    formerUntil: rotation.formerUntil,
  })
  return pack({ token: after, subAccount })
}

export function deleteToken(
  session: Session,
  accountId: string,
  id: string,
  origin: Origin,
  expected?: Expected,
): PackedRow {
  const { db } = session
  const { no, token, subAccount } = getToken(db, accountId, id, expected)
  db.run('DELETE FROM token_grams WHERE rowid = ?', no)
  session.indexed++
  db.run('DELETE FROM tokens WHERE no = ?', no)
  session.count(token, -1)
  const { name, status } = token
  session.record(historyEvent(accountId, 'token.delete', token, { name, status }, {}), origin)
  session.revocations.push({ kind: 'token-gone', id, at: origin.at, version: token.version + 1 })
  return pack({ token, subAccount })
}

type Found = readonly [
  ...[no: number, subAccountId: string, name: string, status: Status, createdAt: number, expiresAt: number | null],
  ...[version: number, digest: Uint8Array, sealed: Uint8Array, stamp: Uint8Array],
  ...[ownerName: string, email: string, companyName: string, ownerSince: number, suspendedAt: number | null],
]

export function getToken(db: Connection, accountId: string, id: string, expected: Expected) {
  const found = db.tuple<Found>(
    `SELECT t.no, t.sub_account_id, t.name, t.status, t.created_at, t.expires_at, t.version, t.digest, t.sealed,
       t.stamp, s.name, s.email, s.company_name, s.created_at, s.suspended_at
     FROM tokens t CROSS JOIN sub_accounts s ON s.id = t.sub_account_id WHERE t.id = ? AND t.account_id = ?`,
    ...[id, accountId],
  )
  if (found === undefined) throw new Failure('token-not-found')
  const [no, subAccountId, name, status, createdAt, expiresAt, version, digest, sealed, stamp, ...owner] = found
  if (expected?.versions.includes(version) === false) throw new Failure('version-mismatch')
  return {
    no,
    token: { id, accountId, subAccountId, name, status, createdAt, expiresAt, version, digest, sealed, stamp },
    subAccount: toOwner(accountId, [subAccountId, ...owner]),
  }
}

/** Writers of this file come one after the other: what holds here holds until the commit. */
function sealingKey(db: Connection): string | undefined {
  return db.get<{ key_id: string }>('SELECT key_id FROM vault WHERE seals = 1')?.key_id
}

function requireSealing(db: Connection, sealed: readonly Uint8Array[]): void {
  const sealing = sealingKey(db)
  if (sealed.some((each) => keyIdOf(each) !== sealing)) throw new Failure('master-key-superseded')
}

export function changeMasterKey({ db }: Session, { from, to, sealedSecret, at }: MasterKeyChange): void {
  const changed = db.run('UPDATE vault SET seals = 0 WHERE key_id = ? AND seals = 1', from)
  if (changed === 0) throw new Failure('master-key-superseded')
  db.run('INSERT INTO vault (key_id, sealed_secret, created_at) VALUES (?, ?, ?)', to, sealedSecret, at)
}

export function resealTokens({ db }: Session, resealed: readonly Resealed[]): number {
  requireSealing(
    db,
    resealed.map(({ after }) => after),
  )
  let changed = 0
  for (const { id, before, after } of resealed) {
    changed += db.run('UPDATE tokens SET sealed = ? WHERE id = ? AND sealed = ?', after, id, before)
  }
  explain(db)
  return changed
}

export function retireMasterKey({ db }: Session, id: string, at: number): void {
  if (db.run('DELETE FROM vault WHERE key_id = ? AND seals = 0', id) === 0) return
  db.run('INSERT INTO retired_master_keys (key_id, retired_at) VALUES (?, ?)', id, at)
}

export function markUsed({ db }: Session, marks: ReadonlyMap<string, number>): void {
  for (const [tokenId, at] of marks) {
    // Nearly every token that is used was used before: half the cost of looking first whether there is such a token.
    if (db.run('UPDATE last_used SET at = max(at, ?) WHERE token_id = ?', at, tokenId) > 0) continue
    db.run('INSERT INTO last_used (token_id, at) SELECT id, ? FROM tokens WHERE id = ?', at, tokenId)
  }
  explain(db)
}

/** Changes nothing: what the writer does before any change, bringing store and journal into step, is all that is wanted. */
export function probe(_session: Session): void {}

/** For a commit that writes no history, since it changes nothing of what anybody is told. */
export function explain(db: Connection): void {
  db.run('UPDATE use_flushes SET n = n + 1 WHERE id = 1')
}

/** Pages: some three milliseconds, for which whoever comes next has to wait. */
const MERGED_AT_ONCE = 16
/** What one name adds is merged several times on its way into the largest piece. */
const MERGED_PER_NAME = 1 / 25

/** Merging that keeps pace with the names of this transaction. */
export function mergeAlong({ db, indexed }: Session): void {
  if (indexed > 0) mergeSearch(db, MERGED_AT_ONCE + Math.ceil(indexed * MERGED_PER_NAME))
}

/**
 * Does what can wait for a moment of rest; true when there is more to do. `whole` begins to make one piece of all, and later
 * calls go on with it.
 */
export function tidySearch({ db }: Session, whole: boolean): boolean {
  // To FTS5 a negative number of pages means all pieces, whatever their sizes.
  const merged = mergeSearch(db, whole ? -MERGED_AT_ONCE : MERGED_AT_ONCE)
  if (merged) explain(db)
  return merged
}

/**
 * Every commit that names something adds a piece to the search index, and a search goes through all of them, and through
 * what each has struck out.
 */
function mergeSearch(db: Connection, pages: number): boolean {
  const before = totalChanges(db)
  db.run("INSERT INTO token_grams (token_grams, rank) VALUES ('merge', ?)", pages)
  // One change is the statement itself.
  return totalChanges(db) - before > 1
}

function totalChanges(db: Connection): number {
  return db.tuple<[number]>('SELECT total_changes()')?.[0] ?? 0
}
