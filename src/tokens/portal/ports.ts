// What is asked of a store about the portal.

import type { Origin } from '../history/history.ts'
import type { PageRequest, Slice } from '../model/page.ts'
import type { StoredKey, SubAccount, Timestamp } from '../model/token.ts'
import type { SpentStore } from '../people/ports.ts'
import type { StoredSession } from '../people/session.ts'
import type { Stamped } from '../trust/stamp.ts'
import type { PortalSession } from './session.ts'

export interface PortalQuery extends PageRequest {
  /** Those that last at this time. */
  readonly at: Timestamp
  /** Only those of these sub-accounts. */
  readonly within: readonly string[] | null
}

export interface PortalStore extends SpentStore {
  /** Removes those of the account that ended long ago, too. */
  openPortal(subAccount: SubAccount, session: PortalSession, origin: Origin): Promise<void>
  /** One that has ended may still be found. */
  findPortalSession(id: string): Promise<Stamped<PortalSession> | undefined>
  /** Newest first. */
  listPortalSessions(accountId: string, query: PortalQuery): Promise<Slice<PortalSession>>
  /** Rejects with `session-not-found` for one that is not this sub-account's, or has ended. */
  closePortal(subAccount: SubAccount, id: string, origin: Origin): Promise<PortalSession>
  findKeyById(id: string): Promise<Stamped<StoredKey> | undefined>
  findSessionById(id: string): Promise<Stamped<StoredSession> | undefined>
}
