// What is asked of a store about people who sign in.

import type { Origin } from '../history/history.ts'
import type { Timestamp } from '../model/token.ts'
import type { Stamped } from '../trust/stamp.ts'
import type { StoredSession } from './session.ts'

/** What counts once, such as a code, by the digests of what identifies it. Recorded for `SPENT_MS`. */
export interface SpentStore {
  /** False if one of them was recorded before. */
  spend(digests: readonly Uint8Array[], at: Timestamp): Promise<boolean>
}

/** People who are signed in to the console. */
export interface SessionStore extends Pick<SpentStore, 'spend'> {
  /** Removes those that have ended, too. With a history row if an account is chosen. */
  insertSession(session: StoredSession, origin: Origin): Promise<void>
  /** By the cookie, of which only the digest is stored. One that has ended may still be found. */
  findSession(presented: string): Promise<Stamped<StoredSession> | undefined>
  /** Of all accounts: those whose ids come before this one, newest first. Those that have ended may be among them. */
  listSessions(before: string, limit: number): Promise<readonly Stamped<StoredSession>[]>
  /** Does nothing if the session no longer exists. */
  renewSession(id: string, at: Timestamp): Promise<void>
  /** With a row in the history of that account. Rejects with `token-invalid` if the session no longer exists. */
  chooseAccount(id: string, accountId: string, origin: Origin): Promise<void>
  /** With a row in the history of the account that is chosen, if there is an origin. Does nothing if the session no longer exists. */
  deleteSession(id: string, origin?: Origin): Promise<void>
  /** For another caller than the person, with a row in the history of this account. Rejects with `session-not-found`. */
  revokeSession(accountId: string, id: string, origin: Origin): Promise<StoredSession>
}
