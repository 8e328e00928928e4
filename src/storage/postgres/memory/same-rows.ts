// A cache of row objects: an unchanged row is the same object, so that values derived from it can be cached with it. Every row is
// still read from the store, and compared with the cached one field by field.
import { bytesOf, Recent } from '../../../tokens/model/clock-cache.ts'
import { KEY, LISTED } from '../../columns.ts'
import type { Columns, Fields } from '../protocol/batch.ts'

/** Bytes that a row of the usual size takes, including derived values. */
const ROW = 2_000

interface Known<Item> {
  readonly fields: Fields
  readonly item: Item
}

/** The rows must have the same columns in the same order, with the id first. */
export class SameRows<Item extends object> {
  readonly #toItem: (values: readonly unknown[]) => Item
  readonly #known: Recent<string, Known<Item>>

  /** Holds at most `limit` rows of the usual size, and fewer larger ones. */
  constructor(toItem: (values: readonly unknown[]) => Item, limit: number) {
    this.#toItem = toItem
    this.#known = new Recent(limit * ROW)
  }

  /** `from` is the index of the id; columns before it do not belong to the row. */
  get(fields: Fields, columns: Columns, from = 0): Item {
    const id = fields[from] ?? ''
    const known = this.#known.get(id)
    if (known !== undefined && isSame(known.fields, fields, from)) return known.item
    const item = this.#toItem(columns.toValues(fields, from).map(withOwnBytes))
    const own = fields.slice(from)
    this.#known.set(id, { fields: own, item }, Math.max(ROW, ROW / 2 + bytesOf(own)))
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
  readonly listed = new SameRows((values) => LISTED.read(values), 8_000)
}
