import { IDLE_MS, LONGEST_MS } from '../../tokens/people/session.ts'
import type { PortalQuery } from '../../tokens/portal/ports.ts'
import { PORTAL_SESSION } from '../columns.ts'
import { identity, long, query } from './question.ts'
import { type Dialect, ofAccount, pageOf, Values } from './statements.ts'

export const findPortalSession = query(
  (id: string) => [id],
  `SELECT ${PORTAL_SESSION.columns('p')} FROM portal_sessions p WHERE p.id = ?1`,
  ([row]) => PORTAL_SESSION.readOne(row),
)

export const portalQuestions = {
  findPortalSession: identity(findPortalSession),
  /** Those that last; whether the grants still let a person make one is not known here. */
  listPortalSessions: long((dialect: Dialect, accountId: string, query: PortalQuery) => {
    const { at, within } = query
    const values = new Values(dialect.sign)
    const conditions = values.conditions([
      [accountId, ofAccount],
      [within, (parameter) => dialect.among('sub_account_id', parameter)],
      [at, (parameter) => `expires_at > ${parameter}`],
    ])
    const [begunAfter, seenAfter] = [values.add(at - LONGEST_MS), values.add(at - IDLE_MS)]
    const isMakerThere = `coalesce(
      (SELECT k.revoked_at IS NULL FROM account_keys k WHERE k.id = maker),
      (SELECT s.created_at > ${begunAfter} AND s.seen_at > ${seenAfter} FROM sessions s WHERE s.id = maker),
      maker IS NULL)`
    return pageOf(values, query, {
      table: 'portal_sessions',
      conditions: [...conditions, 'ended_at IS NULL', isMakerThere, dialect.inTime('random()')],
      order: 'id',
      columns: PORTAL_SESSION.columns('item'),
      read: (row, from) => PORTAL_SESSION.read(row, from),
    })
  }),
}
