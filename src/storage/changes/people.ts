// Changes of the sessions of people.

import * as plans from '../../tokens/changes/plan.ts'
import type { Origin } from '../../tokens/history/history.ts'
import { Failure } from '../../tokens/model/errors.ts'
import { SESSIONS } from '../../tokens/model/tables.ts'
import type { Timestamp } from '../../tokens/model/token.ts'
import type { SpentStore } from '../../tokens/people/ports.ts'
import { IDLE_MS, LONGEST_MS, type StoredSession } from '../../tokens/people/session.ts'
import { accountsOf } from '../questions/accounts.ts'
import { findSessionById } from '../questions/people.ts'
import { change, changed, insertNew, type Planned, planned, prune, removeRow, unchanged, updateRow } from './change.ts'
import { own } from './write.ts'

const accountsOfSession = accountsOf('sessions')

export const peopleChanges = {
  /** Removes those that have ended, too. */
  insertSession: (session: StoredSession, origin: Origin) =>
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
    }),
  renewSession: (id: string, at: Timestamp) =>
    change({
      accounts: [],
      turn: id,
      origin: undefined,
      load: (find) => [find.locked(findSessionById, id)],
      plan: ([before], stamps) => {
        const after = plans.planSessionRenewal(before, at, stamps)
        return planned(before === undefined || after === undefined ? [] : [updateRow(SESSIONS, before, after)], [])
      },
    }),
  /** The account is locked before the session, as by changes that a session makes. */
  chooseAccount: (id: string, accountId: string, origin: Origin) =>
    change({
      accounts: [accountId],
      origin,
      load: (find) => [find.locked(findSessionById, id)],
      plan: ([before], stamps): Planned<void> => {
        const plan = plans.planAccountChoice(before, accountId, stamps)
        return plan === undefined ? unchanged(undefined) : changed(SESSIONS, plan, undefined)
      },
    }),
  /** The history row is for the account that was chosen when this began: another one may be chosen at the same time. */
  deleteSession: (id: string, origin?: Origin) =>
    change({
      accounts: origin === undefined ? [] : (find) => find.row(accountsOfSession, id),
      turn: id,
      origin,
      load: (find) => [find.locked(findSessionById, id)],
      plan: ([found], _, accounts) => {
        if (found === undefined) return unchanged(undefined)
        return planned(
          [removeRow(SESSIONS, found)],
          accounts.map((accountId) => plans.personLeft(accountId, 'session.sign-out', found)),
        )
      },
    }),
  revokeSession: (accountId: string, id: string, origin: Origin) =>
    change({
      accounts: [accountId],
      origin,
      load: (find) => [find.locked(findSessionById, id)],
      plan: ([found]): Planned<StoredSession> => {
        if (found === undefined) throw new Failure('session-not-found')
        const event = plans.personLeft(accountId, 'session.revoke', found)
        return { ...planned([removeRow(SESSIONS, found)], [event]), answer: found }
      },
    }),
}

export const peopleWrites = {
  spend: own<SpentStore['spend']>(),
}
