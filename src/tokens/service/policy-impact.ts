// Which tokens another policy of their sub-account would cut off, before it is saved.
import type { Caller } from '../model/permissions.ts'
import type { SubAccount, Timestamp } from '../model/token.ts'
import { type PolicyOwner, parsePolicy, type ReadyPolicy } from '../verify/policy.ts'
import { type Loss, lossesOf } from '../verify/policy-impact.ts'
import type { ActivityStore, TokenRow, TokenStore } from './ports.ts'

/** Active tokens that are examined, the newest first. Further ones are only counted. */
const MOST_EXAMINED = 10_000
/** Between two parts other requests are served. */
const READ_AT_ONCE = 500
const MOST_NAMED = 20
/** A token that was used since then counts as one in use. */
const IN_USE_MS = 7 * 86_400_000

export interface AffectedToken {
  readonly id: string
  readonly name: string
  readonly lastUsedAt: Timestamp | null
  readonly losses: readonly Loss[]
}

export interface PolicyImpact {
  /** Active tokens of the sub-account, and how many of them were examined. */
  readonly active: number
  readonly examined: number
  readonly affected: number
  /** Of the affected ones, those that were used within a week. */
  readonly inUse: number
  /** Those used last are first. */
  readonly sample: readonly AffectedToken[]
}

interface Question {
  readonly caller: Caller
  readonly subAccount: SubAccount
  /** As JSON. */
  readonly policy: string | null
  readonly now: Timestamp
}

export async function policyImpact(
  store: Pick<TokenStore, 'listTokens'> & ActivityStore,
  { caller: { accountId }, subAccount, policy, now }: Question,
): Promise<PolicyImpact> {
  const before = readableOf(subAccount.policy, 'sub-account')
  const after = parsePolicy(policy, 'sub-account')
  const affected: AffectedToken[] = []
  let active = 0
  let examined = 0
  for (let page = 1; examined < MOST_EXAMINED; page++) {
    const query = { subAccountId: subAccount.id, status: 'active', page, limit: READ_AT_ONCE } as const
    const { items = [], total = 0 } = (await store.listTokens(accountId, query)) ?? {}
    active = total
    examined += items.length
    const losing = before === 'unreadable' ? [] : items.flatMap((row) => lossesOfRow(row, before, after, now))
    const activity =
      losing.length === 0
        ? undefined
        : await store.findActivity(
            losing.map(({ id }) => id),
            now,
          )
    affected.push(...losing.map((token) => ({ ...token, lastUsedAt: activity?.get(token.id)?.lastUsedAt ?? null })))
    if (items.length < READ_AT_ONCE) break
  }
  const sample = affected.toSorted((a, b) => (b.lastUsedAt ?? 0) - (a.lastUsedAt ?? 0)).slice(0, MOST_NAMED)
  const inUse = affected.filter(({ lastUsedAt }) => lastUsedAt !== null && lastUsedAt >= now - IN_USE_MS).length
  return { active, examined, affected: affected.length, inUse, sample }
}

/** A token that is refused anyway, because it has expired or its policy cannot be read, loses nothing. */
function lossesOfRow(
  { token }: TokenRow,
  before: ReadyPolicy | undefined,
  after: ReadyPolicy | undefined,
  now: Timestamp,
): readonly Omit<AffectedToken, 'lastUsedAt'>[] {
  const { id, name, createdAt, expiresAt } = token
  if (expiresAt !== null && expiresAt <= now) return []
  const policy = readableOf(token.policy, 'token')
  if (policy === 'unreadable') return []
  const losses = lossesOf({ createdAt, policy }, before, after, now)
  return losses.length === 0 ? [] : [{ id, name, losses }]
}

function readableOf(text: string | null, owner: PolicyOwner): ReadyPolicy | undefined | 'unreadable' {
  try {
    return parsePolicy(text, owner)
  } catch {
    return 'unreadable'
  }
}
