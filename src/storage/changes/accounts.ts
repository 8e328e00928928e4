// Changes of accounts and their keys.

import * as plans from '../../tokens/changes/plan.ts'
import type { Origin } from '../../tokens/history/history.ts'
import { ACCOUNT_KEYS, ACCOUNTS } from '../../tokens/model/tables.ts'
import type { Account, AccountKey, StoredKey } from '../../tokens/model/token.ts'
import { accountsOf, findAccount, findKeyById } from '../questions/accounts.ts'
import { change, changed, creation, type Planned, unchanged } from './change.ts'

const accountsOfKey = accountsOf('account_keys')

export const accountChanges = {
  insertAccount: (account: Account, origin: Origin) =>
    creation(ACCOUNTS, [account], [plans.accountCreated(account)], origin),
  updateAccount: (id: string, update: plans.AccountUpdate, origin: Origin) =>
    change({
      accounts: [id],
      origin,
      load: (find) => [find.row(findAccount, id)],
      plan: ([before]) => {
        const plan = plans.planAccountUpdate(before, update)
        return plan === undefined ? unchanged(before as Account) : changed(ACCOUNTS, plan, plan.after)
      },
    }),
  insertKey: (key: StoredKey, origin: Origin) => creation(ACCOUNT_KEYS, [key], [plans.keyCreated(key)], origin),
  revokeKey: (id: string, origin: Origin) =>
    change({
      accounts: (find) => find.row(accountsOfKey, id),
      turn: id,
      origin,
      load: (find) => [find.row(findKeyById, id)],
      plan: ([before], stamps): Planned<AccountKey> => {
        const plan = plans.planKeyRevocation(before, origin, stamps)
        return plan === undefined ? unchanged(before as StoredKey) : changed(ACCOUNT_KEYS, plan, plan.after)
      },
    }),
}
