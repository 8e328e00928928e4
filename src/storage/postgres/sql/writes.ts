// Every change the store makes, as plain SQL inside one transaction. Each locks its account's history head, first where it
// changes tokens, so that these are changed one after the other and cannot wait for each other in a circle. Statements
// that do not need each other's answers are sent together; they still run in the order in which they stand here.
import { Failure } from '../../../tokens/errors.ts'
import {
  type Account,
  type AccountKey,
  foldCase,
  foldedText,
  type SubAccount,
  type SubAccountRow,
  type TokenRecord,
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
import { difference, type HistoryEvent, historyEvent, type Origin } from '../../../tokens/record/history.ts'
import type { Expected, Idempotency, MasterKeyChange, Resealed, StoredKey, TokenRow } from '../../../tokens/store.ts'
import { restamp, restampSubAccount, stampOf } from '../../../tokens/trust/stamp.ts'
import { asListed, KEY_COLUMNS, type KeyColumns, type StampedTokenRow, toKey } from '../../rows.ts'
import { indexedGrams } from './grams.ts'
import { type Heads, lockHeads, record, recordAll, type Session } from './history.ts'
import { findAccount, findStampedToken, findSubAccount } from './reads.ts'

/** Names the lock that migration 003 has everybody share who seals: the letters "latchsea". */
const SEALING_LOCK = '7809651199140128097'

export async function insertAccount({ db, stamps }: Session, account: Account, origin: Origin): Promise<void> {
  const { id, name, createdAt } = account
  await db.run('INSERT INTO accounts (id, name, created_at) VALUES ($1, $2, $3)', ...[id, name, createdAt])
  const heads = new Map([[id, { seq: 0, last: new Uint8Array() }]])
  await record({ db, stamps }, heads, [historyEvent(id, 'account.create', account, {}, { name })], origin)
}

export async function renameAccount(session: Session, id: string, name: string, origin: Origin): Promise<Account> {
  const { db } = session
  const [heads, before] = await Promise.all([lockHeads(db, [id]), findAccount(db, id)])
  if (before === undefined) throw new Failure('account-not-found')
  if (before.name === name) return before
  await Promise.all([
    db.run('UPDATE accounts SET name = $1 WHERE id = $2', name, id),
    record(session, heads, [historyEvent(id, 'account.rename', { id, name }, { name: before.name }, { name })], origin),
  ])
  return { ...before, name }
}

export async function insertKey({ db, stamps }: Session, key: StoredKey, origin: Origin): Promise<void> {
  const heads = await lockHeads(db, [key.accountId])
  await db.run(
    `INSERT INTO account_keys (id, account_id, name, digest, created_at, expires_at, revoked_at, stamp)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    ...[key.id, key.accountId, key.name, key.digest, key.createdAt, key.expiresAt, key.revokedAt],
    stampOf('key', key, stamps),
  )
  const to = { name: key.name, expiresAt: key.expiresAt }
  await record({ db, stamps }, heads, [historyEvent(key.accountId, 'key.create', key, {}, to)], origin)
}

export async function revokeKey({ db, stamps }: Session, id: string, origin: Origin): Promise<AccountKey> {
  const row = await db.get<KeyColumns>(`SELECT ${KEY_COLUMNS} FROM account_keys WHERE id = $1 FOR UPDATE`, id)
  if (row === undefined) throw new Failure('key-not-found')
  const before = toKey(row)
  if (before.revokedAt !== null) return before
  const heads = await lockHeads(db, [before.accountId])
  const key = { ...before, revokedAt: origin.at }
  await db.run(
    'UPDATE account_keys SET revoked_at = $1, stamp = $2 WHERE id = $3',
    ...[origin.at, stampOf('key', key, stamps), id],
  )
  const { from, to } = difference(before, key, ['revokedAt'])
  await record({ db, stamps }, heads, [historyEvent(key.accountId, 'key.revoke', key, from, to)], origin)
  return key
}

export async function insertSubAccounts(
  session: Session,
  subAccounts: readonly SubAccount[],
  origin: Origin,
): Promise<void> {
  if (subAccounts.length === 0) return
  const { db, stamps } = session
  const heads = await lockHeads(
    db,
    subAccounts.map(({ accountId }) => accountId),
  )
  await db.run(
    `INSERT INTO sub_accounts
       (id, account_id, name, email, company_name, folded_text, created_at, suspended_at, stamp)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[],
       $8::bigint[], $9::bytea[])`,
    subAccounts.map(({ id }) => id),
    subAccounts.map(({ accountId }) => accountId),
    subAccounts.map(({ name }) => name),
    subAccounts.map(({ email }) => email),
    subAccounts.map(({ companyName }) => companyName),
    subAccounts.map(foldedText),
    subAccounts.map(({ createdAt }) => createdAt),
    subAccounts.map(({ suspendedAt }) => suspendedAt),
    subAccounts.map((subAccount) => stampOf('sub-account', subAccount, stamps)),
  )
  const events = subAccounts.map(({ id, accountId, name, email, companyName }) =>
    historyEvent(accountId, 'sub-account.create', { id, name }, {}, { name, email, companyName }),
  )
  await record(session, heads, events, origin)
}

export async function updateSubAccount(
  { db, stamps }: Session,
  accountId: string,
  id: string,
  change: SubAccountChange,
  origin: Origin,
): Promise<SubAccountRow> {
  const [heads, found] = await Promise.all([lockHeads(db, [accountId]), findSubAccount(db, accountId, id)])
  if (found === undefined) throw new Failure('sub-account-forbidden')
  const before = found.subAccount
  const after = applySubAccountUpdate(before, change, origin.at)
  if (after === before) return found
  const stamp = restampSubAccount(before, after, change, stamps)
  const { from, to } = difference(before, after, ['name', 'email', 'companyName', 'suspendedAt'])
  await Promise.all([
    db.run(
      `UPDATE sub_accounts SET name = $1, email = $2, company_name = $3, folded_text = $4, suspended_at = $5, stamp = $6
       WHERE id = $7`,
      ...[after.name, after.email, after.companyName, foldedText(after), after.suspendedAt, stamp, id],
    ),
    record({ db, stamps }, heads, [historyEvent(accountId, 'sub-account.update', after, from, to)], origin),
  ])
  return { ...found, subAccount: after }
}

export async function insertTokens(
  session: Session,
  tokens: readonly TokenRecord[],
  origin: Origin,
  idempotency?: Idempotency,
): Promise<readonly string[]> {
  const [first] = tokens
  if (first === undefined) return []
  const { db } = session
  const heads = await lockHeads(
    db,
    tokens.map(({ accountId }) => accountId),
  )
  const former = idempotency && (await findIdempotent(session, first.accountId, idempotency, origin))
  if (former !== undefined) return [former]
  const owners = await findOwners(session, tokens)
  await insertTokenRows(session, tokens)
  await requireUnretired(session, tokens)
  const events = tokens.map(({ id, accountId, subAccountId, name, status, expiresAt }) =>
    historyEvent(
      accountId,
      'token.create',
      { id, name },
      {},
      { name, status, expiresAt, subAccountId, subAccountName: owners.get(subAccountId) ?? null },
    ),
  )
  await record(session, heads, events, origin)
  if (idempotency !== undefined) {
    await db.run(
      'INSERT INTO idempotency_keys (account_id, key, request_digest, token_id, created_at) VALUES ($1, $2, $3, $4, $5)',
      ...[first.accountId, idempotency.key, idempotency.requestDigest, first.id, origin.at],
    )
  }
  return tokens.map(({ id }) => id)
}

async function insertTokenRows({ db, stamps }: Session, tokens: readonly TokenRecord[]): Promise<void> {
  const columns = [
    tokens.map(({ id }) => id),
    tokens.map(({ accountId }) => accountId),
    tokens.map(({ subAccountId }) => subAccountId),
    tokens.map(({ status }) => status),
  ]
  await db.run(
    `INSERT INTO tokens
       (id, account_id, sub_account_id, status, name, created_at, expires_at, version, digest, sealed, stamp)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
       $8::bigint[], $9::bytea[], $10::bytea[], $11::bytea[])`,
    ...columns,
    tokens.map(({ name }) => name),
    tokens.map(({ createdAt }) => createdAt),
    tokens.map(({ expiresAt }) => expiresAt),
    tokens.map(({ version }) => version),
    tokens.map(({ digest }) => digest),
    tokens.map(({ sealed }) => sealed),
    tokens.map((token) => stampOf('token', token, stamps)),
  )
  await db.run(
    `INSERT INTO token_search (token_id, account_id, sub_account_id, status, folded_name, grams)
     SELECT id, account_id, sub_account_id, status, folded_name, grams::tsvector
     FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
       AS added (id, account_id, sub_account_id, status, folded_name, grams)`,
    ...columns,
    tokens.map(({ name }) => foldCase(name)),
    tokens.map(({ accountId, name }) => indexedGrams(accountId, foldCase(name))),
  )
}

/** The names of the tokens' sub-accounts. Refuses a token whose sub-account is not its account's. */
async function findOwners({ db }: Session, tokens: readonly TokenRecord[]): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(tokens.map(({ subAccountId }) => subAccountId))]
  const found = await db.all<{ id: string; account_id: string; name: string }>(
    'SELECT id, account_id, name FROM sub_accounts WHERE id = ANY($1::text[])',
    ids,
  )
  const owners = new Map(found.map((owner) => [owner.id, owner]))
  for (const { accountId, subAccountId } of tokens) {
    if (owners.get(subAccountId)?.account_id !== accountId) throw new Failure('sub-account-forbidden')
  }
  return new Map(found.map(({ id, name }) => [id, name]))
}

/** Asked after the insertion, which waits for a rotation of the same credential that is under way elsewhere. */
async function requireUnretired({ db }: Session, tokens: readonly TokenRecord[]): Promise<void> {
  const retired = await db.get(
    'SELECT FROM retired_credentials WHERE digest = ANY($1::bytea[]) LIMIT 1',
    tokens.map(({ digest }) => digest),
  )
  if (retired !== undefined) throw new Failure('duplicate-credential')
}

async function findIdempotent(
  { db }: Session,
  accountId: string,
  asked: Idempotency,
  origin: Origin,
): Promise<string | undefined> {
  const former = await db.get<{ request_digest: string; token_id: string; created_at: number }>(
    'SELECT request_digest, token_id, created_at FROM idempotency_keys WHERE account_id = $1 AND key = $2',
    ...[accountId, asked.key],
  )
  const oldest = origin.at - IDEMPOTENCY_MEMORY_MS
  // Other accounts' old keys may be locked by somebody else who forgets them; each account forgets its own.
  await db.run('DELETE FROM idempotency_keys WHERE account_id = $1 AND created_at < $2', accountId, oldest)
  if (former === undefined || former.created_at < oldest) return undefined
  if (former.request_digest !== asked.requestDigest) throw new Failure('idempotency-conflict')
  return former.token_id
}

export interface TokenUpdate {
  readonly id: string
  readonly change: TokenChange
  readonly origin: Origin
  readonly expected: Expected
}

/**
 * Of one account, each of another token. One that the rules refuse is answered with its Failure and hinders no other; what
 * the database refuses undoes them all.
 */
export async function updateTokens(
  session: Session,
  accountId: string,
  updates: readonly TokenUpdate[],
): Promise<(TokenRow | Failure)[]> {
  const { db, stamps } = session
  const [heads, ...found] = await Promise.all([
    lockHeads(db, [accountId]),
    ...updates.map(({ id }) => findStampedToken(db, accountId, id)),
  ])
  const writing: Promise<unknown>[] = []
  const events: (HistoryEvent & Origin)[] = []
  const outcomes = updates.map(({ id, change, origin, expected }, i) => {
    const row = requireExpected(found[i], expected)
    if (row instanceof Failure) return row
    const before = row.token
    const after = applyUpdate(before, change)
    if (after === before) return asListed(row)
    writing.push(
      db.run(
        'UPDATE tokens SET name = $1, status = $2, version = $3, stamp = $4 WHERE id = $5',
        ...[after.name, after.status, after.version, restamp('token', before, after, stamps), id],
      ),
    )
    if (after.name !== before.name) writing.push(renameInSearch(session, after))
    const { from, to } = difference(before, after, ['name', 'status'])
    events.push({ ...historyEvent(accountId, 'token.update', after, from, to), ...origin })
    return asListed({ ...row, token: after })
  })
  if (events.length > 0) await Promise.all([...writing, recordAll(session, heads, events)])
  return outcomes
}

function renameInSearch({ db }: Session, { id, accountId, name }: TokenRecord): Promise<number> {
  const folded = foldCase(name)
  return db.run(
    'UPDATE token_search SET folded_name = $1, grams = $2::tsvector WHERE token_id = $3',
    ...[folded, indexedGrams(accountId, folded), id],
  )
}

export async function rotateToken(
  session: Session,
  accountId: string,
  id: string,
  rotation: Rotation,
  origin: Origin,
  expected?: Expected,
): Promise<TokenRow> {
  const { db, stamps } = session
  const [heads, row] = await lockToken(session, accountId, id, expected)
  const before = row.token
  const { after, retired, outlived, facts } = applyRotation(before, rotation, origin.at)
  await Promise.all([
    db.run(
      'UPDATE tokens SET sealed = $1, digest = $2, version = $3, stamp = $4 WHERE id = $5',
      ...[after.sealed, after.digest, after.version, restamp('token', before, after, stamps), id],
    ),
    db.run('DELETE FROM retired_credentials WHERE token_id = $1 AND retires_at <= $2', id, outlived),
    retired &&
      db.run(
        'INSERT INTO retired_credentials (digest, token_id, retires_at, stamp) VALUES ($1, $2, $3, $4)',
        ...[retired.digest, id, retired.retiresAt, stampOf('retired', retired, stamps)],
      ),
    record(session, heads, [historyEvent(accountId, 'token.rotate', after, {}, facts)], origin),
  ])
  return asListed({ ...row, token: after })
}

export async function deleteToken(
  session: Session,
  accountId: string,
  id: string,
  origin: Origin,
  expected?: Expected,
): Promise<TokenRow> {
  const [heads, row] = await lockToken(session, accountId, id, expected)
  const { name, status } = row.token
  await Promise.all([
    session.db.run('DELETE FROM tokens WHERE id = $1', id),
    record(session, heads, [historyEvent(accountId, 'token.delete', row.token, { name, status }, {})], origin),
  ])
  return asListed(row)
}

/** The token is read once its account is locked: no change can come between. */
async function lockToken(
  { db }: Session,
  accountId: string,
  id: string,
  expected: Expected,
): Promise<[Heads, StampedTokenRow]> {
  const [heads, found] = await Promise.all([lockHeads(db, [accountId]), findStampedToken(db, accountId, id)])
  const row = requireExpected(found, expected)
  if (row instanceof Failure) throw row
  return [heads, row]
}

function requireExpected(row: StampedTokenRow | undefined, expected: Expected): StampedTokenRow | Failure {
  if (row === undefined) return new Failure('token-not-found')
  return expected?.versions.includes(row.token.version) === false ? new Failure('version-mismatch') : row
}

/** Waits for those who are sealing, and holds up those who want to, for no longer than this. */
const MAX_LOCKED = '500ms'

export async function changeMasterKey({ db }: Session, change: MasterKeyChange): Promise<void> {
  const { from, to, sealedSecret, at } = change
  await db.run(`SET LOCAL lock_timeout = '${MAX_LOCKED}'`)
  await db.run(`SELECT pg_advisory_xact_lock(${SEALING_LOCK})`)
  const changed = await db.run('UPDATE vault SET seals = false WHERE key_id = $1 AND seals', from)
  if (changed === 0) throw new Failure('master-key-superseded')
  await db.run('INSERT INTO vault (key_id, sealed_secret, created_at) VALUES ($1, $2, $3)', to, sealedSecret, at)
}

export async function resealTokens({ db }: Session, resealed: readonly Resealed[]): Promise<number> {
  return db.run(
    `UPDATE tokens t SET sealed = anew.after
     FROM unnest($1::text[], $2::bytea[], $3::bytea[]) AS anew (id, before, after)
     WHERE t.id = anew.id AND t.sealed = anew.before`,
    resealed.map(({ id }) => id),
    resealed.map(({ before }) => before),
    resealed.map(({ after }) => after),
  )
}

export async function retireMasterKey({ db }: Session, id: string, at: number): Promise<void> {
  if ((await db.run('DELETE FROM vault WHERE key_id = $1 AND NOT seals', id)) === 0) return
  await db.run('INSERT INTO retired_master_keys (key_id, retired_at) VALUES ($1, $2)', id, at)
}

/** Locks the tokens first, in one order everywhere, so that none is deleted and no two batches wait for each other. */
export async function markUsed({ db }: Session, marks: ReadonlyMap<string, number>): Promise<void> {
  await db.run(
    `INSERT INTO last_used AS l (token_id, at)
     SELECT t.id, mark.at FROM unnest($1::text[], $2::bigint[]) AS mark (id, at) JOIN tokens t ON t.id = mark.id
     ORDER BY t.id FOR KEY SHARE OF t
     ON CONFLICT (token_id) DO UPDATE SET at = greatest(l.at, excluded.at)`,
    [...marks.keys()],
    [...marks.values()],
  )
}
