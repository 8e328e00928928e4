// The tables of bulk operations.
import { type Field, json, number, optionalJson, optionalText, table, text } from '../model/table.ts'
import { optionalTime } from '../model/tables.ts'

/**
 * Changes of all tokens that a filter matches; see bulk.ts. Tokens are changed as these rows say: the stamp keeps anybody who can write
 * to the database from having a token enabled by one.
 */
export const BULK_OPERATIONS = table({
  name: 'bulkOperations',
  key: ['id'],
  fields: {
    id: text,
    accountId: text,
    action: text as Field<'disable' | 'enable' | 'delete' | 'expire'>,
    /** As it was sent. Its times count from `createdAt`. */
    filter: json,
    /** The only sub-accounts that the caller saw, sorted; null for all of the account. */
    scope: optionalJson,
    reason: optionalText,
    createdAt: number,
    by: text,
    byName: optionalText,
    /** By whom, and by which authority, what is done now was ordered: the operation, or its undoing. */
    ordered: json,
    status: text as Field<'running' | 'done' | 'undone' | 'failed'>,
    direction: text as Field<'do' | 'undo'>,
    total: number,
    parts: number,
    /** How many parts are done and not undone: it goes up, or down again. */
    position: number,
    done: number,
    skipped: number,
    restored: number,
    /** Changed tokens that are not restored: they were changed since. */
    kept: number,
    endedAt: optionalTime,
    /** Why it has failed. */
    error: optionalText as Field<'revoked' | 'altered' | 'restored' | null>,
  },
  stamp: {
    kind: 'bulk',
    fields: [
      ...(['id', 'accountId', 'action', 'filter', 'scope', 'reason', 'createdAt', 'by', 'byName', 'ordered'] as const),
      ...([
        'status',
        'direction',
        'total',
        'parts',
        'position',
        'done',
        'skipped',
        'restored',
        'kept',
        'endedAt',
      ] as const),
    ],
  },
})

/** Some of the tokens that an operation is about, which are changed in one transaction. */
export const BULK_PARTS = table({
  name: 'bulkParts',
  key: ['operationId', 'number'],
  fields: {
    operationId: text,
    number: number,
    accountId: text,
    createdAt: number,
    /** An array of arrays: the id of each, and its version when the operation was accepted. */
    tokens: json,
    /** What was changed: the id of each, its version then, and what it had before. Null until it was this part's turn. */
    changes: optionalJson,
  },
  stamp: { kind: 'bulk-part', fields: ['operationId', 'number', 'accountId', 'createdAt', 'tokens', 'changes'] },
})
