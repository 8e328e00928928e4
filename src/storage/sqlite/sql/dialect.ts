// What SQLite writes differently from PostgreSQL.
import type { Dialect, Value } from '../../questions/statements.ts'
import { inTime } from '../sqlite-connection.ts'

/** Arrays are passed as JSON. */
export function toInput(value: Value) {
  return typeof value === 'object' && !(value instanceof Uint8Array) ? JSON.stringify(value) : value
}

const elements = (array: string) => `(SELECT value FROM json_each(${array}))`

export const SQLITE: Dialect = {
  sign: '?',
  among: (column, strings) => `${column} IN ${elements(strings)}`,
  amongNumbers: (column, numbers) => `${column} IN ${elements(numbers)}`,
  oneOf: (column, statement) => `${column} IN (${statement})`,
  withoutIndex: (column) => `+${column}`,
  contains: (column, text) => `instr(${column}, ${text}) > 0`,
  tokensWithOwners: 'tokens t CROSS JOIN sub_accounts s ON s.id = t.sub_account_id',
  foldedName: (alias) => `${alias}.folded_name`,
  endsWith: (column, four) => `substr(${column}, -4) = ${four}`,
  joinEach: (table, conditions) => `CROSS JOIN ${table} WHERE ${conditions}`,
  inTime,
  seesOnly: (ids) => `CASE WHEN json_valid(permissions)
    THEN json_type(permissions, '$.subAccounts') = 'array' AND NOT EXISTS
      (SELECT 1 FROM json_each(permissions, '$.subAccounts') WHERE value NOT IN ${elements(ids)}) END`,
  subAccountOf: (facts) => `CASE WHEN json_valid(${facts}) THEN ${facts} ->> '$.subAccountId' END`,
  withoutMetadata: (facts) => `CASE WHEN json_valid(${facts}) THEN json_remove(${facts}, '$.metadata') ELSE '' END`,
  now: `CAST(unixepoch('subsec') * 1000 AS INTEGER)`,
  tokenIdFloor: (time) => `printf('tok_%012x', max(0, ${time}))`,
  maxLifetime: `CASE WHEN json_valid(policy) THEN policy ->> '$.maxLifetimeSeconds' END`,
}
