// How often tokens were accepted and refused, and which are used most. Written by record/usage-counts.ts.
import { Failure } from '../model/errors.ts'
import { type Caller, sees } from '../model/permissions.ts'
import type { Timestamp } from '../model/token.ts'
import type { SubAccountStore, TokenRow, TokenStore } from '../service/ports.ts'
import type { Parts } from '../trust/parts.ts'
import { RECENT_DAYS, type RecentVerifications } from '../verify/recent-verifications.ts'
import type { UsageStore, UseStore } from './ports.ts'
import {
  BUSIEST_DAYS,
  candidatesIn,
  DAY_MS,
  dayOf,
  HOUR_MS,
  KEPT_DAYS,
  type KeptUsage,
  monthOf,
  NO_USES,
  recentQuestion,
  recentUses,
  toBuckets,
  type UsageBucket,
  type UsageRange,
  usageQuestion,
} from './usage.ts'

/** In one transaction, which must not delay changes. */
const AGED_AT_ONCE = 500
const BUSIEST_SHOWN = 8

export interface BusyToken extends TokenRow {
  readonly accepted: number
}

type Ports = UsageStore & Pick<UseStore, 'findRecent'> & TokenStore & SubAccountStore
type UsageParts = Pick<Parts<Ports>, 'store' | 'now'>

export class Usage {
  readonly #parts: UsageParts

  constructor(parts: UsageParts) {
    this.#parts = parts
  }

  async ofToken(caller: Caller, id: string, range: UsageRange): Promise<UsageBucket[]> {
    await this.#requireToken(caller, id)
    return this.#read(caller.accountId, [id], range)
  }

  /** What is kept of its last verifications. */
  async recentOf(caller: Caller, id: string): Promise<RecentVerifications> {
    const { store, now } = this.#parts
    await this.#requireToken(caller, id)
    const since = now() - RECENT_DAYS * DAY_MS
    return (await store.findRecent(id)).filter(({ at }) => at > since)
  }

  async #requireToken({ accountId, permissions }: Caller, id: string): Promise<void> {
    const row = await this.#parts.store.findToken(accountId, id)
    if (row === undefined || !sees(permissions, row.token.subAccountId)) throw new Failure('token-not-found')
  }

  /** Of a sub-account, or of all that the caller sees. Counts of deleted tokens are among them. */
  async ofAccount(caller: Caller, subAccountId: string | undefined, range: UsageRange): Promise<UsageBucket[]> {
    const { accountId, permissions } = caller
    if (subAccountId === undefined) return this.#read(accountId, subjectsOf(caller), range)
    const isSeen = sees(permissions, subAccountId)
    const found = isSeen ? await this.#parts.store.findSubAccount(accountId, subAccountId) : undefined
    if (found === undefined) throw new Failure('sub-account-forbidden')
    return this.#read(accountId, [subAccountId], range)
  }

  async #read(accountId: string, subjects: readonly string[], range: UsageRange): Promise<UsageBucket[]> {
    return toBuckets(range, await this.#parts.store.readUsage(accountId, usageQuestion(subjects, range)))
  }

  /** The tokens that were accepted most in the last seven days. Those that may be missing: see `mergeBusiest`. */
  async busiest(caller: Caller): Promise<BusyToken[]> {
    const { store, now } = this.#parts
    const { accountId } = caller
    const [at, subjects] = [now(), subjectsOf(caller)]
    const days = Array.from({ length: BUSIEST_DAYS + 1 }, (_, n) => dayOf(at) - n)
    const candidates = candidatesIn(await store.readBusiest(accountId, subjects, days))
    const rows = await store.readUsage(accountId, recentQuestion(candidates, at))
    const uses = recentUses(rows, at)
    const ordered = candidates
      .map((id) => ({ id, accepted: (uses.get(id) ?? NO_USES).week }))
      .filter(({ accepted }) => accepted > 0)
      .sort((one, other) => other.accepted - one.accepted || (one.id < other.id ? 1 : -1))
    return this.#existing(caller, ordered)
  }

  async #existing(
    { accountId, permissions }: Caller,
    ordered: readonly { readonly id: string; readonly accepted: number }[],
  ): Promise<BusyToken[]> {
    const found: BusyToken[] = []
    for (let n = 0; n < ordered.length && found.length < BUSIEST_SHOWN; n += BUSIEST_SHOWN) {
      const some = ordered.slice(n, n + BUSIEST_SHOWN)
      const rows = await Promise.all(some.map(({ id }) => this.#parts.store.findToken(accountId, id)))
      for (const [m, row] of rows.entries()) {
        const accepted = some[m]?.accepted ?? 0
        if (row !== undefined && sees(permissions, row.token.subAccountId)) found.push({ ...row, accepted })
      }
    }
    return found.slice(0, BUSIEST_SHOWN)
  }

  /** A little of what is too old. True if there may be more. */
  async age(): Promise<boolean> {
    return (await this.#parts.store.ageUsage(keptUsage(this.#parts.now()), AGED_AT_ONCE)) >= AGED_AT_ONCE
  }
}

/** Whose sums make up what the caller sees. */
function subjectsOf({ accountId, permissions }: Caller): readonly string[] {
  return permissions.subAccounts ?? [accountId]
}

function keptUsage(now: Timestamp): KeptUsage {
  const today = dayOf(now)
  return {
    day: today - KEPT_DAYS.hour,
    month: monthOf(today - KEPT_DAYS.day).month,
    busiestDay: today - BUSIEST_DAYS,
    recentDay: today - RECENT_DAYS,
    reportedAt: now - HOUR_MS,
  }
}
