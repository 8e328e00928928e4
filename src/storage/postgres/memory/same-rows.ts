// The same object for the same row, so that whatever was made of it can hang on it. Nothing is believed that the store has
// not just said: a row that was read is compared with the one that is remembered, field by field.
import { Recent } from '../../../tokens/recent.ts'
import { toKey, toListedRow } from '../../rows.ts'
import type { Columns, Fields } from '../sql/batch.ts'

interface Known<Item> {
  readonly fields: Fields
  readonly item: Item
}

/** For rows of the same columns in the same order, the first of which is the row's id. */
export class SameRows<Row, Item extends object> {
  readonly #toItem: (row: Row) => Item
  readonly #known: Recent<string, Known<Item>>

  /** Holds at most twice `limit` rows. */
  constructor(toItem: (row: Row) => Item, limit: number) {
    this.#toItem = toItem
    this.#known = new Recent(limit)
  }

  /** `from` is the place of the id; columns before it are not the row's. */
  get(fields: Fields, columns: Columns, from = 0): Item {
    const id = fields[from] ?? ''
    const known = this.#known.get(id)
    if (known !== undefined && isSame(known.fields, fields, from)) return known.item
    const item = this.#toItem(withOwnBytes(columns.toRow(fields)) as Row)
    this.#known.set(id, { fields: fields.slice(from), item })
    return item
  }
}

/** Small buffers are pieces of a larger one, all of which would be remembered with the row. */
function withOwnBytes(row: Record<string, unknown>): Record<string, unknown> {
  for (const name in row) {
    const value = row[name]
    if (value instanceof Uint8Array) row[name] = new Uint8Array(value)
  }
  return row
}

function isSame(known: Fields, fields: Fields, from: number): boolean {
  return known.length === fields.length - from && known.every((field, i) => field === fields[from + i])
}

/** The rows that are read most, by the questions that all others begin with. */
export class Remembered {
  readonly keys = new SameRows(toKey, 1_000)
  /** Some 2 kB each, with all that hangs on it. */
  readonly listed = new SameRows(toListedRow, 4_000)
}
