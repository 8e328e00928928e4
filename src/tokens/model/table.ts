// What a table is: its fields and their types, its stamp, and what the history shows of it. The tables themselves are in tables.ts.

export type Value = string | number | null | Uint8Array
export type StoredRow = Readonly<Record<string, Value>>

/** `holds` exists only for the compiler. */
export interface Field<Holds extends Value> {
  readonly type: 'text' | 'number' | 'bytes'
  /** Text that is JSON: records hold it as text, so that all fields can be compared; readers get the value. */
  readonly isJson?: true
  readonly holds?: Holds
}

export type FieldType = Field<Value>['type']
export type Fields = Readonly<Record<string, Field<Value>>>

export interface Table<Name extends string = string> {
  readonly name: string
  /** Rows are read, copied and compared in the order of these fields, by their bytes. */
  readonly key: readonly Name[]
  readonly fields: Fields
  readonly stamp?: StampRule<Name>
  /** Fields that a history row shows when they change. */
  readonly history?: readonly Name[]
  /**
   * Fields added after the first release. While one is null it is left out of the stamp and of the history of a creation, so
   * that rows written before the field existed keep their stamps.
   */
  readonly added?: readonly Name[]
}

/** A row whose stamp does not match these fields authenticates nobody. */
interface StampRule<Name extends string> {
  readonly kind: string
  readonly fields: readonly Name[]
}

export type RecordOf<Stored extends Table> = {
  readonly [Name in keyof Stored['fields']]: Stored['fields'][Name] extends Field<infer Holds> ? Holds : never
}

/** Checks that every name is one of the fields. */
export const table = <const Columns extends Fields, const Definition extends Table<keyof Columns & string>>(
  definition: Definition & { readonly fields: Columns },
) => definition

export const text: Field<string> = { type: 'text' }
export const optionalText: Field<string | null> = { type: 'text' }
export const number: Field<number> = { type: 'number' }
export const optionalNumber: Field<number | null> = { type: 'number' }
export const bytes: Field<Uint8Array> = { type: 'bytes' }
export const optionalBytes: Field<Uint8Array | null> = { type: 'bytes' }
export const json: Field<string> = { type: 'text', isJson: true }
export const optionalJson: Field<string | null> = { type: 'text', isJson: true }

/** The fields of a table as they are stored, the stamp included. */
export function storedFields({ fields, stamp }: Table): Fields {
  return stamp === undefined ? fields : { ...fields, stamp: bytes }
}
