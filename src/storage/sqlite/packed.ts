// A token's row on its way from one thread to another: flat, since handing over an object costs more than all its text.
import type { TokenRow } from '../../tokens/store.ts'
import type { Status } from '../../tokens/token.ts'

export type PackedRow = readonly [
  id: string,
  accountId: string,
  name: string,
  status: Status,
  createdAt: number,
  expiresAt: number | null,
  version: number,
  sealed: Uint8Array,
  ownerId: string,
  ownerName: string,
  email: string,
  companyName: string,
  ownerSince: number,
  suspendedAt: number | null,
]

export function pack({ token, subAccount }: TokenRow): PackedRow {
  const { id, accountId, name, status, createdAt, expiresAt, version, sealed } = token
  const { id: ownerId, name: ownerName, email, companyName, createdAt: ownerSince, suspendedAt } = subAccount
  const owner = [ownerId, ownerName, email, companyName, ownerSince, suspendedAt] as const
  return [id, accountId, name, status, createdAt, expiresAt, version, sealed, ...owner]
}

export function unpack(packed: PackedRow): TokenRow {
  const [id, accountId, name, status, createdAt, expiresAt, version, sealed, ...owner] = packed
  const [subAccountId, ownerName, email, companyName, ownerSince, suspendedAt] = owner
  return {
    token: { id, accountId, subAccountId, name, status, createdAt, expiresAt, version, sealed },
    subAccount: {
      id: subAccountId,
      accountId,
      name: ownerName,
      email,
      companyName,
      createdAt: ownerSince,
      suspendedAt,
    },
  }
}
