// The last verifications of a token as they are sent and printed.
import { toTime } from '../tokens/model/times.ts'
import type { RecentVerifications } from '../tokens/verify/recent-verifications.ts'

export function recentToWire(recent: RecentVerifications) {
  const shown = recent
    .filter(({ formerUntil }) => formerUntil === undefined)
    .map(({ reason, address, at }) => ({ reason, address, at: toTime(at) }))
  return {
    accepted: shown.flatMap(({ reason, ...accepted }) => (reason === null ? [accepted] : [])),
    refused: shown.flatMap(({ reason, ...refused }) => (reason === null ? [] : [{ reason, ...refused }])),
  }
}
