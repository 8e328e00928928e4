// What is known of the imported credentials of a store before a text is searched for them: their lengths, and marks of their last
// characters. A text that fits none of them need not be looked up. Takes 4 MB, however many there are.
import { SHORTEST_WITH_END } from '../trust/credential.ts'

const MARKS = 2 ** 25
const END = 4
/** Longer than any: in place of a length that is not known. */
const ANY_LENGTH = 1_000_000

export class Shapes {
  readonly #lengths = new Set<number>()
  /** Of these lengths, a credential may have any last characters. */
  readonly #open = new Set<number>()
  /** A bit for each mark; different shapes may share one. */
  readonly #marks = new Uint8Array(MARKS / 8)

  /** Whether there are credentials of which only the last characters are known. */
  hasEnds = false

  /** `end` has the last four characters, or is all of a shorter credential; undefined if it is not known. */
  add(length: number, end: string | undefined): void {
    this.#lengths.add(length)
    if (end === undefined) this.#open.add(length)
    else this.#mark(end, length)
  }

  /** One of which only the last characters are known, as its mask shows them. */
  addEnd(end: string): void {
    this.hasEnds = true
    this.#mark(end, ANY_LENGTH)
  }

  /** One of which nothing is known, but that it is too short for its mask to show a part of it. */
  addShort(): void {
    for (let length = 1; length < SHORTEST_WITH_END; length++) this.add(length, undefined)
  }

  #mark(end: string, length: number): void {
    const bytes = Buffer.from(end)
    const mark = markOf(bytes, bytes.length, length)
    this.#marks[mark >> 3] = (this.#marks[mark >> 3] ?? 0) | (1 << (mark & 7))
  }

  /** From short to long. */
  get lengths(): number[] {
    return [...this.#lengths].sort((one, other) => one - other)
  }

  /** Whether the bytes before `end` may be a credential of this length, which is one of `lengths`. */
  fits(bytes: Uint8Array, end: number, length: number): boolean {
    return this.#isMarked(bytes, end, length) || this.#open.has(length)
  }

  /** Whether a credential of unknown length may end there. */
  fitsEnd(bytes: Uint8Array, end: number): boolean {
    return this.#isMarked(bytes, end, ANY_LENGTH)
  }

  #isMarked(bytes: Uint8Array, end: number, length: number): boolean {
    const mark = markOf(bytes, end, length)
    return ((this.#marks[mark >> 3] ?? 0) & (1 << (mark & 7))) !== 0
  }
}

function markOf(bytes: Uint8Array, end: number, length: number): number {
  let mark = length
  for (let at = Math.max(0, end - Math.min(END, length)); at < end; at++) {
    mark = Math.imul(mark ^ (bytes[at] ?? 0), 0x5bd1e995)
    mark ^= mark >>> 15
  }
  return mark & (MARKS - 1)
}
