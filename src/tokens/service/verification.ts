// What a presented credential may do: whether it authenticates, what its policy and its sub-account's allow, and what is left of
// their rates and quotas.

import type { LimitUse } from '../limits/limit.ts'
import { Limiter, type LimitStore, type LimitVerdict } from '../limits/limiter.ts'
import { type Caller, seesToken } from '../model/permissions.ts'
import type { Timestamp, VerifiedToken } from '../model/token.ts'
import type { Parts } from '../trust/parts.ts'
import type { Accepted, Candidate, Verdict } from '../trust/verdict.ts'
import type { TokenOwner, UsageStore, UseStore } from '../usage/ports.ts'
import { RecentVerifications } from '../usage/recent-verifications.ts'
import { Turns } from '../usage/turns.ts'
import { COUNTED, type TokenUsage } from '../usage/usage.ts'
import { UsageCounts } from '../usage/usage-counts.ts'
import { LastUses } from '../usage/uses.ts'
import type { Reported } from '../verifiers/lease-fields.ts'
import { kindOfCredential } from '../verify/credential-format.ts'
import { type Entry, entryOf } from '../verify/entry.ts'
import { type Access, judgePolicy, type PolicyOwner, type PolicyRefusal } from '../verify/policy.ts'
import { REFUSED } from '../verify/recent-verifications.ts'
import { judge } from '../verify/verdict.ts'
import type { VerificationStore } from './ports.ts'

/** Not allowed to a credential that does authenticate. */
interface Forbidden extends PolicyRefusal {
  readonly accepted: false
  readonly token: VerifiedToken
}

type Limited = Extract<LimitVerdict, { accepted: false }> & { readonly token: VerifiedToken }

export type Decision = Verdict | (Accepted & { readonly left: LimitVerdict['left'] }) | Forbidden | Limited

export interface Explanation {
  readonly accepted: boolean
  readonly reason: Exclude<Decision, { accepted: true }>['reason'] | null
  /** Whose policy decides; null where none does. */
  readonly decidedBy: PolicyOwner | null
  readonly scopes: readonly string[] | null
  readonly limits: readonly (LimitUse & { readonly left: number })[]
}

export type VerificationPorts = VerificationStore & LimitStore & UseStore & Pick<UsageStore, 'addUsage'>

/** Tokens in the reports of verifiers of one account that wait: some ten of the largest. */
const MOST_WAITING = 60_000

export class Verification {
  readonly #parts: Parts<VerificationPorts>
  readonly #limiter: Limiter
  readonly uses: LastUses
  readonly usage: UsageCounts
  readonly #recent: RecentVerifications
  readonly #reports = new Turns(MOST_WAITING)

  constructor(parts: Parts<VerificationPorts>) {
    this.#parts = parts
    this.#limiter = new Limiter(parts.store, () => ({ now: parts.now(), monotonic: performance.now() }))
    this.uses = new LastUses(parts.store)
    this.usage = new UsageCounts(parts.store, parts.now)
    this.#recent = new RecentVerifications(parts.store)
  }

  /**
   * For gateways. Every verdict asks the authoritative store, if only whether something has changed (decision 015). Writes
   * nothing on its path, except to reserve units of a rate or quota. `readScopes` is called once the credential has
   * authenticated. Without an address, a credential that is bound to addresses is refused.
   */
  async verify(
    presented: string,
    address?: string,
    readScopes: () => Pick<Access, 'scopes'> = () => ({}),
  ): Promise<Decision> {
    return this.#decide(await this.introspect(presented), address, readScopes)
  }

  /** For a verifier, to whom credentials of others are unknown: with what it may remember, if anything. */
  async verifyFor(caller: Caller, presented: string, access: Access): Promise<Decision & { readonly entry?: Entry }> {
    const candidate = await this.#find(presented)
    const seen = candidate && seesToken(caller, candidate.token) ? candidate : undefined
    const verdict = this.#judge(seen)
    const entry = entryOf(verdict, this.#parts.now())
    const decision = await this.#decide(verdict, access.address, () => access)
    return entry === undefined ? decision : { ...decision, entry }
  }

  async #decide(
    verdict: Verdict,
    address: string | undefined,
    readScopes: () => Pick<Access, 'scopes'>,
  ): Promise<Decision> {
    if (!verdict.accepted) return this.#counted(verdict, address)
    const { token, policies } = verdict
    const refused = judgePolicy(policies, { ...readScopes(), address })
    if (refused !== undefined) return this.#counted({ accepted: false, ...refused, token }, address)
    if (policies.limits.length === 0) return this.#counted(verdict, address)
    const taken = await this.#limiter.take(policies.limits)
    return this.#counted(taken.accepted ? { ...verdict, left: taken.left } : { ...taken, token }, address)
  }

  #counted(decision: Decision, address: string | null = null): Decision {
    const { token } = decision
    if (token === undefined) return decision
    const at = this.#parts.now()
    const reason = decision.accepted ? null : REFUSED.find((each) => each === decision.reason)
    // Of what was altered nothing is counted.
    if (reason === undefined) return decision
    const isNew = this.usage.note(token, COUNTED.indexOf(reason ?? 'accepted'), at, address)
    if (isNew) this.#recent.note(token.id, { reason, address, at })
    if (!decision.accepted) return decision
    if (isNew) this.uses.note(token.id, at)
    const { formerUntil } = decision
    if (formerUntil !== null) this.#recent.note(token.id, { reason, address, at, formerUntil })
    return decision
  }

  /**
   * What a verifier has decided by itself: when each token was last used, how often it was accepted and refused, and which verifications
   * were the last. Reports of one account are taken one at a time.
   */
  async noteReport(caller: Caller, reported: Reported): Promise<void> {
    const at = this.#parts.now()
    const { uses, usage: { recent = {}, reports = [] } = {} } = reported
    const tokenIds = new Set([uses, recent, ...reports.map(({ tokens }) => tokens)].flatMap(Object.keys))
    if (tokenIds.size === 0) return
    await this.#reports.take(caller.accountId, tokenIds.size, async () => {
      const found = await this.#parts.store.findOwners(caller.accountId, [...tokenIds])
      const seen = found.filter((owner) => seesToken(caller, owner))
      this.#note(caller, reported, new Map(seen.map((owner) => [owner.id, owner])), at)
    })
  }

  #note(
    { accountId: reporter }: Caller,
    { uses, usage }: Reported,
    seen: ReadonlyMap<string, TokenOwner>,
    at: Timestamp,
  ): void {
    for (const [id, agoMs] of Object.entries(uses)) if (seen.has(id)) this.uses.note(id, at - agoMs)
    for (const [id, reported] of Object.entries(usage?.recent ?? {})) {
      for (const { reason, address, agoMs, formerUntil } of seen.has(id) ? reported : []) {
        this.#recent.note(id, { reason, address, at: at - agoMs, ...(formerUntil && { formerUntil }) })
      }
    }
    for (const { number, tokens } of usage?.reports ?? []) {
      const counted = Object.entries(tokens).flatMap(([tokenId, verdicts]): TokenUsage[] => {
        const { subAccountId, accountId } = seen.get(tokenId) ?? {}
        if (subAccountId === undefined || accountId === undefined) return []
        return [{ tokenId, subAccountId, accountId, counts: COUNTED.map((verdict) => verdicts[verdict] ?? 0) }]
      })
      // With the account, verifiers of others cannot use the same name.
      if (counted.length > 0) this.usage.add({ source: `${reporter} ${usage?.source}`, number, tokens: counted })
    }
  }

  /** Last uses, counts and last verifications, together. */
  async flush(): Promise<void> {
    const outcomes = await Promise.allSettled([this.uses.flush(), this.usage.flush(), this.#recent.flush()])
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
  }

  /** Before the process ends: returns the unused units of quotas. If the store cannot be asked, they are lost. */
  release(): Promise<void> {
    return this.#limiter.release()
  }

  /** Whether it authenticates, for somebody other than its holder: not a use of it. */
  async introspect(presented: string): Promise<Verdict> {
    return this.#judge(await this.#find(presented))
  }

  async #find(presented: string): Promise<Candidate | undefined> {
    return kindOfCredential(presented) === 'tok' ? this.#parts.store.findCandidate(presented) : undefined
  }

  #judge(candidate: Candidate | undefined): Verdict {
    const { now, onTampered } = this.#parts
    if (candidate?.tampered !== undefined) onTampered(candidate.tampered)
    return judge(candidate, now())
  }

  /** What `verify` would decide of a token's credential, and why. Uses nothing up. */
  async explain(tokenId: string, access: Access): Promise<Explanation> {
    const candidate = await this.#parts.store.findCandidateOf(tokenId)
    const verdict = this.#judge(candidate)
    const limits = await this.#leftOf(candidate?.policies.limits ?? [])
    const refused = verdict.accepted ? judgePolicy(verdict.policies, access) : verdict
    const empty = limits.find(({ left }) => left < 1)
    const [reason, decidedBy] = refused
      ? [refused.reason, refused.by]
      : [empty?.limit.kind ?? null, empty?.owner ?? null]
    return { accepted: reason === null, reason, decidedBy, scopes: candidate?.policies.scopes ?? null, limits }
  }

  async #leftOf(limits: readonly LimitUse[]): Promise<Explanation['limits']> {
    if (limits.length === 0) return []
    const { store } = this.#parts
    const stored = await store.findLimits([...new Set(limits.map(({ subject }) => subject))])
    return limits.map((use) => {
      const state = stored.find(({ subject, kind }) => subject === use.subject && kind === use.limit.kind)?.state
      return { ...use, left: this.#limiter.leftOf(use, state || null) }
    })
  }
}
