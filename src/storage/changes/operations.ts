// Every change that loads rows, plans and records, once for both engines. The plans are those of tokens/plan.ts; this says which
// rows they start from, and which rows they come to. A new change is one more function here, and its line in each store.
import { Failure } from '../../tokens/errors.ts'
import { ENDED_MS, type PortalSession } from '../../tokens/model/portal.ts'
import { IDLE_MS, LONGEST_MS, type StoredSession } from '../../tokens/model/session.ts'
import { ACCOUNT_KEYS, ACCOUNTS, PORTAL_SESSIONS, SESSIONS, SUB_ACCOUNTS, TOKENS } from '../../tokens/model/tables.ts'
import type {
  Account,
  AccountKey,
  StoredKey,
  SubAccount,
  SubAccountRow,
  Timestamp,
  TokenRecord,
} from '../../tokens/model/token.ts'
import type { SubAccountUpdate } from '../../tokens/model/update.ts'
import * as plans from '../../tokens/plan.ts'
import type { TokenRow } from '../../tokens/ports.ts'
import type { Origin } from '../../tokens/record/history.ts'
import { replayedChange, type TokenRevocation } from '../../tokens/trust/revocations.ts'
import { restamp } from '../../tokens/trust/stamp.ts'
import { asListed } from '../columns.ts'
import * as queries from '../queries.ts'
import {
  change,
  changed,
  creation,
  type FoundToken,
  insertNew,
  type Planned,
  planned,
  prune,
  removeRow,
  requireSealedWith,
  unchanged,
  updateRow,
} from './change.ts'
import { tokenWrites } from './token-writes.ts'

export * from './bulk-operations.ts'
export * from './webhook-operations.ts'

export const insertAccount = (account: Account, origin: Origin) =>
  creation(ACCOUNTS, [account], [plans.accountCreated(account)], origin)

export const updateAccount = (id: string, update: plans.AccountUpdate, origin: Origin) =>
  change({
    accounts: [id],
    origin,
    load: (find) => [find.row(queries.findAccount, id)],
    plan: ([before]) => {
      const plan = plans.planAccountUpdate(before, update)
      return plan === undefined ? unchanged(before as Account) : changed(ACCOUNTS, plan, plan.after)
    },
  })

export const insertKey = (key: StoredKey, origin: Origin) =>
  creation(ACCOUNT_KEYS, [key], [plans.keyCreated(key)], origin)

export const revokeKey = (id: string, origin: Origin) =>
  change({
    accounts: (find) => find.row(queries.accountsOfKey, id),
    origin,
    mayTakeAccess: true,
    load: (find) => [find.row(queries.findKeyById, id)],
    plan: ([before], stamps): Planned<AccountKey> => {
      const plan = plans.planKeyRevocation(before, origin, stamps)
      return plan === undefined ? unchanged(before as StoredKey) : changed(ACCOUNT_KEYS, plan, plan.after)
    },
  })

export const insertSubAccounts = (subAccounts: readonly SubAccount[], origin: Origin) =>
  creation(SUB_ACCOUNTS, subAccounts, subAccounts.map(plans.subAccountCreated), origin)

export const updateSubAccount = (
  accountId: string,
  id: string,
  update: SubAccountUpdate,
  origin: Origin,
  fingerprints?: readonly string[],
) =>
  change({
    accounts: [accountId],
    origin,
    mayTakeAccess: true,
    load: (find) => [find.row(queries.findSubAccount, accountId, id)],
    plan: ([found], stamps): Planned<SubAccountRow> => {
      const plan = plans.planSubAccountUpdate(found?.subAccount, update, origin, stamps, fingerprints)
      const before = found as SubAccountRow
      return plan === undefined ? unchanged(before) : changed(SUB_ACCOUNTS, plan, { ...before, subAccount: plan.after })
    },
  })

/** All or none. Refuses a token whose sub-account is not its account's. */
export const insertTokens = (tokens: readonly TokenRecord[], origin: Origin) =>
  change({
    accounts: tokens.map(({ accountId }) => accountId),
    origin,
    load: (find) => [find.owners(new Set(tokens.map(({ subAccountId }) => subAccountId))), find.sealingKey()],
    plan: ([owners, sealingKey], stamps) => {
      const events = tokens.map((token) => {
        requireSealedWith(sealingKey, token.sealed)
        const owner = owners.get(token.subAccountId)
        if (owner?.accountId !== token.accountId) throw new Failure('sub-account-forbidden')
        plans.requireStorable(owner, token.sealed)
        plans.requireOpen(owner, origin)
        return plans.tokenCreated(token, owner.name)
      })
      return planned([insertNew(TOKENS, tokens, stamps)], events)
    },
  })

export const changeToken = (
  accountId: string,
  id: string,
  asked: plans.TokenChange,
  origin: Origin,
  expected?: plans.Expected,
) =>
  change({
    accounts: [accountId],
    origin,
    mayTakeAccess: true,
    load: (find) => [
      find.token(accountId, id),
      asked.kind === 'rotate' || asked.kind === 'erase' ? find.sealingKey() : undefined,
      asked.kind === 'rotate' ? find.row(queries.findAccount, accountId) : undefined,
    ],
    plan: ([found, sealingKey, account], stamps): Planned<TokenRow> => {
      if (asked.kind === 'erase') requireSealedWith(sealingKey, asked.sealed)
      if (asked.kind === 'rotate') {
        requireSealedWith(sealingKey, asked.rotation.sealed)
        plans.requireStorable(account, asked.rotation.sealed)
      }
      const plan = plans.planTokenChange(found?.token, asked, origin, stamps, expected)
      const { token, subAccount } = found as FoundToken
      if (plan === undefined) return unchanged(asListed(token, subAccount))
      return { ...changed(TOKENS, plan, asListed(plan.after, subAccount)), writes: tokenWrites(plan) }
    },
  })

export const openPortal = (subAccount: SubAccount, session: PortalSession, origin: Origin) =>
  change({
    accounts: [session.accountId],
    origin,
    plan: (_, stamps) => {
      const { accountId, createdAt } = session
      const writes = [
        prune(PORTAL_SESSIONS, { accountId }, { field: 'expiresAt', value: createdAt - ENDED_MS }),
        insertNew(PORTAL_SESSIONS, [session], stamps),
      ]
      return planned(writes, [plans.portalOpened(subAccount, session)])
    },
  })

export const closePortal = (subAccount: SubAccount, id: string, origin: Origin) =>
  change({
    accounts: [subAccount.accountId],
    origin,
    mayTakeAccess: true,
    load: (find) => [find.row(queries.findPortalSession, id)],
    plan: ([found], stamps): Planned<PortalSession> => {
      const lasts = found?.endedAt === null && found.subAccountId === subAccount.id && found.expiresAt > origin.at
      if (!lasts) throw new Failure('session-not-found')
      const after = restamp(PORTAL_SESSIONS, found, { ...found, endedAt: origin.at }, stamps)
      const event = plans.portalClosed(subAccount, found)
      return { ...planned([updateRow(PORTAL_SESSIONS, found, after)], [event]), answer: after, takesAccess: true }
    },
  })

/** Removes those that have ended, too. */
export const insertSession = (session: StoredSession, origin: Origin) =>
  change({
    accounts: session.accountId === null ? [] : [session.accountId],
    origin,
    plan: (_, stamps) => {
      const { createdAt: now, accountId } = session
      const writes = [
        prune(SESSIONS, {}, { field: 'createdAt', value: now - LONGEST_MS }),
        prune(SESSIONS, {}, { field: 'seenAt', value: now - IDLE_MS }),
        insertNew(SESSIONS, [session], stamps),
      ]
      return planned(writes, accountId === null ? [] : [plans.personEntered(accountId, 'session.sign-in', session)])
    },
  })

export const renewSession = (id: string, at: Timestamp) =>
  change({
    accounts: [],
    origin: undefined,
    load: (find) => [find.locked(queries.findSessionById, id)],
    plan: ([before], stamps) => {
      const after = plans.planSessionRenewal(before, at, stamps)
      return planned(before === undefined || after === undefined ? [] : [updateRow(SESSIONS, before, after)], [])
    },
  })

/** The account is locked before the session, as by changes that a session makes. */
export const chooseAccount = (id: string, accountId: string, origin: Origin) =>
  change({
    accounts: [accountId],
    origin,
    load: (find) => [find.locked(queries.findSessionById, id)],
    plan: ([before], stamps): Planned<void> => {
      const plan = plans.planAccountChoice(before, accountId, stamps)
      return plan === undefined ? unchanged(undefined) : changed(SESSIONS, plan, undefined)
    },
  })

/** The history row is for the account that was chosen when this began: another one may be chosen at the same time. */
export const deleteSession = (id: string, origin?: Origin) =>
  change({
    accounts: origin === undefined ? [] : (find) => find.row(queries.accountsOfSession, id),
    origin,
    load: (find) => [find.locked(queries.findSessionById, id)],
    plan: ([found], _, accounts) => {
      if (found === undefined) return unchanged(undefined)
      return planned(
        [removeRow(SESSIONS, found)],
        accounts.map((accountId) => plans.personLeft(accountId, 'session.sign-out', found)),
      )
    },
  })

export const revokeSession = (accountId: string, id: string, origin: Origin) =>
  change({
    accounts: [accountId],
    origin,
    mayTakeAccess: true,
    load: (find) => [find.locked(queries.findSessionById, id)],
    plan: ([found]): Planned<StoredSession> => {
      if (found === undefined) throw new Failure('session-not-found')
      const event = plans.personLeft(accountId, 'session.revoke', found)
      return { ...planned([removeRow(SESSIONS, found)], [event]), answer: found, takesAccess: true }
    },
  })

/**
 * What the journal says of a token, on a store that lacks it: its credential may be sealed with an older or a newer key. A version
 * number that a caller has seen is never used for another state.
 */
export const replayRevocation = (accountId: string, revocation: TokenRevocation, origin: Origin) =>
  change({
    accounts: [accountId],
    origin,
    load: (find) => [find.token(accountId, revocation.id)],
    plan: ([found], stamps): Planned<void> => {
      if (found === undefined) return unchanged(undefined)
      const asked = replayedChange(found.token, revocation)
      const plan = asked && plans.planTokenChange(found.token, asked, origin, stamps)
      const after = plan?.after ?? found.token
      const version = plan?.isDeleted ? after.version : Math.max(after.version, revocation.version)
      const versioned = version === after.version ? after : restamp(TOKENS, after, { ...after, version }, stamps)
      if (plan === undefined) return planned([updateRow(TOKENS, found.token, versioned)], [])
      return { ...changed(TOKENS, plan, undefined), writes: tokenWrites({ ...plan, after: versioned }) }
    },
  })
