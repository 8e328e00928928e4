// The last verifications of tokens as they are stored, for both engines.
import type { TokenActivity } from '../tokens/model/token.ts'
import { dayOf } from '../tokens/model/usage.ts'
import { mergeRecent, type RecentVerifications } from '../tokens/verify/recent-verifications.ts'
import { query } from './queries.ts'

const read = (stored: unknown): RecentVerifications =>
  typeof stored === 'string' ? (JSON.parse(stored) as RecentVerifications) : []

/** `row` is undefined where nothing in `noted` is new. */
export function mergeStored(stored: unknown, noted: RecentVerifications) {
  const before = read(stored)
  const merged = mergeRecent(before, noted)
  const row = { day: dayOf(merged[0]?.at ?? 0), verifications: JSON.stringify(merged) }
  return { merged, row: merged === before ? undefined : row }
}

export const findRecent = query(
  (tokenId: string) => [tokenId],
  'SELECT verifications FROM recent_verifications WHERE token_id = ?1',
  ([row]) => read(row?.[0]),
)

/** `formers`: until when each former credential works that still does, and the last verifications of the token. */
export function toActivity(
  lastUsedAt: number | null,
  formers: readonly (readonly [until: number, verifications: string | null])[],
): TokenActivity {
  const until = formers.map(([each]) => each)
  const lastUse = read(formers[0]?.[1]).find(({ formerUntil }) => until.includes(formerUntil ?? 0))
  return {
    lastUsedAt,
    formerCredentialUntil: until.length === 0 ? null : Math.max(...until),
    formerCredentialLastUsedAt: lastUse?.at ?? null,
    formerCredentialLastUsedFrom: lastUse?.address ?? null,
  }
}
