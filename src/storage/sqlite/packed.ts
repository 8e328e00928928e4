// A token's row on its way from one thread to another: flat, since handing over an object costs more than all its text.
import type { TokenRow } from '../../tokens/store.ts'
import type { Status, SubAccount } from '../../tokens/token.ts'

export type PackedRow = readonly [
  id: string,
  accountId: string,
  name: string,
  status: Status,
  createdAt: number,
  expiresAt: number | null,
  version: number,
  sealed: Uint8Array,
  ...owner: PackedOwner,
]

export function pack({ token, subAccount }: TokenRow): PackedRow {
  const { id, accountId, name, status, createdAt, expiresAt, version, sealed } = token
  const { id: ownerId, name: ownerName, email, companyName, createdAt: ownerSince, suspendedAt } = subAccount
  const owner = [ownerId, ownerName, email, companyName, ownerSince, suspendedAt] as const
  return [id, accountId, name, status, createdAt, expiresAt, version, sealed, ...owner]
}

export function unpack(packed: PackedRow): TokenRow {
  const [id, accountId, name, status, createdAt, expiresAt, version, sealed, ...owner] = packed
  const [subAccountId] = owner
  return {
    token: { id, accountId, subAccountId, name, status, createdAt, expiresAt, version, sealed },
    subAccount: toOwner(accountId, owner),
  }
}

export type PackedOwner = readonly [
  id: string,
  name: string,
  email: string,
  companyName: string,
  createdAt: number,
  suspendedAt: number | null,
]

export function toOwner(accountId: string, owner: PackedOwner): SubAccount {
  const [id, name, email, companyName, createdAt, suspendedAt] = owner
  return { id, accountId, name, email, companyName, createdAt, suspendedAt }
}
