// What is asked of bulk operations.
import type { BulkQuery, BulkStore } from '../../tokens/bulk/ports.ts'
import { BULK, BULK_PART } from '../columns.ts'
import { long, own, query, short } from './question.ts'
import { type Dialect, ofAccount, pageOf, Values } from './statements.ts'

const OPERATIONS = `SELECT ${BULK.columns('o')} FROM bulk_operations o`

export const findBulk = query(
  (accountId: string, id: string) => [accountId, id],
  `${OPERATIONS} WHERE o.account_id = ?1 AND o.id = ?2`,
  ([row]) => BULK.readOne(row),
)

/** Of all accounts. */
export const listAllRunningBulk = query(
  () => [],
  `${OPERATIONS} WHERE o.status = 'running' AND o.id > '' ORDER BY o.id`,
  (rows) => BULK.readAll(rows),
)

export const countRunningBulk = query(
  (accountId: string) => [accountId],
  `SELECT CAST(count(*) AS bigint) FROM bulk_operations WHERE account_id = ?1 AND status = 'running'`,
  ([row]) => row?.[0] as number,
)

export const bulkQuestions = {
  findBulk: short(findBulk),
  findBulkPart: short(
    (operationId: string, number: number) => [operationId, number],
    `SELECT ${BULK_PART.columns('p')} FROM bulk_parts p WHERE p.operation_id = ?1 AND p.number = ?2`,
    ([row]) => BULK_PART.readOne(row),
  ),
  listRunningBulk: short(
    (after: string, limit: number) => [after, limit],
    `${OPERATIONS} WHERE o.status = 'running' AND o.id > ?1 ORDER BY o.id LIMIT ?2`,
    (rows) => BULK.readAll(rows),
  ),
  countRunningBulk: short(countRunningBulk),
  chooseBulk: own<BulkStore['chooseBulk']>('long', (accountId) => accountId),
  listBulk: long((dialect: Dialect, accountId: string, query: BulkQuery) => {
    const values = new Values(dialect.sign)
    const conditions = values.conditions([
      [accountId, ofAccount],
      [query.scope, (parameter) => `scope = ${parameter}`],
    ])
    return pageOf(values, query, {
      table: 'bulk_operations',
      conditions: [...conditions, dialect.inTime('random()')],
      order: 'id',
      columns: BULK.columns('item'),
      read: (row, from) => BULK.read(row, from),
    })
  }),
}
