// The stamp of a row ties the fields that decide who gets in together: a row edited in the database no longer matches its
// stamp and authenticates nobody. `tables.ts` says which fields these are.
import type { RecordOf, Table, Value } from '../model/table.ts'
import type { Stamps } from './vault.ts'

export const TAMPERED_KINDS = [
  'token',
  'sub-account',
  'retired',
  'key',
  'session',
  'portal',
  'webhook',
  'bulk',
  'bulk-part',
  'credential',
] as const

/** A row, or the credential sealed in a token, that was changed in the database and not by this service. */
export interface Tampered {
  readonly kind: (typeof TAMPERED_KINDS)[number]
  /** Of a former credential, its token's. */
  readonly id: string
}

export type Stamped<Row> = Row & { readonly stamp: Uint8Array }

/** The fields that a stamp of this table covers, as a row has them. */
type Covered<Stored extends Table> = Pick<RecordOf<Stored>, NonNullable<Stored['stamp']>['fields'][number]>

export function stampOf<Stored extends Table>(table: Stored, row: Covered<Stored>, stamps: Stamps): Uint8Array {
  return stamps.stampRow(stampedValues(table, row as Readonly<Record<string, Value>>))
}

export function isGenuine<Stored extends Table>(table: Stored, row: Stamped<Covered<Stored>>, stamps: Stamps): boolean {
  return stamps.isRowStamp(row.stamp, stampedValues(table, row as Readonly<Record<string, Value>>))
}

/** Whether a change concerns who gets in: a field that the stamp covers, of which the version only counts the changes. */
export function isDecisive<Stored extends Table>(
  { stamp }: Stored,
  before: Covered<Stored>,
  after: Covered<Stored>,
): boolean {
  const fields = (stamp?.fields ?? []) as readonly (keyof Covered<Stored>)[]
  return fields.some((field) => field !== 'version' && before[field] !== after[field])
}

function stampedValues({ stamp, added = [] }: Table, row: Readonly<Record<string, Value>>): Value[] {
  if (stamp === undefined) throw new Error('rows of this table have no stamp')
  const values: Value[] = [stamp.kind]
  for (const field of stamp.fields) if (!added.includes(field)) values.push(row[field] ?? null)
  for (const field of stamp.fields) {
    if (added.includes(field) && row[field] !== null) values.push(field, row[field] ?? null)
  }
  return values
}

/** The row after a change, with its stamp. A row that was tampered with keeps its wrong stamp. */
export function restamp<Stored extends Table, Row extends Covered<Stored>>(
  table: Stored,
  before: Stamped<Covered<Stored>>,
  after: Row,
  stamps: Stamps,
): Stamped<Row> {
  return { ...after, stamp: isGenuine(table, before, stamps) ? stampOf(table, after, stamps) : before.stamp }
}
