// Verifiers as they are sent and printed.
import type { Verifier } from '../../tokens/model/lease.ts'
import { toTime } from '../../tokens/model/times.ts'

export function verifierToWire({ id, name, since, confirmedAt, version }: Verifier) {
  return { _id: id, name, since: toTime(since), confirmedAt: toTime(confirmedAt), version }
}
