// Changes of tokens, with what goes with them.

import * as plans from '../../tokens/changes/plan.ts'
import type { Origin } from '../../tokens/history/history.ts'
import { Failure } from '../../tokens/model/errors.ts'
import { LIMITS, RETIRED_CREDENTIALS, TOKENS } from '../../tokens/model/tables.ts'
import type { TokenRecord } from '../../tokens/model/token.ts'
import type { TokenRow } from '../../tokens/service/ports.ts'
import { RECENT_VERIFICATIONS } from '../../tokens/usage/tables.ts'
import { asListed } from '../columns.ts'
import { findAccount } from '../questions/accounts.ts'
import {
  change,
  changed,
  type FoundToken,
  insertNew,
  type Planned,
  planned,
  prune,
  removeRow,
  requireSealedWith,
  unchanged,
  updateRow,
  type Write,
} from './change.ts'

export const tokenChanges = {
  /** All or none. Refuses a token whose sub-account is not its account's. */
  insertTokens: (tokens: readonly TokenRecord[], origin: Origin) =>
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
    }),
  changeToken: (accountId: string, id: string, asked: plans.TokenChange, origin: Origin, expected?: plans.Expected) =>
    change({
      accounts: [accountId],
      origin,
      load: (find) => [
        find.token(accountId, id),
        asked.kind === 'rotate' || asked.kind === 'erase' ? find.sealingKey() : undefined,
        asked.kind === 'rotate' ? find.row(findAccount, accountId) : undefined,
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
    }),
}

export function tokenWrites({ before, after, isDeleted, retired, endRetiredUpTo }: plans.TokenPlan): readonly Write[] {
  if (isDeleted) {
    const { id } = before
    return [removeRow(TOKENS, before), prune(LIMITS, { subject: id }), prune(RECENT_VERIFICATIONS, { tokenId: id })]
  }
  const writes = [updateRow(TOKENS, before, after)]
  if (endRetiredUpTo !== undefined) {
    writes.push(prune(RETIRED_CREDENTIALS, { tokenId: after.id }, { field: 'retiresAt', value: endRetiredUpTo }))
  }
  if (retired !== undefined) writes.push({ kind: 'insert', table: RETIRED_CREDENTIALS, rows: [retired] })
  return writes
}
