// Replays revocations of the journal on a store that lacks them, by the same changes as the first time: with history, counts,
// stamps, and the original times.
import { TOKENS } from '../../../tokens/model/tables.ts'
import type { Origin } from '../../../tokens/record/history.ts'
import type { Revocation, TokenRevocation } from '../../../tokens/trust/revocations.ts'
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
  switch (revocation.kind) {
    case 'sub-account-off':
      writes.updateSubAccount(transaction, owner, id, { status: 'suspended' }, origin)
      return true
    case 'sub-account-on':
      writes.updateSubAccount(transaction, owner, id, { status: 'active' }, origin)
      return true
    case 'token-gone':
      writes.applyTokenChange(transaction, owner, id, { kind: 'delete' }, origin)
      return true
    case 'token-off':
    case 'token-expiry':
      switchOffAgain(transaction, owner, revocation, origin)
      break
    case 'token-on':
      writes.applyTokenChange(transaction, owner, id, { kind: 'update', update: { status: 'active' } }, origin)
      break
    case 'token-rotated':
      rotateAgain(transaction, owner, revocation, origin)
  }
  liftVersion(transaction, owner, id, revocation.version)
  return true
}

/** That an expiry became later is not in the journal: the one that the store has may be the earlier one. */
function switchOffAgain(
  transaction: Transaction,
  owner: string,
  { kind, id, expiresAt = Number.POSITIVE_INFINITY }: TokenRevocation,
  origin: Origin,
): void {
  const before = writes.findChanged(transaction.db, owner, id)?.token
  const earlier = expiresAt < (before?.expiresAt ?? Number.POSITIVE_INFINITY) ? { expiresAt } : {}
  const update = { ...(kind === 'token-off' && ({ status: 'inactive' } as const)), ...earlier }
  writes.applyTokenChange(transaction, owner, id, { kind: 'update', update }, origin)
}

function rotateAgain(
  transaction: Transaction,
  owner: string,
  { id, digest, sealed, masked, formerUntil }: Extract<Revocation, { kind: 'token-rotated' }>,
  origin: Origin,
): void {
  const before = writes.findChanged(transaction.db, owner, id)?.token
  if (before === undefined) return
  const now = { sealed: Buffer.from(sealed, 'base64'), digest: Buffer.from(digest, 'base64') }
  if (now.digest.equals(before.digest)) return
  // It may be sealed with a later master key, which the store does not name: it opens if the operator gives that key too.
  const rotation = {
    ...now,
    ...(masked !== undefined && { masked: Buffer.from(masked, 'base64').toString() }),
    formerUntil,
  }
  writes.applyTokenChange(transaction, owner, id, { kind: 'rotate', rotation }, origin)
}

/** A version number that a caller has seen is never used for another state. */
function liftVersion({ db, stamps }: Transaction, owner: string, id: string, version: number): void {
  const found = writes.findChanged(db, owner, id)
  if (found === undefined || found.token.version >= version) return
  writes.updateTokenRow(db, found, restamp(TOKENS, found.token, { ...found.token, version }, stamps))
}
