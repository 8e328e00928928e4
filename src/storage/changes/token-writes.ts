// What the change of a token writes, with what goes with the token.
import { LIMITS, RECENT_VERIFICATIONS, RETIRED_CREDENTIALS, TOKENS } from '../../tokens/model/tables.ts'
import type { TokenPlan } from '../../tokens/plan.ts'
import { prune, removeRow, updateRow, type Write } from './change.ts'

export function tokenWrites({ before, after, isDeleted, retired, endRetiredUpTo }: TokenPlan): readonly Write[] {
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
