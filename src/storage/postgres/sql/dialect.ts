// What PostgreSQL writes differently from SQLite. Not every server can say of any text whether it is JSON, and a row that was
// altered may be none: such columns are read by their text.
import type { Dialect } from '../../questions/statements.ts'

/** Permissions for some sub-accounts, exactly as they are stored. */
const SOME_SUB_ACCOUNTS = String.raw`'^\{"role":"[a-z]+","reveal":(true|false),"subAccounts":\[("[\w-]*"(,"[\w-]*")*)?\]\}$'`

/**
 * The limit makes PostgreSQL look the row up: it expects a row from every partition, and would rather read through a small table
 * for so many.
 */
export const OWNER_OF_T = 'JOIN LATERAL (SELECT * FROM sub_accounts WHERE id = t.sub_account_id LIMIT 1) s ON true'

export const POSTGRES: Dialect = {
  sign: '$',
  among: (column, strings) => `${column} = ANY(${strings}::text[])`,
  amongNumbers: (column, numbers) => `${column} = ANY(${numbers}::bigint[])`,
  // An array is evaluated first.
  oneOf: (column, statement) => `${column} = ANY(ARRAY(${statement}))`,
  withoutIndex: (column) => column,
  contains: (column, text) => `strpos(${column}, ${text}) > 0`,
  tokensWithOwners: `tokens t ${OWNER_OF_T}`,
  foldedName: (alias) => `(SELECT f.folded_name FROM token_search f
    WHERE f.account_id = ${alias}.account_id AND f.token_id = ${alias}.id)`,
  endsWith: (column, four) => `right(${column}, 4) = ${four}`,
  // The offset keeps PostgreSQL from reading the whole table instead, for a join by hashes.
  joinEach: (table, conditions) => {
    const [, alias] = table.split(' ')
    return `CROSS JOIN LATERAL (SELECT * FROM ${table} WHERE ${conditions} OFFSET 0) AS ${alias} WHERE true`
  },
  inTime: () => 'true',
  seesOnly: (ids) => `CASE WHEN permissions ~ ${SOME_SUB_ACCOUNTS}
    THEN permissions::jsonb -> 'subAccounts' <@ to_jsonb(${ids}::text[]) END`,
  subAccountOf: (facts) => `split_part(split_part(${facts} COLLATE "C", '"subAccountId":"', 2), '"', 1)`,
  // Names, the status and the suspension are written before them.
  withoutMetadata: (facts) => `split_part(${facts}, '"metadata":', 1)`,
  now: '(extract(epoch FROM clock_timestamp()) * 1000)::bigint',
  tokenIdFloor: (time) => `('tok_' || lpad(to_hex(greatest(0, ${time})), 12, '0')) COLLATE "C"`,
  maxLifetime: `substring(policy FROM '"maxLifetimeSeconds":([0-9]{1,12})')::bigint`,
}
