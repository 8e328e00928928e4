// Changes of sub-accounts.

import * as plans from '../../tokens/changes/plan.ts'
import type { Origin } from '../../tokens/history/history.ts'
import { SUB_ACCOUNTS } from '../../tokens/model/tables.ts'
import type { SubAccount, SubAccountRow } from '../../tokens/model/token.ts'
import type { SubAccountUpdate } from '../../tokens/model/update.ts'
import { findSubAccount } from '../questions/sub-accounts.ts'
import { change, changed, creation, type Planned, unchanged } from './change.ts'

export const subAccountChanges = {
  insertSubAccounts: (subAccounts: readonly SubAccount[], origin: Origin) =>
    creation(SUB_ACCOUNTS, subAccounts, subAccounts.map(plans.subAccountCreated), origin),
  updateSubAccount: (
    accountId: string,
    id: string,
    update: SubAccountUpdate,
    origin: Origin,
    fingerprints?: readonly string[],
  ) =>
    change({
      accounts: [accountId],
      origin,
      load: (find) => [find.row(findSubAccount, accountId, id)],
      plan: ([found], stamps): Planned<SubAccountRow> => {
        const plan = plans.planSubAccountUpdate(found?.subAccount, update, origin, stamps, fingerprints)
        const before = found as SubAccountRow
        return plan === undefined
          ? unchanged(before)
          : changed(SUB_ACCOUNTS, plan, { ...before, subAccount: plan.after })
      },
    }),
}
