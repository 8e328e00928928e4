// Which texts were seen before, in few bytes each: a large file has more names and credentials than fit as strings.
import { hash } from 'node:crypto'

/** 96 bits of a hash: among a billion texts, two share them by chance with a probability of one in 10^11. */
const WORDS = 3
const MAX_FILLED = 0.75

export class SeenTexts {
  #places = 1 << 12
  #table = new Uint32Array(this.#places * WORDS)
  #count = 0

  /** False if it was seen before. */
  add(text: string): boolean {
    if (this.has(text)) return false
    if (++this.#count > this.#places * MAX_FILLED) this.#grow()
    const mark = markOf(text)
    this.#table.set(mark, this.#find(mark))
    return true
  }

  has(text: string): boolean {
    return isUsed(this.#table, this.#find(markOf(text)))
  }

  /** Where the mark is, or else the free place where it would be. */
  #find(mark: Uint32Array): number {
    const table = this.#table
    let place = (mark[0] ?? 0) % this.#places
    for (;;) {
      const at = place * WORDS
      const isHere = table[at] === mark[0] && table[at + 1] === mark[1] && table[at + 2] === mark[2]
      if (isHere || !isUsed(table, at)) return at
      place = (place + 1) % this.#places
    }
  }

  #grow(): void {
    const former = this.#table
    this.#places *= 2
    this.#table = new Uint32Array(this.#places * WORDS)
    for (let at = 0; at < former.length; at += WORDS) {
      const mark = former.subarray(at, at + WORDS)
      if (isUsed(former, at)) this.#table.set(mark, this.#find(mark))
    }
  }
}

function isUsed(table: Uint32Array, at: number): boolean {
  return table[at + WORDS - 1] !== 0
}

/** The last word is never zero: that is a place which is free. */
function markOf(text: string): Uint32Array {
  const bytes = hash('sha1', text, 'buffer')
  return Uint32Array.of(bytes.readUInt32LE(0), bytes.readUInt32LE(4), (bytes.readUInt32LE(8) | 1) >>> 0)
}
