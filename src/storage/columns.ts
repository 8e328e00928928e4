// SQL made from the domain's tables, for both engines. Columns are always named: a statement that PostgreSQL has prepared with
// a * fails as soon as a column is added.
import type { StoredBulk, StoredPart } from '../tokens/bulk/bulk.ts'
import { BULK_OPERATIONS, BULK_PARTS } from '../tokens/bulk/tables.ts'
import type { KeptRequest, StoredHistoryRow } from '../tokens/history/history.ts'
import { type RecordOf, type StoredRow, storedFields, type Table, type Value } from '../tokens/model/table.ts'
import {
  ACCOUNT_KEYS,
  ACCOUNTS,
  HISTORY,
  HISTORY_HEADS,
  IDEMPOTENCY_KEYS,
  LIMITS,
  PORTAL_SESSIONS,
  SESSIONS,
  SUB_ACCOUNTS,
  TOKENS,
  VERIFIERS,
} from '../tokens/model/tables.ts'
import {
  type Account,
  foldedText,
  type ListedToken,
  type StoredKey,
  type SubAccount,
  type TokenRecord,
} from '../tokens/model/token.ts'
import type { StoredSession } from '../tokens/people/session.ts'
import type { PortalSession } from '../tokens/portal/session.ts'
import type { ExportedRow, StampedSubAccountRow, TokenRow } from '../tokens/service/ports.ts'
import type { Stamped } from '../tokens/trust/stamp.ts'
import type { FoundRows } from '../tokens/trust/verdict.ts'
import type { Verifier } from '../tokens/verifiers/lease.ts'
import { WEBHOOK_DELIVERIES, WEBHOOKS } from '../tokens/webhooks/tables.ts'
import type { StoredDelivery, StoredWebhook } from '../tokens/webhooks/webhook.ts'

/** A field or a table in the database's spelling. */
export const columnOf = (field: string) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
export const tableOf = ({ name }: Table) => columnOf(name)

/** The stored fields of a table, its stamp included. */
export const namesOf = (table: Table, ...omitted: string[]): string[] =>
  Object.keys(storedFields(table)).filter((name) => !omitted.includes(name))

const stampedNames = ({ stamp }: Table): readonly string[] => stamp?.fields ?? []

/** For rows that are read as objects. */
export const selectList = (table: Table) =>
  namesOf(table)
    .map((field) => `${columnOf(field)} AS "${field}"`)
    .join(', ')

/** Some fields of a table, for rows that are read as arrays, alone or joined to others. */
export class Selection<Row> {
  readonly names: readonly string[]
  readonly #columns: readonly string[]

  constructor(names: readonly string[]) {
    this.names = names
    this.#columns = names.map(columnOf)
  }

  /** The columns of the table by its alias in the statement. */
  columns(alias: string): string {
    return this.#columns.map((column) => `${alias}.${column}`).join(', ')
  }

  /** Reads the row from an array in which its columns begin at `from`. */
  read(values: readonly unknown[], from = 0): Row {
    const row: Record<string, unknown> = {}
    for (let i = 0; i < this.names.length; i++) row[this.names[i] as string] = values[from + i]
    return row as Row
  }

  readOne(values: readonly unknown[] | undefined): Row | undefined {
    return values && this.read(values)
  }

  readAll(rows: readonly (readonly unknown[])[]): Row[] {
    return rows.map((values) => this.read(values))
  }
}

/** A token's row and its sub-account's. */
export class Joined<Left, Right> {
  readonly #left: Selection<Left>
  readonly #right: Selection<Right>
  readonly columns: string

  constructor(left: Selection<Left>, right: Selection<Right>) {
    this.#left = left
    this.#right = right
    this.columns = `${left.columns('t')}, ${right.columns('s')}`
  }

  get width(): number {
    return this.#left.names.length + this.#right.names.length
  }

  read(values: readonly unknown[], from = 0): { token: Left; subAccount: Right } {
    return {
      token: this.#left.read(values, from),
      subAccount: this.#right.read(values, from + this.#left.names.length),
    }
  }
}

export const ACCOUNT = new Selection<Account>(namesOf(ACCOUNTS))
export const KEY = new Selection<Stamped<StoredKey>>(namesOf(ACCOUNT_KEYS))
export const REQUEST = new Selection<KeptRequest>(namesOf(IDEMPOTENCY_KEYS))
export const SESSION = new Selection<Stamped<StoredSession>>(namesOf(SESSIONS))
export const PORTAL_SESSION = new Selection<Stamped<PortalSession>>(namesOf(PORTAL_SESSIONS))
export const VERIFIER = new Selection<Verifier>(namesOf(VERIFIERS))
export const LIMIT = new Selection<RecordOf<typeof LIMITS>>(namesOf(LIMITS))
export const WEBHOOK = new Selection<Stamped<StoredWebhook>>(namesOf(WEBHOOKS))
export const DELIVERY = new Selection<StoredDelivery>(namesOf(WEBHOOK_DELIVERIES))
export const BULK = new Selection<Stamped<StoredBulk>>(namesOf(BULK_OPERATIONS))
export const BULK_PART = new Selection<Stamped<StoredPart>>(namesOf(BULK_PARTS))
export const TOKEN = new Selection<Stamped<TokenRecord>>(namesOf(TOKENS))

/** What lists show, and nothing that only verification and changes need. */
export const LISTED_TOKEN = new Selection<ListedToken>(namesOf(TOKENS, 'digest', 'stamp'))
export const OWNER = new Selection<SubAccount>(namesOf(SUB_ACCOUNTS, 'stamp'))
export const LISTED = new Joined(LISTED_TOKEN, OWNER)
/** Exports have no credentials. */
export const EXPORTED = new Joined(
  new Selection<ExportedRow['token']>(LISTED_TOKEN.names.filter((name) => name !== 'sealed')),
  OWNER,
)

/** What a change needs to know of a token. */
export const CHANGED = new Joined(TOKEN, OWNER)

/** What verification reads: few columns, since it is read more often than all others together. */
export const CANDIDATE = new Joined(
  new Selection<FoundRows['token']>([...stampedNames(TOKENS), 'createdAt', 'stamp']),
  new Selection<FoundRows['subAccount']>([...stampedNames(SUB_ACCOUNTS), 'stamp']),
)

const STAMPED_SUB_ACCOUNT = new Selection<Stamped<SubAccount>>(namesOf(SUB_ACCOUNTS))

/** The columns of a sub-account with its counts, by its alias in the statement. */
export const subAccountRow = (alias: string) => `${STAMPED_SUB_ACCOUNT.columns(alias)},
  coalesce((SELECT count FROM token_counts WHERE scope = ${alias}.id AND status = 'active'), 0) AS active,
  coalesce((SELECT count FROM token_counts WHERE scope = ${alias}.id AND status = 'inactive'), 0) AS inactive`

export function toSubAccountRow(values: readonly unknown[], from = 0): StampedSubAccountRow {
  const [active, inactive] = values.slice(from + STAMPED_SUB_ACCOUNT.names.length) as [number, number]
  return { subAccount: STAMPED_SUB_ACCOUNT.read(values, from), tokens: { active, inactive } }
}

export const HISTORY_ROW = new Selection<StoredHistoryRow>(namesOf(HISTORY))
export const HEAD = new Selection<RecordOf<typeof HISTORY_HEADS>>(namesOf(HISTORY_HEADS))

/** A changed token as lists show it. */
export function asListed(token: TokenRecord, subAccount: SubAccount): TokenRow {
  return { token: pick(token, LISTED_TOKEN.names) as unknown as ListedToken, subAccount }
}

/** The stored fields that differ between two rows of a table. */
export function changedFields(table: Table, before: object, after: object): StoredRow {
  const [was, is] = [before as StoredRow, after as StoredRow]
  return pick(
    after,
    namesOf(table).filter((name) => was[name] !== is[name]),
  )
}

/** The same as columns, with those that are derived of the fields. */
export function changedColumns(table: Table, before: object, after: object): StoredRow {
  return { ...changedFields(table, before, after), ...derivedFields(table, after) }
}

/** What both engines derive of a row. */
export function derivedFields(table: Table, row: object): StoredRow {
  return table === SUB_ACCOUNTS ? { foldedText: foldedText(row as SubAccount) } : {}
}

export function pick(row: object, names: readonly string[]): StoredRow {
  const picked: Record<string, Value> = {}
  for (const name of names) picked[name] = (row as StoredRow)[name] ?? null
  return picked
}
