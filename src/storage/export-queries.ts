// Lists read to their end, one part after the other, for both engines. A part looks at a fixed number of rows in the order of the
// list and returns those that match, so that it costs the same whatever the filters are.
import { canMatch, type ListPart, type PartRequest, type TokenFilter } from '../tokens/model/page.ts'
import { type AccountKey, foldCase } from '../tokens/model/token.ts'
import type { ExportedRow, KeyQuery, StampedSubAccountRow, SubAccountQuery } from '../tokens/ports.ts'
import { EXPORTED, KEY, subAccountRow, toSubAccountRow } from './columns.ts'
import { type Dialect, ofAccount, type Question, Values } from './statements.ts'
import { tokenFilters } from './token-queries.ts'

interface Looking<Row> {
  readonly table: string
  /** Which rows are looked at: an index has just these, in the order of their ids. */
  readonly scope: readonly string[]
  readonly order: string
  /** The row has the alias `t`. */
  readonly conditions: readonly string[]
  readonly joins?: string
  /** The first one is null for a row that does not match. */
  readonly columns: string
  readonly read: (values: readonly unknown[], from: number) => Row
}

export function exportTokens(
  dialect: Dialect,
  accountId: string,
  filter: TokenFilter,
  at: PartRequest,
): Question<ListPart<ExportedRow>> {
  const { subAccountId, status, search } = filter
  const values = new Values(dialect.sign)
  const conditions = tokenFilters(dialect, values, accountId, filter)
  const account = values.add(accountId)
  if (search !== undefined) {
    const name = dialect.foldedName('t')
    conditions.push(canMatch(search) ? dialect.contains(name, values.add(foldCase(search))) : 'false')
  }
  return partOf(values, at, {
    table: 'tokens',
    scope: [
      `${subAccountId === undefined ? 'account_id' : dialect.withoutIndex('account_id')} = ${account}`,
      ...values.conditions([
        [subAccountId, (parameter) => `sub_account_id = ${parameter}`],
        [status, (parameter) => `status = ${parameter}`],
      ]),
    ],
    order: 'id DESC',
    conditions,
    joins: `LEFT JOIN sub_accounts s ON s.id = t.sub_account_id AND s.account_id = ${account}`,
    columns: EXPORTED.columns,
    read: (row, from) => EXPORTED.read(row, from),
  })
}

export function exportSubAccounts(
  dialect: Dialect,
  accountId: string,
  { search, ids }: Omit<SubAccountQuery, 'page' | 'limit'>,
  at: PartRequest,
): Question<ListPart<StampedSubAccountRow>> {
  const values = new Values(dialect.sign)
  const scope = [ofAccount(values.add(accountId))]
  const conditions = values.conditions([
    [search && foldCase(search), (parameter) => dialect.contains('t.folded_text', parameter)],
    [ids, (parameter) => dialect.among('t.id', parameter)],
  ])
  if (search !== undefined && !canMatch(search)) conditions.push('false')
  const columns = subAccountRow('t')
  return partOf(values, at, {
    table: 'sub_accounts',
    scope,
    order: ID_ORDER,
    conditions,
    columns,
    read: toSubAccountRow,
  })
}

export function exportKeys(
  dialect: Dialect,
  accountId: string,
  { within }: Pick<KeyQuery, 'within'>,
  at: PartRequest,
): Question<ListPart<AccountKey>> {
  const values = new Values(dialect.sign)
  return partOf(values, at, {
    table: 'account_keys',
    scope: [ofAccount(values.add(accountId))],
    order: ID_ORDER,
    conditions: values.conditions([[within, (parameter) => dialect.seesOnly(parameter)]]),
    columns: KEY.columns('t'),
    read: (row, from) => KEY.read(row, from),
  })
}

const ID_ORDER = 'account_id DESC, id DESC'

function partOf<Row>(values: Values, { before, size }: PartRequest, looking: Looking<Row>): Question<ListPart<Row>> {
  const { table, scope, order, conditions, joins = '', columns, read } = looking
  const wanted = [...scope, ...values.conditions([[before, (parameter) => `id < ${parameter}`]])]
  return {
    sql: `WITH looked AS MATERIALIZED (
        SELECT id AS looked_at FROM ${table} WHERE ${wanted.join(' AND ')} ORDER BY ${order} LIMIT ${values.add(size)}
      )
      SELECT looked_at, ${columns} FROM looked
      LEFT JOIN ${table} t ON ${['t.id = looked_at', ...conditions].join(' AND ')} ${joins} ORDER BY looked_at DESC`,
    values: values.list,
    read: (rows) => ({
      rows: rows.filter(([, first]) => first !== null).map((row) => read(row, 1)),
      next: rows.length < size ? undefined : (rows.at(-1)?.[0] as string),
    }),
  }
}
