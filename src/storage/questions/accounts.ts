// What is asked of accounts and their keys.

import type { PartRequest } from '../../tokens/model/page.ts'
import type { KeyQuery } from '../../tokens/service/ports.ts'
import { ACCOUNT, KEY } from '../columns.ts'
import { identity, long, query, short } from './question.ts'
import { type Dialect, ID_ORDER, ofAccount, pageOf, partOf, Values } from './statements.ts'

const ACCOUNT_BY = `SELECT ${ACCOUNT.columns('a')} FROM accounts a`
const KEY_BY = `SELECT ${KEY.columns('k')} FROM account_keys k`

export const findAccount = query(
  (id: string) => [id],
  `${ACCOUNT_BY} WHERE a.id = ?1`,
  ([row]) => ACCOUNT.readOne(row),
)

export const findKeyByDigest = query(
  (digest: Uint8Array) => [digest],
  `${KEY_BY} WHERE k.digest = ?1`,
  ([row]) => KEY.readOne(row),
)

export const findKeyById = query(
  (id: string) => [id],
  `${KEY_BY} WHERE k.id = ?1`,
  ([row]) => KEY.readOne(row),
)

/** The account that a row belongs to, if there is one. */
export const accountsOf = (table: string) =>
  query(
    (id: string) => [id],
    `SELECT account_id FROM ${table} WHERE id = ?1 AND account_id IS NOT NULL`,
    (rows) => rows.flat() as string[],
  )

export const accountQuestions = {
  findAccount: identity(findAccount),
  findKeyById: identity(findKeyById),
  listAccounts: short(
    () => [],
    `${ACCOUNT_BY} ORDER BY a.id`,
    (rows) => ACCOUNT.readAll(rows),
  ),
  listKeys: long((dialect: Dialect, accountId: string, query: KeyQuery) => {
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
  }),
  exportKeys: long((dialect: Dialect, accountId: string, { within }: Pick<KeyQuery, 'within'>, at: PartRequest) => {
    const values = new Values(dialect.sign)
    return partOf(values, at, {
      table: 'account_keys',
      scope: [ofAccount(values.add(accountId))],
      order: ID_ORDER,
      conditions: values.conditions([[within, (parameter) => dialect.seesOnly(parameter)]]),
      columns: KEY.columns('t'),
      read: (row, from) => KEY.read(row, from),
    })
  }),
}
