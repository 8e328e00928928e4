// Changes of a store that is older than what was promised.
import { ended, type StoredBulk } from '../../tokens/bulk/bulk.ts'
import { BULK_OPERATIONS } from '../../tokens/bulk/tables.ts'
import * as plans from '../../tokens/changes/plan.ts'
import type { Origin } from '../../tokens/history/history.ts'
import { TOKENS } from '../../tokens/model/tables.ts'
import type { Timestamp } from '../../tokens/model/token.ts'
import { replayedChange, type TokenRevocation } from '../../tokens/trust/revocations.ts'
import { restamp, type Stamped } from '../../tokens/trust/stamp.ts'
import { listAllRunningBulk } from '../questions/bulk.ts'
import { change, changed, type Planned, planned, unchanged, updateRow } from './change.ts'
import { tokenWrites } from './tokens.ts'

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

/** That an operation was undone, or has failed, may be what the store lacks. */
export const endAllBulk = (at: Timestamp) =>
  change({
    accounts: [],
    origin: undefined,
    load: (find) => [find.locked(listAllRunningBulk)],
    plan: ([running], stamps): Planned<void> => {
      const end = (operation: Stamped<StoredBulk>) =>
        updateRow(
          BULK_OPERATIONS,
          operation,
          restamp(BULK_OPERATIONS, operation, ended(operation, 'restored', at), stamps),
        )
      return planned(running.map(end), [])
    },
  })
