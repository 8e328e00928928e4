// The result of a change, computed once for both engines: the row after it, its stamp, the history row and the entry of the
// revocation journal. Pure. An engine loads the rows a plan starts from, writes what it says in one transaction, and commits.

import type { Action } from '../history/actions.ts'
import { addedFacts, difference, type HistoryEvent, historyEvent, type Origin } from '../history/history.ts'
import { Failure } from '../model/errors.ts'
import { ACCOUNT_KEYS, ACCOUNTS, RETIRED_CREDENTIALS, SESSIONS, SUB_ACCOUNTS, TOKENS } from '../model/tables.ts'
import type {
  Account,
  AccountKey,
  ExpiringToken,
  RetiredCredential,
  StoredKey,
  SubAccount,
  Timestamp,
  TokenRecord,
} from '../model/token.ts'
import {
  applyRotation,
  applySubAccountUpdate,
  applyUpdate,
  fingerprintOf,
  type Rotation,
  STALE_SUB_ACCOUNT,
  type SubAccountUpdate,
  type TokenUpdate,
} from '../model/update.ts'
import { isDue, type StoredSession } from '../people/session.ts'
import { type PortalSession, usesOf } from '../portal/session.ts'
import type { Revocation } from '../trust/revocations.ts'
import { isDecisive, isGenuine, restamp, type Stamped, stampOf } from '../trust/stamp.ts'
import { holdsText, type Stamps } from '../trust/vault.ts'

/** A change that only goes ahead while the token is at one of these versions, and belongs to one of these sub-accounts. */
export type Expected = { readonly versions?: readonly number[]; readonly subAccounts?: readonly string[] } | undefined

export type TokenChange =
  | { readonly kind: 'update'; readonly update: TokenUpdate }
  | { readonly kind: 'rotate'; readonly rotation: Rotation }
  | { readonly kind: 'delete' }
  /** The credential still works, but can no longer be shown. `sealed` is a sealed empty text. */
  | { readonly kind: 'erase'; readonly sealed: Uint8Array; readonly masked: string | null }
  /** Changes nothing of the token: the history says who has seen its credential. */
  | { readonly kind: 'reveal' }

export interface Plan<Row> {
  readonly before: Row
  readonly after: Row
  /** Undefined for an order of what is there already. */
  readonly event: HistoryEvent | undefined
  /** Whether verification may decide otherwise after it. */
  readonly decides: boolean
  /** What the change takes away, and what it switches on again. */
  readonly journal: readonly Revocation[]
}

export interface TokenPlan extends Plan<Stamped<TokenRecord>> {
  readonly isDeleted: boolean
  /** The former credential of a rotation, where it goes on working for a while. */
  readonly retired: Stamped<RetiredCredential> | undefined
  /** Former credentials that retire up to this time stop working now. */
  readonly endRetiredUpTo: Timestamp | undefined
}

/** If the account stores no credentials any more: refused like a superseded master key, so that the caller seals again. */
export function requireStorable(account: Pick<Account, 'credentials'> | undefined, sealed: Uint8Array): void {
  if (account?.credentials === 'once' && holdsText(sealed)) throw new Failure('master-key-superseded')
}

/** In the portal no token is made that would work by itself once the sub-account is let go on. */
export function requireOpen({ suspendedAt }: Pick<SubAccount, 'suspendedAt'>, { authority }: Origin): void {
  if (authority?.kind !== 'portal' || suspendedAt === null) return
  throw new Failure('not-allowed', 'This session is not allowed to create tokens while the sub-account is suspended')
}

/** Undefined for a change that changes nothing. */
export function planTokenChange(
  before: Stamped<TokenRecord> | undefined,
  change: TokenChange,
  origin: Origin,
  stamps: Stamps,
  expected?: Expected,
): TokenPlan | undefined {
  const isSeen = before !== undefined && expected?.subAccounts?.includes(before.subAccountId) !== false
  if (!isSeen) throw new Failure('token-not-found')
  if (expected?.versions?.includes(before.version) === false) throw new Failure('version-mismatch')
  switch (change.kind) {
    case 'update':
      return planUpdate(before, change.update, origin, stamps)
    case 'rotate':
      return planRotation(before, change.rotation, origin, stamps)
    case 'delete':
      return planDeletion(before, origin)
    case 'erase': {
      const { version, accountId } = before
      const changed = { ...before, sealed: change.sealed, masked: change.masked, version: version + 1 }
      const after = restamp(TOKENS, before, changed, stamps)
      return { ...NOTHING_ELSE, before, after, event: historyEvent(accountId, 'token.erase', after, {}, {}) }
    }
    case 'reveal':
      return {
        ...NOTHING_ELSE,
        before,
        after: before,
        event: historyEvent(before.accountId, 'token.reveal', before, {}, {}),
      }
  }
}

const NOTHING_ELSE = {
  isDeleted: false,
  decides: false,
  journal: [],
  retired: undefined,
  endRetiredUpTo: undefined,
}

function planUpdate(before: Stamped<TokenRecord>, update: TokenUpdate, origin: Origin, stamps: Stamps) {
  const changed = applyUpdate<TokenRecord>(before, update)
  if (changed === before) return update.status === 'inactive' ? planOffAgain(before, origin, stamps) : undefined
  const after = restamp(TOKENS, before, changed, stamps)
  const { from, to } = difference(TOKENS, before, after)
  const { id, version, status } = after
  const journal = revocationsBy(before, after, origin.at)
  if (status !== before.status && status === 'active') journal.push({ kind: 'token-on', id, at: origin.at, version })
  return {
    ...NOTHING_ELSE,
    before,
    after,
    event: historyEvent(after.accountId, 'token.update', after, from, to),
    decides: isDecisive(TOKENS, before, after),
    journal,
  }
}

/**
 * A token that is off is ordered to be off: a decision all the same. Its version says so, so that no undoing of what was ordered
 * before switches it on.
 */
function planOffAgain(before: Stamped<TokenRecord>, { at }: Origin, stamps: Stamps): TokenPlan {
  const version = before.version + 1
  const after = restamp(TOKENS, before, { ...before, version }, stamps)
  return {
    ...NOTHING_ELSE,
    before,
    after,
    event: undefined,
    journal: [{ kind: 'token-off', id: before.id, at, version }],
  }
}

function revocationsBy(before: TokenRecord, after: TokenRecord, at: Timestamp): Revocation[] {
  const { id, version, status, expiresAt } = after
  const isOff = status !== before.status && status === 'inactive'
  const isEarlier = expiresAt !== null && expiresAt < (before.expiresAt ?? Number.POSITIVE_INFINITY)
  if (!isOff && !isEarlier) return []
  return [{ kind: isOff ? 'token-off' : 'token-expiry', id, at, version, ...(isEarlier && { expiresAt }) }]
}

function planRotation(before: Stamped<TokenRecord>, rotation: Rotation, origin: Origin, stamps: Stamps): TokenPlan {
  const { at } = origin
  const { after: changed, retired, outlived, facts } = applyRotation<TokenRecord>(before, rotation, at)
  const after = restamp(TOKENS, before, changed, stamps)
  const { id, accountId, version } = after
  // A digest from a row that was tampered with may be that of another token's credential.
  const stamp =
    retired && isGenuine(TOKENS, before, stamps) ? stampOf(RETIRED_CREDENTIALS, retired, stamps) : before.stamp
  return {
    ...NOTHING_ELSE,
    before,
    after,
    retired: retired && { ...retired, stamp },
    endRetiredUpTo: outlived,
    event: historyEvent(accountId, 'token.rotate', after, {}, facts),
    decides: true,
    journal: [
      {
        kind: 'token-rotated',
        id,
        at,
        version,
        digest: base64(rotation.digest),
        sealed: base64(rotation.sealed),
        ...(rotation.masked !== undefined && { masked: base64(Buffer.from(rotation.masked)) }),
        formerUntil: rotation.formerUntil,
      },
    ],
  }
}

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64')

function planDeletion(before: Stamped<TokenRecord>, { at }: Origin): TokenPlan {
  const { id, accountId, name, status, version } = before
  return {
    ...NOTHING_ELSE,
    before,
    after: before,
    isDeleted: true,
    decides: true,
    event: historyEvent(accountId, 'token.delete', before, { name, status }, {}),
    journal: [{ kind: 'token-gone', id, at, version: version + 1 }],
  }
}

/** Undefined for a change that changes nothing. */
export function planSubAccountUpdate(
  before: Stamped<SubAccount> | undefined,
  update: SubAccountUpdate,
  origin: Origin,
  stamps: Stamps,
  fingerprints?: readonly string[],
): Plan<Stamped<SubAccount>> | undefined {
  if (before === undefined) throw new Failure('sub-account-forbidden')
  if (fingerprints?.includes(fingerprintOf(before)) === false) throw new Failure('version-mismatch', STALE_SUB_ACCOUNT)
  // A tampered row becomes genuine only by an update that sets both status and policy: the stored ones are dropped.
  const namesAll = update.status !== undefined && update.policy !== undefined
  const isReplaced = namesAll && !isGenuine(SUB_ACCOUNTS, before, stamps)
  const kept = isReplaced ? { ...before, suspendedAt: null, policy: null } : before
  const changed = applySubAccountUpdate(kept, update, origin.at)
  if (changed === before) return undefined
  const after = isReplaced
    ? { ...changed, stamp: stampOf(SUB_ACCOUNTS, changed, stamps) }
    : restamp(SUB_ACCOUNTS, before, changed, stamps)
  const { from, to } = difference(SUB_ACCOUNTS, before, after)
  const isSwitched = after.suspendedAt !== before.suspendedAt
  const isOff = after.suspendedAt !== null
  const [id, at] = [after.id, origin.at]
  return {
    before,
    after,
    event: historyEvent(after.accountId, 'sub-account.update', after, from, to),
    decides: isDecisive(SUB_ACCOUNTS, before, after),
    journal: isSwitched ? [{ kind: isOff ? 'sub-account-off' : 'sub-account-on', id, at }] : [],
  }
}

/** Undefined for a key that is revoked already. */
export function planKeyRevocation(
  before: Stamped<StoredKey> | undefined,
  { at }: Origin,
  stamps: Stamps,
): Plan<Stamped<StoredKey>> | undefined {
  if (before === undefined) throw new Failure('key-not-found')
  if (before.revokedAt !== null) return undefined
  const changed = { ...before, revokedAt: at }
  const { from, to } = difference(ACCOUNT_KEYS, before, changed)
  return {
    before,
    after: { ...changed, stamp: stampOf(ACCOUNT_KEYS, changed, stamps) },
    event: historyEvent(before.accountId, 'key.revoke', before, from, to),
    decides: false,
    journal: [{ kind: 'key-off', id: before.id, at }],
  }
}

/** Undefined for a session that is gone, or for the second of two requests that both found it due. */
export function planSessionRenewal(
  before: Stamped<StoredSession> | undefined,
  at: Timestamp,
  stamps: Stamps,
): Stamped<StoredSession> | undefined {
  if (before === undefined || !isDue(before, at)) return undefined
  return restamp(SESSIONS, before, { ...before, seenAt: at }, stamps)
}

/** Undefined for the account that is chosen already. */
export function planAccountChoice(
  before: Stamped<StoredSession> | undefined,
  accountId: string,
  stamps: Stamps,
): Pick<Plan<Stamped<StoredSession>>, 'before' | 'after' | 'event'> | undefined {
  if (before === undefined) throw new Failure('token-invalid')
  if (before.accountId === accountId) return undefined
  const after = restamp(SESSIONS, before, { ...before, accountId }, stamps)
  return { before, after, event: personEntered(accountId, 'session.choose', after) }
}

type SessionAction = Extract<Action, `session.${string}`>
type SessionOf = Pick<StoredSession, 'id' | 'subject' | 'email'>

export function personEntered(accountId: string, action: SessionAction, session: SessionOf): HistoryEvent {
  const { id, subject, email } = session
  return historyEvent(accountId, action, { id, name: email ?? subject }, {}, { subject })
}

export function personLeft(accountId: string, action: SessionAction, session: SessionOf): HistoryEvent {
  const { id, subject, email } = session
  return historyEvent(accountId, action, { id, name: email ?? subject }, { subject }, {})
}

/** Of the sub-account: its history has who opened the portal to whom, and what `portal:` and the id stand for. */
export function portalOpened(subAccount: SubAccount, session: PortalSession): HistoryEvent {
  const { id, origin, expiresAt } = session
  const facts = { session: id, may: usesOf(session), origin, expiresAt }
  return historyEvent(subAccount.accountId, 'sub-account.portal', subAccount, {}, facts)
}

export function portalClosed(subAccount: SubAccount, { id }: PortalSession): HistoryEvent {
  return historyEvent(subAccount.accountId, 'sub-account.portal-end', subAccount, { session: id }, {})
}

export type AccountUpdate = Partial<Pick<Account, 'name' | 'credentials'>>

/** Undefined for what the account has already. */
export function planAccountUpdate(
  before: Account | undefined,
  change: AccountUpdate,
): Pick<Plan<Account>, 'before' | 'after' | 'event'> | undefined {
  if (before === undefined) throw new Failure('account-not-found')
  const after = { ...before, ...change }
  const { from, to } = difference(ACCOUNTS, before, after)
  if (Object.keys(to).length === 0) return undefined
  const action = 'name' in to ? 'account.rename' : 'account.update'
  return { before, after, event: historyEvent(before.id, action, after, from, to) }
}

export function accountCreated(account: Account): HistoryEvent {
  return historyEvent(account.id, 'account.create', account, {}, { name: account.name })
}

export function keyCreated(key: AccountKey): HistoryEvent {
  const { accountId, name, expiresAt } = key
  return historyEvent(accountId, 'key.create', key, {}, { name, expiresAt, ...addedFacts(ACCOUNT_KEYS, key) })
}

export function subAccountCreated(subAccount: SubAccount): HistoryEvent {
  const { accountId, name, email, companyName } = subAccount
  const to = { name, email, companyName, ...addedFacts(SUB_ACCOUNTS, subAccount) }
  return historyEvent(accountId, 'sub-account.create', subAccount, {}, to)
}

/** `days`: how long before its end it is announced, at most. */
export function tokenExpiring(token: ExpiringToken, days: number): HistoryEvent {
  return historyEvent(token.accountId, 'token.expiring', token, {}, { expiresAt: token.endsAt, days })
}

export function tokenCreated(token: TokenRecord, subAccountName: string): HistoryEvent {
  const { accountId, name, status, expiresAt, subAccountId } = token
  const to = { name, status, expiresAt, subAccountId, subAccountName, ...addedFacts(TOKENS, token) }
  return historyEvent(accountId, 'token.create', token, {}, to)
}
