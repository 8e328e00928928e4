// What verification reads, as the domain judges it: a token with its sub-account, by its own credential or a former one.
import type { Candidate } from '../../tokens/verdict.ts'
import * as rows from '../rows.ts'

export type CandidateColumns = rows.CandidateColumns & {
  r_digest: Uint8Array | null
  r_token_id: string
  retires_at: number
  r_stamp: Uint8Array
}

export function toCandidate(row: CandidateColumns): Candidate {
  const { r_digest, r_token_id: tokenId, retires_at: retiresAt, r_stamp: stamp } = row
  return {
    ...rows.toCandidate(row),
    retired: r_digest === null ? undefined : { digest: r_digest, tokenId, retiresAt, stamp },
  }
}
