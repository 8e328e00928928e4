// What a verifier may remember of a credential: all that decides later questions about it, until it is told to forget it.
import type { Candidate, Verdict } from '../trust/verdict.ts'
import { formatBlock } from '../verify/addresses.ts'
import type { Policy, ReadyPolicy } from '../verify/policy.ts'
import type { Timestamp } from './tables.ts'

type Remembered = Pick<Policy, 'scopes' | 'addresses'> | null

export interface Entry {
  readonly tokenId: string
  readonly subAccountId: string
  readonly accountId: string
  readonly version: number
  readonly refused: 'inactive' | 'expired' | 'suspended' | null
  /** When it holds no longer, by itself; null for never. */
  readonly endsInMs: number | null
  /** The token's, and its sub-account's. */
  readonly policies: readonly [Remembered, Remembered]
}

/** Undefined where the service must be asked each time: altered rows, and everything that is counted. */
export function entryOf({ token, policies }: Candidate, verdict: Verdict, now: Timestamp): Entry | undefined {
  if (policies.limits.length > 0) return undefined
  const reason = verdict.accepted ? null : verdict.reason
  if (reason === 'unknown' || reason === 'tampered') return undefined
  const { id: tokenId, subAccountId, accountId, version } = token
  const { endsAt } = verdict
  return {
    tokenId,
    subAccountId,
    accountId,
    version,
    refused: reason,
    endsInMs: endsAt === null ? null : Math.max(0, endsAt - now),
    policies: [remembered(policies.token), remembered(policies.subAccount)],
  }
}

function remembered(policy: ReadyPolicy | undefined): Remembered {
  if (policy === undefined || (policy.scopes === undefined && policy.addresses === undefined)) return null
  const { scopes, addresses } = policy
  return { ...(scopes && { scopes: scopes.listed }), ...(addresses && { addresses: addresses.map(formatBlock) }) }
}
