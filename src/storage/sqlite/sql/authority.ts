// Whether the one who asks for a change still may, asked inside its transaction.
import type { Origin } from '../../../tokens/record/history.ts'
import { endOfKey, endOfSession, requireNotEnded } from '../../../tokens/trust/authority.ts'
import type { Connection } from '../connection.ts'
import { findKeyById, findSessionById } from './reads.ts'

/** First in every change that a caller asks for. Only one process at a time writes to the file: the answer holds until the commit. */
export function requireAuthority(db: Connection, { authority, at }: Origin): void {
  if (authority === undefined) return
  const { kind, id } = authority
  requireNotEnded(kind === 'key' ? endOfKey(findKeyById(db, id)) : endOfSession(findSessionById(db, id)), at)
}
