// Arrays in PostgreSQL's binary form: a column of many rows is one parameter, and bytes need not be written as text.
import { asBuffer } from '../../../tokens/trust/vault.ts'

type ElementType = 'text' | 'bytes' | 'tsvector'

/** PostgreSQL's numbers of the types. */
const OIDS: Readonly<Record<ElementType, number>> = { text: 25, bytes: 17, tsvector: 3614 }

const ONE_DIMENSION = 1
const LOWER_BOUND = 1
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is ASCII as a whole
const ASCII = /^[\u0000-\u007f]*$/

/** Built as a string with one character for each byte: writing each element into a buffer takes twice the time. */
export function binaryArray(type: ElementType, values: readonly (string | Uint8Array | null)[]): Buffer {
  let elements = ''
  let hasNull = 0
  for (const value of values) {
    if (value === null) {
      elements += NULL
      hasNull = 1
    } else {
      const bytes = toBytes(value)
      elements += int32(bytes.length) + bytes
    }
  }
  const header = [ONE_DIMENSION, hasNull, OIDS[type], values.length, LOWER_BOUND].map(int32).join('')
  return Buffer.from(header + elements, 'latin1')
}

/** A character for each byte. */
function toBytes(value: string | Uint8Array): string {
  if (typeof value !== 'string') return asBuffer(value).toString('latin1')
  return ASCII.test(value) ? value : Buffer.from(value).toString('latin1')
}

/** The length of an element that is null: -1. */
const NULL = '\xff\xff\xff\xff'

const MAX_SHORT = 1_024
const short: string[] = []

function int32(number: number): string {
  const known = short[number]
  if (known !== undefined) return known
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(number)
  const text = bytes.toString('latin1')
  if (number < MAX_SHORT) short[number] = text
  return text
}
