// A token's row on its way from one thread to another: flat, since handing over an object costs more than all its text.

import { foldCase, type Status, type SubAccount, type TokenRecord } from '../../../tokens/model/token.ts'
import type { TokenRow } from '../../../tokens/store.ts'
import { stampOf } from '../../../tokens/trust/stamp.ts'
import type { Stamps } from '../../../tokens/trust/vault.ts'
import { gramWords } from '../sql/grams.ts'

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

/**
 * New tokens, with all that follows from each alone: the writer is what many tokens wait for, and is spared it. A text
 * each and one block of bytes, since thousands that wait as lists cost the collector of garbage more than reading them.
 */
export interface PackedTokens {
  readonly texts: readonly string[]
  readonly bytes: Uint8Array
}

type TokenText = readonly [
  ...[id: string, accountId: string, subAccountId: string, name: string, foldedName: string, status: Status],
  ...[createdAt: number, expiresAt: number | null, version: number, gramWords: string],
  ...[digestEnd: number, sealedEnd: number, stampEnd: number],
]

export type NewRow = TokenRecord & {
  readonly foldedName: string
  readonly stamp: Uint8Array
  readonly gramWords: string
}

export function packNew(tokens: readonly TokenRecord[], stamps: Stamps): PackedTokens {
  const parts: Uint8Array[] = []
  let end = 0
  const put = (part: Uint8Array) => {
    parts.push(part)
    end += part.length
    return end
  }
  const texts = tokens.map((token) => {
    const { id, accountId, subAccountId, name, status, createdAt, expiresAt, version, digest, sealed } = token
    const folded = foldCase(name)
    const text: TokenText = [
      ...([id, accountId, subAccountId, name, folded, status, createdAt, expiresAt, version] as const),
      ...([gramWords(folded), put(digest), put(sealed), put(stampOf('token', token, stamps))] as const),
    ]
    return JSON.stringify(text)
  })
  return { texts, bytes: Buffer.concat(parts) }
}

/** One after the other, so that each can be forgotten when it is written. */
export function* unpackNew({ texts, bytes }: PackedTokens): Generator<NewRow> {
  let start = 0
  for (const text of texts) {
    const [id, accountId, subAccountId, name, foldedName, status, createdAt, expiresAt, version, ...rest] = JSON.parse(
      text,
    ) as TokenText
    const [gramWords, digestEnd, sealedEnd, stampEnd] = rest
    const digest = bytes.subarray(start, digestEnd)
    const sealed = bytes.subarray(digestEnd, sealedEnd)
    const stamp = bytes.subarray(sealedEnd, stampEnd)
    start = stampEnd
    const token = { id, accountId, subAccountId, name, status, createdAt, expiresAt, version, digest, sealed }
    yield { ...token, foldedName, stamp, gramWords }
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
