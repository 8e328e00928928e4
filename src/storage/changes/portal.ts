// Changes of the sessions of the portal.

import * as plans from '../../tokens/changes/plan.ts'
import type { Origin } from '../../tokens/history/history.ts'
import { Failure } from '../../tokens/model/errors.ts'
import { PORTAL_SESSIONS } from '../../tokens/model/tables.ts'
import type { SubAccount } from '../../tokens/model/token.ts'
import { ENDED_MS, type PortalSession } from '../../tokens/portal/session.ts'
import { restamp } from '../../tokens/trust/stamp.ts'
import { findPortalSession } from '../questions/portal.ts'
import { change, insertNew, type Planned, planned, prune, updateRow } from './change.ts'

export const portalChanges = {
  openPortal: (subAccount: SubAccount, session: PortalSession, origin: Origin) =>
    change({
      accounts: [session.accountId],
      origin,
      plan: (_, stamps) => {
        const { accountId, createdAt } = session
        const writes = [
          prune(PORTAL_SESSIONS, { accountId }, { field: 'expiresAt', value: createdAt - ENDED_MS }),
          insertNew(PORTAL_SESSIONS, [session], stamps),
        ]
        return planned(writes, [plans.portalOpened(subAccount, session)])
      },
    }),
  closePortal: (subAccount: SubAccount, id: string, origin: Origin) =>
    change({
      accounts: [subAccount.accountId],
      origin,
      load: (find) => [find.row(findPortalSession, id)],
      plan: ([found], stamps): Planned<PortalSession> => {
        const lasts = found?.endedAt === null && found.subAccountId === subAccount.id && found.expiresAt > origin.at
        if (!lasts) throw new Failure('session-not-found')
        const after = restamp(PORTAL_SESSIONS, found, { ...found, endedAt: origin.at }, stamps)
        const event = plans.portalClosed(subAccount, found)
        return { ...planned([updateRow(PORTAL_SESSIONS, found, after)], [event]), answer: after }
      },
    }),
}
