// Questions that both engines ask in the same words. `?1` is the first parameter, which PostgreSQL writes `$1`.
import type { Status } from '../tokens/model/token.ts'
import type { ChainLink } from '../tokens/record/history.ts'
import type { VaultRow } from '../tokens/trust/key-ring.ts'
import {
  ACCOUNT,
  HEAD,
  HISTORY_ROW,
  KEY,
  PORTAL_SESSION,
  REQUEST,
  SESSION,
  subAccountRow,
  toSubAccountRow,
} from './columns.ts'

export type Rows = readonly (readonly unknown[])[]

/** A statement that both engines run. */
export interface SharedSql {
  readonly sql: string
  /** The same as PostgreSQL writes it. */
  readonly postgresSql: string
}

export const sharedSql = (sql: string): SharedSql => ({ sql, postgresSql: sql.replaceAll('?', '$') })

export interface Query<Args extends readonly unknown[], Answer> extends SharedSql {
  readonly values: (...args: Args) => (string | number | Uint8Array)[]
  readonly read: (rows: Rows) => Answer
}

export function query<Args extends readonly unknown[], Answer>(
  values: Query<Args, Answer>['values'],
  sql: string,
  read: (rows: Rows) => Answer,
): Query<Args, Answer> {
  return { ...sharedSql(sql), values, read }
}

const ACCOUNT_BY = `SELECT ${ACCOUNT.columns('a')} FROM accounts a`
const SESSION_BY = `SELECT ${SESSION.columns('s')} FROM sessions s`
const byId = (id: string) => [id]
const byDigest = (digest: Uint8Array) => [digest]
const all = () => []

export const findAccount = query(byId, `${ACCOUNT_BY} WHERE a.id = ?1`, ([row]) => ACCOUNT.readOne(row))
export const listAccounts = query(all, `${ACCOUNT_BY} ORDER BY a.id`, (rows) => ACCOUNT.readAll(rows))

export const KEY_BY = `SELECT ${KEY.columns('k')} FROM account_keys k`
export const findKey = query(byDigest, `${KEY_BY} WHERE k.digest = ?1`, ([row]) => KEY.readOne(row))
export const findKeyById = query(byId, `${KEY_BY} WHERE k.id = ?1`, ([row]) => KEY.readOne(row))

/** The account that a row belongs to, if there is one. */
export const accountsOf = (table: string) =>
  query(
    byId,
    `SELECT account_id FROM ${table} WHERE id = ?1 AND account_id IS NOT NULL`,
    (rows) => rows.flat() as string[],
  )
export const accountsOfKey = accountsOf('account_keys')
export const accountsOfSession = accountsOf('sessions')

export const findSession = query(byDigest, `${SESSION_BY} WHERE s.digest = ?1`, ([row]) => SESSION.readOne(row))
export const findSessionById = query(byId, `${SESSION_BY} WHERE s.id = ?1`, ([row]) => SESSION.readOne(row))
export const listSessions = query(
  (before: string, limit: number) => [before, limit],
  `${SESSION_BY} WHERE s.id < ?1 ORDER BY s.id DESC LIMIT ?2`,
  (rows) => SESSION.readAll(rows),
)

export const findPortalSession = query(
  byId,
  `SELECT ${PORTAL_SESSION.columns('p')} FROM portal_sessions p WHERE p.id = ?1`,
  ([row]) => PORTAL_SESSION.readOne(row),
)

export const findRequest = query(
  (accountId: string, by: string, key: string) => [accountId, by, key],
  `SELECT ${REQUEST.columns('i')} FROM idempotency_keys i WHERE i.account_id = ?1 AND i.by = ?2 AND i.key = ?3`,
  ([row]) => REQUEST.readOne(row),
)

export const findSubAccount = query(
  (accountId: string, id: string) => [accountId, id],
  `SELECT ${subAccountRow('s')} FROM sub_accounts s WHERE s.account_id = ?1 AND s.id = ?2`,
  ([row]) => row && toSubAccountRow(row),
)

export const findOwner = query(
  byId,
  `SELECT account_id FROM sub_accounts WHERE id = ?1 UNION ALL SELECT account_id FROM tokens WHERE id = ?1
   UNION ALL SELECT account_id FROM webhooks WHERE id = ?1
   UNION ALL SELECT account_id FROM bulk_operations WHERE id = ?1
   UNION ALL SELECT account_id FROM history WHERE token_id = ?1 LIMIT 1`,
  ([row]) => row?.[0] as string | undefined,
)

export const countTokens = query(
  all,
  `SELECT status, CAST(sum(count) AS bigint) FROM token_counts WHERE scope IN (SELECT id FROM accounts) GROUP BY status`,
  (rows): Record<Status, number> => ({ active: 0, inactive: 0, ...Object.fromEntries(rows) }),
)

/** Some rows of the chains, after the given one, so that no snapshot is held for long. */
export const readChainPart = query(
  ({ accountId, seq }: { accountId: string; seq: number }, limit: number) => [accountId, seq, limit],
  `SELECT ${HISTORY_ROW.columns('h')} FROM history h WHERE (account_id, seq) > (?1, ?2) ORDER BY account_id, seq LIMIT ?3`,
  (rows): ChainLink[] => HISTORY_ROW.readAll(rows).map((row) => ({ kind: 'row', row })),
)

export const readChainHeads = query(
  all,
  `SELECT ${HEAD.columns('h')} FROM history_heads h ORDER BY h.account_id`,
  (rows): ChainLink[] => HEAD.readAll(rows).map((head) => ({ kind: 'head', ...head })),
)

export const readVault = query(all, 'SELECT key_id, sealed_secret, seals FROM vault ORDER BY created_at', (rows) =>
  rows.map(([keyId, sealedSecret, seals]) => ({ keyId, sealedSecret, seals: Boolean(seals) }) as VaultRow),
)

export const listRetiredMasterKeys = query(
  all,
  'SELECT key_id FROM retired_master_keys',
  (rows) => rows.flat() as string[],
)

export const ping = query(all, 'SELECT 1', () => {})
