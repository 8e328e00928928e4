// Replays revocations of the journal on a store that lacks them, by the same changes as the first time: with history, counts,
// stamps, and the original times.
import { TOKENS } from '../../../tokens/model/tables.ts'
import type { Origin } from '../../../tokens/record/history.ts'
import { type Revocation, replayedChange, type TokenRevocation } from '../../../tokens/trust/revocations.ts'
import { restamp } from '../../../tokens/trust/stamp.ts'
import { findOwner } from '../sql/reads.ts'
import * as writes from '../sql/writes.ts'
import { Transaction } from '../transaction.ts'

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
  if (revocation.kind === 'key-off') {
    if (transaction.db.get('SELECT 1 FROM account_keys WHERE id = ?', id) === undefined) return false
    writes.revokeKey(transaction, id, origin)
    return true
  }
  const owner = findOwner(transaction.db, id)
  if (owner === undefined) return false
  if ('version' in revocation) changeAgain(transaction, owner, revocation, origin)
  else {
    const status = revocation.kind === 'sub-account-off' ? 'suspended' : 'active'
    writes.updateSubAccount(transaction, owner, id, { status }, origin)
  }
  return true
}

function changeAgain(transaction: Transaction, owner: string, revocation: TokenRevocation, origin: Origin): void {
  const { db, stamps } = transaction
  const { id, version } = revocation
  const before = writes.findChanged(db, owner, id)
  const change = before && replayedChange(before.token, revocation)
  if (change !== undefined) writes.applyTokenChange(transaction, owner, id, change, origin)
  // A version number that a caller has seen is never used for another state.
  const found = writes.findChanged(db, owner, id)
  if (found === undefined || found.token.version >= version) return
  writes.updateTokenRow(db, found, restamp(TOKENS, found.token, { ...found.token, version }, stamps))
}
