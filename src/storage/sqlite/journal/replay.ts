// Replays revocations of the journal on a store that lacks them, by the same changes as the first time: with history, counts,
// stamps, and the original times.
import { TOKENS } from '../../../tokens/model/tables.ts'
import type { Origin } from '../../../tokens/record/history.ts'
import type { Revocation, TokenRevocation } from '../../../tokens/trust/revocations.ts'
import { restamp } from '../../../tokens/trust/stamp.ts'
import { Session } from '../session.ts'
import { findOwner } from '../sql/reads.ts'
import * as writes from '../sql/writes.ts'

/** To be called inside a transaction. Returns how many revocations concerned something that this store has. */
export function replay({ db, stamps }: Session, revocations: readonly Revocation[]): number {
  // A session of its own, whose revocations are not appended to the journal again.
  const session = new Session(db, stamps)
  let replayed = 0
  for (const revocation of revocations) if (replayOne(session, revocation)) replayed++
  session.settle()
  return replayed
}

function replayOne(session: Session, revocation: Revocation): boolean {
  const { id, at } = revocation
  const origin: Origin = { by: 'operator', at, requestId: null, address: null }
  if (revocation.kind === 'key-off') {
    if (session.db.get('SELECT 1 FROM account_keys WHERE id = ?', id) === undefined) return false
    writes.revokeKey(session, id, origin)
    return true
  }
  const owner = findOwner(session.db, id)
  if (owner === undefined) return false
  switch (revocation.kind) {
    case 'sub-account-off':
      writes.updateSubAccount(session, owner, id, { status: 'suspended' }, origin)
      return true
    case 'sub-account-on':
      writes.updateSubAccount(session, owner, id, { status: 'active' }, origin)
      return true
    case 'token-gone':
      writes.applyTokenChange(session, owner, id, { kind: 'delete' }, origin)
      return true
    case 'token-off':
    case 'token-expiry':
      switchOffAgain(session, owner, revocation, origin)
      break
    case 'token-on':
      writes.applyTokenChange(session, owner, id, { kind: 'update', update: { status: 'active' } }, origin)
      break
    case 'token-rotated':
      rotateAgain(session, owner, revocation, origin)
  }
  liftVersion(session, owner, id, revocation.version)
  return true
}

/** That an expiry became later is not in the journal: the one that the store has may be the earlier one. */
function switchOffAgain(
  session: Session,
  owner: string,
  { kind, id, expiresAt = Number.POSITIVE_INFINITY }: TokenRevocation,
  origin: Origin,
): void {
  const before = writes.findChanged(session.db, owner, id)?.token
  const earlier = expiresAt < (before?.expiresAt ?? Number.POSITIVE_INFINITY) ? { expiresAt } : {}
  const update = { ...(kind === 'token-off' && ({ status: 'inactive' } as const)), ...earlier }
  writes.applyTokenChange(session, owner, id, { kind: 'update', update }, origin)
}

function rotateAgain(
  session: Session,
  owner: string,
  { id, digest, sealed, masked, formerUntil }: Extract<Revocation, { kind: 'token-rotated' }>,
  origin: Origin,
): void {
  const before = writes.findChanged(session.db, owner, id)?.token
  if (before === undefined) return
  const now = { sealed: Buffer.from(sealed, 'base64'), digest: Buffer.from(digest, 'base64') }
  if (now.digest.equals(before.digest)) return
  // It may be sealed with a later master key, which the store does not name: it opens if the operator gives that key too.
  const rotation = {
    ...now,
    ...(masked !== undefined && { masked: Buffer.from(masked, 'base64').toString() }),
    formerUntil,
  }
  writes.applyTokenChange(session, owner, id, { kind: 'rotate', rotation }, origin)
}

/** A version number that a caller has seen is never used for another state. */
function liftVersion({ db, stamps }: Session, owner: string, id: string, version: number): void {
  const found = writes.findChanged(db, owner, id)
  if (found === undefined || found.token.version >= version) return
  writes.updateTokenRow(db, found, restamp(TOKENS, found.token, { ...found.token, version }, stamps))
}
