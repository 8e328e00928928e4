// What the operator asks: rows as they are stored, chains, master keys.

import type { ChainLink } from '../../tokens/history/history.ts'
import type { StoredRow, Table } from '../../tokens/model/table.ts'
import type { VaultRow } from '../../tokens/trust/key-ring.ts'
import type { ImportStore } from '../../tokens/upkeep/ports.ts'
import { columnOf, HEAD, HISTORY_ROW, namesOf, Selection, tableOf } from '../columns.ts'
import { identity, own, query, short, upkeep } from './question.ts'
import { type Dialect, type Value, Values } from './statements.ts'

export const findOwner = query(
  (id: string) => [id],
  `SELECT account_id FROM sub_accounts WHERE id = ?1 UNION ALL SELECT account_id FROM tokens WHERE id = ?1
   UNION ALL SELECT account_id FROM webhooks WHERE id = ?1
   UNION ALL SELECT account_id FROM bulk_operations WHERE id = ?1
   UNION ALL SELECT account_id FROM history WHERE token_id = ?1 LIMIT 1`,
  ([row]) => row?.[0] as string | undefined,
)

export const readVault = query(
  () => [],
  'SELECT key_id, sealed_secret, seals FROM vault ORDER BY created_at',
  (rows) => rows.map(([keyId, sealedSecret, seals]) => ({ keyId, sealedSecret, seals: Boolean(seals) }) as VaultRow),
)

export const ping = query(
  () => [],
  'SELECT 1',
  () => {},
)

export const upkeepQuestions = {
  ping: identity(ping),
  findOwner: short(findOwner),
  findTokensByNames: own<ImportStore['findTokensByNames']>('short'),
  readVault: short(readVault),
  listRetiredMasterKeys: short(
    () => [],
    'SELECT key_id FROM retired_master_keys',
    (rows) => rows.flat() as string[],
  ),
  /** Some rows of the chains, after the given one, so that no snapshot is held for long. */
  readChainPart: upkeep(
    ({ accountId, seq }: { accountId: string; seq: number }, limit: number) => [accountId, seq, limit],
    `SELECT ${HISTORY_ROW.columns('h')} FROM history h WHERE (account_id, seq) > (?1, ?2) ORDER BY account_id, seq LIMIT ?3`,
    (rows): ChainLink[] => HISTORY_ROW.readAll(rows).map((row) => ({ kind: 'row', row })),
  ),
  readChainHeads: upkeep(
    () => [],
    `SELECT ${HEAD.columns('h')} FROM history_heads h ORDER BY h.account_id`,
    (rows): ChainLink[] => HEAD.readAll(rows).map((head) => ({ kind: 'head', ...head })),
  ),
  /** The rows of a table after one that was read before, in the order of its key, which has no null. */
  readRows: upkeep(({ sign }: Dialect, table: Table, after: StoredRow | undefined, limit: number) => {
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
  }),
}
