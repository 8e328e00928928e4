// How long a person stays signed in to the console. Pure.
import type { RecordOf } from '../model/table.ts'
import type { SESSIONS, Timestamp } from '../model/tables.ts'

export type StoredSession = RecordOf<typeof SESSIONS>

const MINUTE = 60_000
export const IDLE_MS = 30 * MINUTE
export const LONGEST_MS = 12 * 60 * MINUTE
/** A use is written only if the last one that was written is older. */
const RENEWED_EVERY_MS = MINUTE

const MAX_USER_AGENT_CHARACTERS = 200

/** What a browser says of itself, as it is stored. */
export function storedUserAgent(sent: string | undefined): string | null {
  return sent?.slice(0, MAX_USER_AGENT_CHARACTERS).trim() || null
}

/** When it ends unless it is used again. */
export function endOf({ createdAt, seenAt }: Pick<StoredSession, 'createdAt' | 'seenAt'>): Timestamp {
  return Math.min(createdAt + LONGEST_MS, seenAt + IDLE_MS)
}

export function isDue({ seenAt }: Pick<StoredSession, 'seenAt'>, at: Timestamp): boolean {
  return at - seenAt >= RENEWED_EVERY_MS
}
