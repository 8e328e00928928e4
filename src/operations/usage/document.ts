// Counts of verifications, and the last ones of a token, as they are sent and printed.
import { toTime } from '../../tokens/model/times.ts'
import type { UsageBucket, UsageRange } from '../../tokens/usage/usage.ts'
import type { RecentVerifications } from '../../tokens/verify/recent-verifications.ts'

export function usageToWire({ per }: UsageRange, buckets: readonly UsageBucket[]) {
  return {
    per,
    buckets: buckets.map(({ from, accepted, refused }) => ({ from: toTime(from), accepted, refused: { ...refused } })),
  }
}

export function recentToWire(recent: RecentVerifications) {
  const shown = recent
    .filter(({ formerUntil }) => formerUntil === undefined)
    .map(({ reason, address, at }) => ({ reason, address, at: toTime(at) }))
  return {
    accepted: shown.flatMap(({ reason, ...accepted }) => (reason === null ? [accepted] : [])),
    refused: shown.flatMap(({ reason, ...refused }) => (reason === null ? [] : [{ reason, ...refused }])),
  }
}
