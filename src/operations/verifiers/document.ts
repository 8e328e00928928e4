// Verifiers as they are sent and printed.

import { toTime } from '../../tokens/model/times.ts'
import type { Verifier } from '../../tokens/verifiers/lease.ts'

export function verifierToWire({ id, name, since, confirmedAt, version }: Verifier) {
  return { _id: id, name, since: toTime(since), confirmedAt: toTime(confirmedAt), version }
}
