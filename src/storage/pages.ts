// Lists of keys, sessions of the portal, verifiers and sub-accounts, and rows as they are stored, for both engines. Each is one statement, so that all of an
// answer is of one snapshot.

import type { VerifierQuery } from '../tokens/event-ports.ts'
import type { Verifier } from '../tokens/model/lease.ts'
import { canMatch, type Slice } from '../tokens/model/page.ts'
import type { PortalSession } from '../tokens/model/portal.ts'
import { IDLE_MS, LONGEST_MS } from '../tokens/model/session.ts'
import type { StoredRow, Table } from '../tokens/model/table.ts'
import { type AccountKey, foldCase } from '../tokens/model/token.ts'
import type { KeyQuery, PortalQuery, StampedSubAccountRow, SubAccountQuery } from '../tokens/ports.ts'
import {
  columnOf,
  KEY,
  namesOf,
  PORTAL_SESSION,
  Selection,
  subAccountRow,
  tableOf,
  toSubAccountRow,
  VERIFIER,
} from './columns.ts'
import { type Dialect, ofAccount, pageOf, type Question, type Value, Values } from './statements.ts'

export function listKeys(dialect: Dialect, accountId: string, query: KeyQuery): Question<Slice<AccountKey>> {
  const values = new Values(dialect.sign)
  const conditions = values.conditions([
    [accountId, ofAccount],
    [query.id, (parameter) => `id = ${parameter}`],
    [query.within, (parameter) => dialect.seesOnly(parameter)],
  ])
  return pageOf(values, query, {
    table: 'account_keys',
    conditions: [...conditions, dialect.inTime('random()')],
    order: 'id',
    columns: KEY.columns('item'),
    read: (row, from) => KEY.read(row, from),
  })
}

/** Those that last; whether the grants still let a person make one is not known here. */
export function listPortalSessions(
  dialect: Dialect,
  accountId: string,
  query: PortalQuery,
): Question<Slice<PortalSession>> {
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
}

export function listVerifiers(dialect: Dialect, { accountIds, ids }: VerifierQuery): Question<readonly Verifier[]> {
  const values = new Values(dialect.sign)
  const conditions = values.conditions([
    [accountIds, (place) => dialect.among('account_id', place)],
    [ids, (place) => dialect.among('id', place)],
  ])
  return {
    sql: `SELECT ${VERIFIER.columns('v')} FROM verifiers v WHERE ${[...conditions, "state <> 'gone'"].join(' AND ')}`,
    values: values.list,
    read: (rows) => VERIFIER.readAll(rows),
  }
}

export function listSubAccounts(
  dialect: Dialect,
  accountId: string,
  query: SubAccountQuery,
): Question<Slice<StampedSubAccountRow>> {
  const { search, ids } = query
  const values = new Values(dialect.sign)
  const conditions = values.conditions([
    [accountId, ofAccount],
    [search && foldCase(search), (parameter) => dialect.contains('folded_text', parameter)],
    [ids, (parameter) => dialect.among('id', parameter)],
  ])
  if (search !== undefined && !canMatch(search)) conditions.push('false')
  return pageOf(values, query, {
    table: 'sub_accounts',
    conditions: [...conditions, dialect.inTime('random()')],
    order: 'id',
    columns: subAccountRow('item'),
    read: toSubAccountRow,
  })
}

/** The rows of a table after one that was read before, in the order of its key, which has no null. */
export function readRows(
  { sign }: Dialect,
  table: Table,
  after: StoredRow | undefined,
  limit: number,
): Question<StoredRow[]> {
  const values = new Values(sign)
  const key = table.key.map(columnOf).join(', ')
  const parameters = after && table.key.map((field) => values.add(after[field] as Value))
  const beyond = parameters === undefined ? '' : `WHERE (${key}) > (${parameters.join(', ')})`
  const names = namesOf(table)
  return {
    sql: `SELECT ${names.map(columnOf).join(', ')} FROM ${tableOf(table)} ${beyond} ORDER BY ${key} LIMIT ${values.add(limit)}`,
    values: values.list,
    read: (rows) => new Selection<StoredRow>(names).readAll(rows),
  }
}
