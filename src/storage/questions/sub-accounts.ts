// What is asked of sub-accounts.
import { canMatch, type PageRequest, type PartRequest } from '../../tokens/model/page.ts'
import { foldCase } from '../../tokens/model/token.ts'
import type { SubAccountQuery } from '../../tokens/service/ports.ts'
import { subAccountRow, toSubAccountRow } from '../columns.ts'
import { long, query, short } from './question.ts'
import { type Dialect, ID_ORDER, ofAccount, pageOf, partOf, Values } from './statements.ts'

type Filter = Omit<SubAccountQuery, keyof PageRequest>

export const findSubAccount = query(
  (accountId: string, id: string) => [accountId, id],
  `SELECT ${subAccountRow('s')} FROM sub_accounts s WHERE s.account_id = ?1 AND s.id = ?2`,
  ([row]) => row && toSubAccountRow(row),
)

export const subAccountQuestions = {
  findSubAccount: short(findSubAccount),
  listSubAccounts: long((dialect: Dialect, accountId: string, query: SubAccountQuery) => {
    const values = new Values(dialect.sign)
    const scope = ofAccount(values.add(accountId))
    return pageOf(values, query, {
      table: 'sub_accounts',
      conditions: [scope, ...matching(dialect, values, query, 'sub_accounts'), dialect.inTime('random()')],
      order: 'id',
      columns: subAccountRow('item'),
      read: toSubAccountRow,
    })
  }),
  exportSubAccounts: long((dialect: Dialect, accountId: string, filter: Filter, at: PartRequest) => {
    const values = new Values(dialect.sign)
    return partOf(values, at, {
      table: 'sub_accounts',
      scope: [ofAccount(values.add(accountId))],
      order: ID_ORDER,
      conditions: matching(dialect, values, filter, 't'),
      columns: subAccountRow('t'),
      read: toSubAccountRow,
    })
  }),
}

/** `alias` is the table's. */
function matching({ contains, among }: Dialect, values: Values, { search, ids }: Filter, alias: string): string[] {
  const conditions = values.conditions([
    [search && foldCase(search), (parameter) => contains(`${alias}.folded_text`, parameter)],
    [ids, (parameter) => among(`${alias}.id`, parameter)],
  ])
  return search === undefined || canMatch(search) ? conditions : [...conditions, 'false']
}
