// What policies do to tokens, as it is sent and printed.
import { toTimeOrNull } from '../../tokens/model/times.ts'
import type { PolicyImpact } from '../../tokens/service/policy-impact.ts'
import type { Explanation } from '../../tokens/service/verification.ts'
import { reasonToWire } from '../verification/document.ts'

export function explanationToWire({ accepted, reason, decidedBy, scopes, limits }: Explanation) {
  const leastLeft = [...limits].sort((one, other) => one.left - other.left)
  const found = (kind: 'rate' | 'quota') => leastLeft.find(({ limit }) => limit.kind === kind)
  const [rate, quota] = [found('rate'), found('quota')]
  return {
    accepted,
    reason: reason === null ? null : reasonToWire(reason),
    decidedBy,
    effective: {
      scopes,
      rate:
        rate?.limit.kind === 'rate'
          ? { limit: rate.limit.limit, seconds: rate.limit.seconds, left: rate.left, from: rate.owner }
          : null,
      quota:
        quota?.limit.kind === 'quota'
          ? { limit: quota.limit.limit, per: quota.limit.per, left: quota.left, from: quota.owner }
          : null,
    },
  }
}

export function policyImpactToWire({ sample, ...counts }: PolicyImpact) {
  const items = sample.map(({ id, name, lastUsedAt, losses }) => ({
    _id: id,
    name,
    lastUsedAt: toTimeOrNull(lastUsedAt),
    losses: [...losses],
  }))
  return { ...counts, sample: items }
}
