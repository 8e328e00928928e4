// What a verifier may remember of a credential, as the service sends it, and what it decides from it. Rates and quotas are counted by
// the service: what has one is never remembered.
import { formatBlock } from './addresses.ts'
import { type Access, effectiveScopes, judgePolicy, type Policies, type ReadyPolicy, readyPolicy } from './policy.ts'
import type { Known, VerdictOf } from './verdict.ts'

/** The members of a policy that a verifier decides by. */
interface SentPolicy {
  readonly scopes?: readonly string[]
  readonly addresses?: readonly string[]
}

const REFUSALS = ['inactive', 'expired', 'suspended'] as const

export interface Entry {
  readonly tokenId: string
  readonly subAccountId: string
  readonly accountId: string
  readonly version: number
  /** Null: accepted, within its policies. */
  readonly refused: (typeof REFUSALS)[number] | null
  /** How long this holds if nothing is changed, from the sending of the question; null: without end. */
  readonly endsInMs: number | null
  /** The token's and its sub-account's; null restricts nothing. */
  readonly policies: readonly [SentPolicy | null, SentPolicy | null]
  /** Of a former credential: which one, for reports of its use. */
  readonly formerUntil?: number
}

/** Over a longer time, clocks of two machines may drift apart by more than a moment: what has an end is asked about again. */
const MAX_ENDING_MS = 3_600_000

interface Remembered extends Known {
  readonly token: Known['token'] & Pick<Entry, 'subAccountId' | 'accountId' | 'version'> & { readonly id: string }
  readonly policies: Policies & { readonly limits: readonly unknown[] }
}

/** Undefined for what must be asked about each time. */
export function entryOf(verdict: VerdictOf<Remembered>, now: number): Entry | undefined {
  const { token, endsAt } = verdict
  const refused = verdict.accepted ? null : (REFUSALS.find((reason) => reason === verdict.reason) ?? undefined)
  if (token === undefined || refused === undefined) return undefined
  if (verdict.accepted && verdict.policies.limits.length > 0) return undefined
  const { id: tokenId, subAccountId, accountId, version } = token
  const endsInMs = endsAt === null ? null : Math.min(endsAt - now, MAX_ENDING_MS)
  const { token: ofToken, subAccount } = verdict.accepted ? verdict.policies : {}
  const former = verdict.accepted && verdict.formerUntil !== null && { formerUntil: verdict.formerUntil }
  return {
    tokenId,
    subAccountId,
    accountId,
    version,
    refused,
    endsInMs,
    policies: [sent(ofToken), sent(subAccount)],
    ...former,
  }
}

function sent(policy: ReadyPolicy | undefined): SentPolicy | null {
  if (policy?.scopes === undefined && policy?.addresses === undefined) return null
  const { scopes, addresses } = policy
  return { ...(scopes && { scopes: scopes.listed }), ...(addresses && { addresses: addresses.map(formatBlock) }) }
}

/** An entry that was checked, prepared for decisions. */
export interface ReadyEntry extends Omit<Entry, 'policies'> {
  readonly policies: Policies
  /** Null: not restricted. */
  readonly scopes: readonly string[] | null
}

/** Throws for what is not an entry, such as that of a later version of the service: it must not be decided by. */
export function readyEntry(entry: Entry): ReadyEntry {
  const { tokenId, subAccountId, accountId, version, refused, endsInMs, policies, formerUntil } = entry
  const [ofToken, ofSubAccount, ...more] = policies
  const isKnown = refused === null || REFUSALS.includes(refused)
  const isEnding = endsInMs === null || Number.isFinite(endsInMs)
  if (!isKnown || !isEnding || more.length > 0 || ![tokenId, subAccountId, accountId].every((id) => id)) {
    throw new Error('The entry cannot be used')
  }
  const both = {
    token: ofToken ? readyPolicy(ofToken, 'token') : undefined,
    subAccount: ofSubAccount ? readyPolicy(ofSubAccount, 'sub-account') : undefined,
  }
  const scopes = effectiveScopes(both) ?? null
  const former = formerUntil !== undefined && { formerUntil }
  return { tokenId, subAccountId, accountId, version, refused, endsInMs, policies: both, scopes, ...former }
}

/** What the service would say now, as long as nothing was changed and the entry has not ended. */
export function decide(entry: ReadyEntry, access: Access) {
  const reason = entry.refused ?? judgePolicy(entry.policies, access)?.reason
  if (reason !== undefined) return { accepted: false as const, reason }
  const { tokenId, subAccountId, accountId, version, scopes } = entry
  return { accepted: true as const, tokenId, subAccountId, accountId, version, scopes, left: [] }
}
