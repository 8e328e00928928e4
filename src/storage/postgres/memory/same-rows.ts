// A cache of row objects: an unchanged row is the same object, so that values derived from it can be cached with it. Every row is
// still read from the store, and compared with the cached one field by field.
import { Recent } from '../../../tokens/recent.ts'
import { KEY, LISTED } from '../../tables.ts'
import type { Columns, Fields } from '../sql/batch.ts'

interface Known<Item> {
  readonly fields: Fields
  readonly item: Item
}

/** The rows must have the same columns in the same order, with the id first. */
export class SameRows<Item extends object> {
  readonly #toItem: (values: readonly unknown[]) => Item
  readonly #known: Recent<string, Known<Item>>

  /** Holds at most `limit` rows. */
  constructor(toItem: (values: readonly unknown[]) => Item, limit: number) {
    this.#toItem = toItem
    this.#known = new Recent(limit)
  }

  /** `from` is the index of the id; columns before it do not belong to the row. */
  get(fields: Fields, columns: Columns, from = 0): Item {
    const id = fields[from] ?? ''
    const known = this.#known.get(id)
    if (known !== undefined && isSame(known.fields, fields, from)) return known.item
    const item = this.#toItem(columns.toValues(fields, from).map(withOwnBytes))
    this.#known.set(id, { fields: fields.slice(from), item })
    return item
  }
}

/** A small buffer is a view of a larger one, which would stay in memory with the row. */
function withOwnBytes(value: unknown): unknown {
  return value instanceof Uint8Array ? new Uint8Array(value) : value
}

function isSame(known: Fields, fields: Fields, from: number): boolean {
  return known.length === fields.length - from && known.every((field, i) => field === fields[from + i])
}

export class Remembered {
  readonly keys = new SameRows((values) => KEY.read(values), 2_000)
  /** Some 2 kB each, including derived values. */
  readonly listed = new SameRows((values) => LISTED.read(values), 8_000)
}
