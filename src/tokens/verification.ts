// What a presented credential may do: whether it authenticates, what its policy and its sub-account's allow, and what is left of
// their rates and quotas.
import { Limiter, type LimitStore, type LimitVerdict } from './limiter.ts'
import type { Counts, ReportedUsage } from './model/lease-fields.ts'
import type { LimitUse } from './model/limit.ts'
import { type Caller, seesToken } from './model/permissions.ts'
import type { VerifiedToken } from './model/token.ts'
import { ACCEPTED, COUNTED, type TokenUsage } from './model/usage.ts'
import type { Parts, UsageStore, UseStore, VerificationStore } from './ports.ts'
import { FormerUses } from './record/former-uses.ts'
import { UsageCounts } from './record/usage-counts.ts'
import { LastUses } from './record/uses.ts'
import type { Accepted, Candidate, Verdict } from './trust/verdict.ts'
import { kindOfCredential } from './verify/credential-format.ts'
import { type Entry, entryOf } from './verify/entry.ts'
import { type Access, judgePolicy, type PolicyOwner, type PolicyRefusal } from './verify/policy.ts'
import { judge } from './verify/verdict.ts'

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

/** In the counts. What was altered is not counted. */
const POSITIONS: ReadonlyMap<string, number> = new Map(COUNTED.map((reason, position) => [reason, position]))

export type VerificationPorts = VerificationStore & LimitStore & UseStore & Pick<UsageStore, 'addUsage'>

export class Verification {
  readonly #parts: Parts<VerificationPorts>
  readonly #limiter: Limiter
  readonly uses: LastUses
  readonly usage: UsageCounts
  readonly #formerUses: FormerUses

  constructor(parts: Parts<VerificationPorts>) {
    this.#parts = parts
    this.#limiter = new Limiter(parts.store, () => ({ now: parts.now(), monotonic: performance.now() }))
    this.uses = new LastUses(parts.store)
    this.usage = new UsageCounts(parts.store, parts.now)
    this.#formerUses = new FormerUses(parts.store)
  }

  /**
   * For gateways. Every verdict asks the authoritative store, if only whether something has changed (decision 015). Writes
   * nothing on its path, except to reserve units of a rate or quota. `readAccess` is called once the credential has
   * authenticated. Without an address, a credential that is bound to addresses is refused.
   */
  async verify(presented: string, readAccess: () => Access = () => ({ address: undefined })): Promise<Decision> {
    return this.#decide(await this.introspect(presented), readAccess)
  }

  /** For a verifier, to whom credentials of others are unknown: with what it may remember, if anything. */
  async verifyFor(caller: Caller, presented: string, access: Access): Promise<Decision & { readonly entry?: Entry }> {
    const candidate = await this.#find(presented)
    const seen = candidate && seesToken(caller, candidate.token) ? candidate : undefined
    const verdict = this.#judge(seen)
    const entry = entryOf(verdict, this.#parts.now())
    const decision = await this.#decide(verdict, () => access)
    return entry === undefined ? decision : { ...decision, entry }
  }

  async #decide(verdict: Verdict, readAccess: () => Access): Promise<Decision> {
    if (!verdict.accepted) return this.#counted(verdict)
    const { token, policies } = verdict
    const access = readAccess()
    const refused = judgePolicy(policies, access)
    if (refused !== undefined) return this.#counted({ accepted: false, ...refused, token })
    if (policies.limits.length === 0) return this.#counted(verdict, access.address)
    const taken = await this.#limiter.take(policies.limits)
    return this.#counted(taken.accepted ? { ...verdict, left: taken.left } : { ...taken, token }, access.address)
  }

  #counted(decision: Decision, address: string | null = null): Decision {
    const { token } = decision
    if (token === undefined) return decision
    const at = this.#parts.now()
    if (decision.accepted) {
      this.uses.note(token.id, at)
      if (decision.formerUntil !== null) this.#formerUses.note(token.id, decision.formerUntil, at, address)
    }
    const verdict = decision.accepted ? ACCEPTED : POSITIONS.get(decision.reason)
    if (verdict !== undefined) this.usage.note(token, verdict, at)
    return decision
  }

  /** When a verifier has decided by itself: by token, how many milliseconds ago it was last used. */
  async noteUses(caller: Caller, uses: Counts): Promise<void> {
    const at = this.#parts.now()
    for (const [id, agoMs] of Object.entries(uses)) {
      if ((await this.#findSeen(caller, id)) !== undefined) this.uses.note(id, at - agoMs)
    }
  }

  /** And how often it has accepted and refused each token. */
  async noteUsage(caller: Caller, { source, reports }: ReportedUsage): Promise<void> {
    const at = this.#parts.now()
    for (const { number, tokens, formerUses = {} } of reports) {
      const counted: TokenUsage[] = []
      for (const [tokenId, verdicts] of Object.entries(tokens)) {
        const token = await this.#findSeen(caller, tokenId)
        if (token === undefined) continue
        const { subAccountId, accountId } = token
        counted.push({ tokenId, subAccountId, accountId, counts: COUNTED.map((verdict) => verdicts[verdict] ?? 0) })
      }
      for (const [id, { until, agoMs, address = null }] of Object.entries(formerUses)) {
        if ((await this.#findSeen(caller, id)) !== undefined) this.#formerUses.note(id, until, at - agoMs, address)
      }
      // With the account, verifiers of others cannot use the same name.
      if (counted.length > 0) this.usage.add({ source: `${caller.accountId} ${source}`, number, tokens: counted })
    }
  }

  async #findSeen(caller: Caller, tokenId: string): Promise<VerifiedToken | undefined> {
    const token = (await this.#parts.store.findCandidateOf(tokenId))?.token
    return token !== undefined && seesToken(caller, token) ? token : undefined
  }

  /** Last uses and counts, together. */
  async flush(): Promise<void> {
    const outcomes = await Promise.allSettled([this.uses.flush(), this.usage.flush(), this.#formerUses.flush()])
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
