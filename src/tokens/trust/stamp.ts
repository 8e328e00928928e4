// Which fields of a row decide who gets in, and the stamp that ties them together: a row altered by hand in the
// database no longer matches its stamp and authenticates nobody.
import type { AccountKey, JudgedSubAccount, JudgedToken, RetiredCredential } from '../model/token.ts'
import type { SubAccountChange } from '../model/update.ts'
import type { StampField, Stamps } from './vault.ts'

interface Rows {
  token: JudgedToken
  'sub-account': JudgedSubAccount
  retired: RetiredCredential
  key: AccountKey & { readonly digest: Uint8Array }
}

export const TAMPERED_KINDS = ['token', 'sub-account', 'retired', 'key', 'credential'] as const

/** A row, or the credential sealed in a token, that somebody has altered by hand. */
export interface Tampered {
  readonly kind: (typeof TAMPERED_KINDS)[number]
  /** Of a former credential, its token's. */
  readonly id: string
}

export type Stamped<Row> = Row & { readonly stamp: Uint8Array }

const decisive: { readonly [Kind in keyof Rows]: (row: Rows[Kind]) => readonly StampField[] } = {
  token: (row) => [row.id, row.accountId, row.subAccountId, row.status, row.expiresAt, row.version, row.digest],
  'sub-account': (row) => [row.id, row.accountId, row.suspendedAt],
  retired: (row) => [row.digest, row.tokenId, row.retiresAt],
  key: (row) => [row.id, row.accountId, row.expiresAt, row.revokedAt, row.digest],
}

export function stampOf<Kind extends keyof Rows>(kind: Kind, row: Rows[Kind], stamps: Stamps): Uint8Array {
  return stamps.stampRow([kind, ...decisive[kind](row)])
}

export function isGenuine<Kind extends keyof Rows>(kind: Kind, row: Stamped<Rows[Kind]>, stamps: Stamps): boolean {
  return stamps.isRowStamp(row.stamp, [kind, ...decisive[kind](row)])
}

/** The stamp of a row after a change. What was altered by hand before stays so: no change makes it good. */
export function restamp<Kind extends keyof Rows>(
  kind: Kind,
  before: Stamped<Rows[Kind]>,
  after: Rows[Kind],
  stamps: Stamps,
): Uint8Array {
  return isGenuine(kind, before, stamps) ? stampOf(kind, after, stamps) : before.stamp
}

/** The same of a sub-account. An owner who names its status says what holds, whatever was there before. */
export function restampSubAccount(
  before: Stamped<JudgedSubAccount>,
  after: JudgedSubAccount,
  change: SubAccountChange,
  stamps: Stamps,
): Uint8Array {
  const named = change.status !== undefined
  return named ? stampOf('sub-account', after, stamps) : restamp('sub-account', before, after, stamps)
}
