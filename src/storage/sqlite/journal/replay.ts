// Replays revocations of the journal on a store that lacks them, by the same changes as the first time: with history, counts,
// stamps, and the original times.
import type { Origin } from '../../../tokens/history/history.ts'
import type { Revocation } from '../../../tokens/trust/revocations.ts'
import { accountChanges } from '../../changes/accounts.ts'
import { endAllBulk, replayRevocation } from '../../changes/replays.ts'
import { subAccountChanges } from '../../changes/sub-accounts.ts'
import { findOwner } from '../../questions/upkeep.ts'
import { ask } from '../sql/lookups.ts'
import { makeChange } from '../sql/make-change.ts'
import { insertUnknownLease } from '../sql/news.ts'
import { Transaction } from '../transaction.ts'

/** To be called inside a transaction, on a store that is older than its journal was. */
export function endBulkOperations({ db, stamps }: Transaction): void {
  makeChange(new Transaction(db, stamps), endAllBulk(Date.now()))
}

/** To be called inside a transaction. Returns how many revocations concerned something that this store has. */
export function replay({ db, stamps }: Transaction, revocations: readonly Revocation[]): number {
  // A transaction of its own, whose revocations are not appended to the journal again.
  const transaction = new Transaction(db, stamps)
  let replayed = 0
  for (const revocation of revocations) if (replayOne(transaction, revocation)) replayed++
  transaction.settle()
  return replayed
}

function replayOne(transaction: Transaction, revocation: Revocation): boolean {
  const { id, at } = revocation
  const origin: Origin = { by: 'operator', at, requestId: null, address: null }
  if (revocation.kind === 'lease') {
    insertUnknownLease(transaction.db, revocation)
    return false
  }
  // All operations of a store that lacks it end.
  if (revocation.kind === 'bulk-undone') return false
  if (revocation.kind === 'key-off') {
    if (transaction.db.get('SELECT 1 FROM account_keys WHERE id = ?', id) === undefined) return false
    makeChange(transaction, accountChanges.revokeKey(id, origin))
    return true
  }
  const owner = ask(transaction.db, findOwner, [id])
  if (owner === undefined) return false
  if ('version' in revocation) makeChange(transaction, replayRevocation(owner, revocation, origin))
  else {
    const status = revocation.kind === 'sub-account-off' ? 'suspended' : 'active'
    makeChange(transaction, subAccountChanges.updateSubAccount(owner, id, { status }, origin))
  }
  return true
}
