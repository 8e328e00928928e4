// Counts of verifications as they are sent and printed.
import { toTime } from '../tokens/model/times.ts'
import type { UsageBucket, UsageRange } from '../tokens/model/usage.ts'

export function usageToWire({ per }: UsageRange, buckets: readonly UsageBucket[]) {
  return {
    per,
    buckets: buckets.map(({ from, accepted, refused }) => ({ from: toTime(from), accepted, refused: { ...refused } })),
  }
}
