// Whether the one who asks for a change still may, and asks for it for the first time, asked inside its transaction.

import type { Idempotency, Origin } from '../../../tokens/history/history.ts'
import { Failure } from '../../../tokens/model/errors.ts'
import type { Authority } from '../../../tokens/model/permissions.ts'
import { FORGOTTEN_AT_ONCE, IDEMPOTENCY_MEMORY_MS } from '../../../tokens/model/update.ts'
import { makerOf } from '../../../tokens/portal/session.ts'
import {
  type AuthorityEnd,
  endOfKey,
  endOfPortal,
  endOfSession,
  requireNotEnded,
} from '../../../tokens/trust/authority.ts'
import { findKeyById } from '../../questions/accounts.ts'
import { findSessionById } from '../../questions/people.ts'
import { findPortalSession } from '../../questions/portal.ts'
import { findRequest } from '../../questions/tokens.ts'
import type { Connection } from '../sqlite-connection.ts'
import { ask } from './lookups.ts'

/** First in every change that a caller asks for. Only one process at a time writes to the file: the answer holds until the commit. */
export function requireAuthority(db: Connection, origin: Origin): void {
  const { authority, at, once } = origin
  if (authority !== undefined) for (const end of endsOf(db, authority)) requireNotEnded(end, at)
  if (once !== undefined) requireFirst(db, once, origin)
}

function endsOf(db: Connection, { kind, id }: Authority): readonly AuthorityEnd[] {
  if (kind === 'key') return [endOfKey(ask(db, findKeyById, [id]))]
  if (kind === 'session') return [endOfSession(ask(db, findSessionById, [id]))]
  const session = ask(db, findPortalSession, [id])
  const maker = session && makerOf(session)
  return [endOfPortal(session), ...(maker === undefined ? [] : endsOf(db, maker))]
}

/** Idempotency keys of a day ago are free again, and removed a few at a time: somebody may have used a million of them. */
function requireFirst(db: Connection, { accountId, key }: Idempotency, { at, by }: Origin): void {
  db.run(
    `DELETE FROM idempotency_keys WHERE created_at < ?1 AND (account_id, by, key) IN (
       SELECT * FROM (SELECT account_id, by, key FROM idempotency_keys WHERE created_at < ?1 LIMIT ${FORGOTTEN_AT_ONCE})
       UNION ALL VALUES (?2, ?3, ?4))`,
    ...[at - IDEMPOTENCY_MEMORY_MS, accountId, by, key],
  )
  if (ask(db, findRequest, [accountId, by, key]) !== undefined) throw new Failure('idempotency-conflict')
}
