// What a change of the store is: the rows that it starts from, and what it comes to. Knows no engine: each has one executor, which
// locks, loads, has the change planned, writes, records and commits, all in one transaction.

import type { Chosen } from '../../tokens/bulk/bulk.ts'
import type { Plan } from '../../tokens/changes/plan.ts'
import { takesAccess as isRevoking } from '../../tokens/history/actions.ts'
import type { HistoryEvent, Origin } from '../../tokens/history/history.ts'
import { Failure } from '../../tokens/model/errors.ts'
import type { TokenQuery } from '../../tokens/model/page.ts'
import type { StoredRow, Table, Value } from '../../tokens/model/table.ts'
import type { Account, SubAccount, TokenRecord } from '../../tokens/model/token.ts'
import { isTaking, type Revocation } from '../../tokens/trust/revocations.ts'
import { type Stamped, stampOf } from '../../tokens/trust/stamp.ts'
import { keyIdOf, type Stamps } from '../../tokens/trust/vault.ts'
import type { Query } from '../questions/question.ts'
import type { SharedSql } from '../questions/statements.ts'

/** SQLite answers at once. PostgreSQL is asked for everything first, in one batch, and answers later. */
export type Asked<Found> = Found | Promise<Found>

/** A sub-account, as far as its new tokens need it. */
export interface Owner extends Pick<SubAccount, 'accountId' | 'name' | 'suspendedAt'>, Pick<Account, 'credentials'> {}

/** What changes start from. All of it stays as it is until the transaction ends. */
export interface Find {
  /** What the lock of its account protects. */
  row<Args extends readonly unknown[], Row>(query: Query<Args, Row>, ...args: Args): Asked<Row>
  /** What has to be locked itself. */
  locked<Args extends readonly unknown[], Row>(query: Query<Args, Row>, ...args: Args): Asked<Row>
  token(accountId: string, id: string): Asked<FoundToken | undefined>
  /** The tokens that a list of this query would have, whatever its page, in the order of their ids; undefined as for lists. */
  matching(accountId: string, query: TokenQuery): Asked<readonly Chosen[] | undefined>
  /** By the ids of the sub-accounts; unknown ones are left out. */
  owners(subAccountIds: ReadonlySet<string>): Asked<ReadonlyMap<string, Owner>>
  /** Where the history of all accounts is. */
  position(): Asked<string>
  /** The id of the master key that seals; undefined if the database itself refuses what is sealed with another one. */
  sealingKey(): Asked<string | undefined>
}

export interface FoundToken {
  readonly token: Stamped<TokenRecord>
  readonly subAccount: SubAccount
}

/** Rows have their stamps. What an engine derives of rows (search indexes, counts) follows them by itself. */
export type Write =
  | { readonly kind: 'insert'; readonly table: Table; readonly rows: readonly object[] }
  /** `before` is the row as it was found. Only the fields that differ are written. */
  | { readonly kind: 'update'; readonly table: Table; readonly before: object; readonly after: object }
  | { readonly kind: 'delete'; readonly table: Table; readonly row: object }
  /** All rows with these fields, or those of them in which another field is at most a number. */
  | { readonly kind: 'prune'; readonly table: Table; readonly where: StoredRow; readonly upTo?: UpTo | undefined }
  /** A statement about rows that need not be loaded. */
  | { readonly kind: 'run'; readonly statement: SharedSql; readonly values: readonly Value[] }

export interface UpTo {
  readonly field: string
  readonly value: number
}

/** What a change comes to. */
export interface Planned<Answer> {
  readonly answer: Answer
  readonly writes: readonly Write[]
  readonly events: readonly HistoryEvent[]
  /** For the revocation journal: what the change takes away, or switches on again. */
  readonly revocations: readonly Revocation[]
  /** It has found nothing left to do. */
  readonly isRepeated: boolean
  /** Whether verification may decide otherwise after it: then verifiers have to confirm it. */
  readonly decides: boolean
}

export interface Change<Answer> {
  /** Whose histories it continues. PostgreSQL locks them before anything is loaded. */
  readonly accounts: readonly string[] | ((find: Find) => Asked<readonly string[]>)
  /** In whose turn it is made, where that is not the first of these accounts; see `turnOf`. */
  readonly turn?: string
  /** Of many requests together: it ends with none of them. */
  readonly isShared?: boolean
  /** Who asks. The authority and the idempotency key are checked inside the transaction; undefined for what has neither. */
  readonly origin: Origin | undefined
  readonly load?: (find: Find) => readonly unknown[]
  /** Pure: it may be called again. Throws the refusals. `accounts` are those that were locked. */
  readonly plan: (rows: readonly unknown[], stamps: Stamps, accounts: readonly string[]) => Planned<Answer>
}

/** Changes of different accounts take turns. */
export const turnOf = ({ turn, accounts }: Change<unknown>): string =>
  turn ?? (typeof accounts === 'function' ? undefined : accounts[0]) ?? ''

interface Definition<Answer, Loading extends readonly unknown[]> extends Omit<Change<Answer>, 'load' | 'plan'> {
  readonly load?: (find: Find) => Loading
  readonly plan: (
    rows: { readonly [Index in keyof Loading]: Awaited<Loading[Index]> },
    stamps: Stamps,
    accounts: readonly string[],
  ) => Planned<Answer>
}

/** The plan is given what `load` has asked for. */
export function change<Answer, const Loading extends readonly unknown[] = []>(definition: Definition<Answer, Loading>) {
  return definition as Change<Answer>
}

/** The part of a plan in tokens/changes/plan.ts that concerns every engine alike. */
type UpdatePlan = Pick<Plan<object>, 'before' | 'after' | 'event'> & Partial<Pick<Plan<object>, 'journal' | 'decides'>>

/** With their stamps, in a table that has them. */
export function insertNew(table: Table, rows: readonly object[], stamps: Stamps): Write {
  const stamped = (row: object) => ({ ...row, stamp: stampOf(table, row as StoredRow, stamps) })
  return { kind: 'insert', table, rows: table.stamp === undefined ? rows : rows.map(stamped) }
}

export function updateRow(table: Table, before: object, after: object): Write {
  return { kind: 'update', table, before, after }
}

export const removeRow = (table: Table, row: object): Write => ({ kind: 'delete', table, row })
export const run = (statement: SharedSql, ...values: readonly Value[]): Write => ({ kind: 'run', statement, values })
export const prune = (table: Table, where: StoredRow, upTo?: UpTo): Write => ({ kind: 'prune', table, where, upTo })

export function planned(writes: readonly Write[], events: readonly HistoryEvent[]): Planned<void> {
  return { answer: undefined, writes, events, revocations: [], isRepeated: false, decides: false }
}

export function unchanged<Answer>(answer: Answer): Planned<Answer> {
  return { ...planned([], []), answer, isRepeated: true }
}

/** A store without it must be recognised. So must one without a change that is repeated: it may be one that could not be kept. */
export function takesAccess({ isRepeated, revocations, events }: Planned<unknown>): boolean {
  return isRepeated || revocations.some(isTaking) || events.some(({ action, to }) => isRevoking(action, to))
}

/** New rows with the events of their creation, which say whose they are. A new account has no history to continue. */
export function creation(table: Table, rows: readonly object[], events: readonly HistoryEvent[], origin: Origin) {
  return change({
    accounts: events.flatMap(({ accountId, action }) => (action === 'account.create' ? [] : accountId)),
    origin,
    plan: (_, stamps) => planned([insertNew(table, rows, stamps)], events),
  })
}

/** The update of one row, with all else that its plan says. */
export function changed<Answer>(table: Table, plan: UpdatePlan, answer: Answer): Planned<Answer> {
  const { before, after, event, journal = [], decides = false } = plan
  const writes = [updateRow(table, before, after)]
  return { ...planned(writes, event === undefined ? [] : [event]), answer, revocations: journal, decides }
}

/** `sealingKey` is what `Find` answers. */
export function requireSealedWith(sealingKey: string | undefined, sealed: Uint8Array): void {
  if (sealingKey !== undefined && keyIdOf(sealed) !== sealingKey) throw new Failure('master-key-superseded')
}
