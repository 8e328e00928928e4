// Which texts were seen before, in few bytes each: a large file has more names and credentials than fit as strings.
import { hash } from 'node:crypto'

/** 96 bits of a hash: among a billion texts, two share them by chance with a probability of one in 10^11. */
const WORDS = 3
const MAX_FILLED = 0.75

export class SeenTexts {
  #slots = 1 << 12
  #table = new Uint32Array(this.#slots * WORDS)
  #count = 0

  /** False if it was seen before. */
  add(text: string): boolean {
    if (this.has(text)) return false
    if (++this.#count > this.#slots * MAX_FILLED) this.#grow()
    const hash = hashOf(text)
    this.#table.set(hash, this.#find(hash))
    return true
  }

  has(text: string): boolean {
    return isUsed(this.#table, this.#find(hashOf(text)))
  }

  /** Where the hash is, or else the free slot where it would be. */
  #find(hash: Uint32Array): number {
    const table = this.#table
    let slot = (hash[0] ?? 0) % this.#slots
    for (;;) {
      const at = slot * WORDS
      const isHere = table[at] === hash[0] && table[at + 1] === hash[1] && table[at + 2] === hash[2]
      if (isHere || !isUsed(table, at)) return at
      slot = (slot + 1) % this.#slots
    }
  }

  #grow(): void {
    const former = this.#table
    this.#slots *= 2
    this.#table = new Uint32Array(this.#slots * WORDS)
    for (let at = 0; at < former.length; at += WORDS) {
      const hash = former.subarray(at, at + WORDS)
      if (isUsed(former, at)) this.#table.set(hash, this.#find(hash))
    }
  }
}

function isUsed(table: Uint32Array, at: number): boolean {
  return table[at + WORDS - 1] !== 0
}

/** The last word is never zero: that is a slot which is free. */
function hashOf(text: string): Uint32Array {
  const bytes = hash('sha1', text, 'buffer')
  return Uint32Array.of(bytes.readUInt32LE(0), bytes.readUInt32LE(4), (bytes.readUInt32LE(8) | 1) >>> 0)
}
