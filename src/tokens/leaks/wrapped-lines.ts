// Base64 that is wrapped, as most programs write it: what stands at the end of a line, alone on the next ones and at the beginning of
// the last, as one word.
import { isBase64 } from './decodings.ts'

/** Programs wrap at 60 columns or more. What is shorter does not go on in the next line. */
const FEWEST_COLUMNS = 40

export interface Joined {
  readonly word: Buffer
  readonly line: number
}

export class WrappedLines {
  readonly #most: number
  readonly #overlap: number
  /** Of one block. The last one may go on in the next line. */
  #lines: Buffer[] = []
  #bytes = 0
  #firstLine = 1
  #wordsInLine = 0

  /** What is longer than `most` bytes is joined in pieces, which overlap. */
  constructor(most: number, overlap: number) {
    this.#most = most
    this.#overlap = overlap
  }

  /** Returns what has ended with this word, or has become long enough. */
  addWord(bytes: Buffer, start: number, end: number, line: number): Joined | undefined {
    const isFirst = ++this.#wordsInLine === 1
    if (isFirst && this.#lines.length > 0) return this.#continue(bytes, start, end, line)
    const ended = this.end()
    this.#begin(bytes, start, end, line)
    return ended
  }

  endLine(): void {
    this.#wordsInLine = 0
  }

  /** Undefined where no more than one line is left, which is part of a word by itself. */
  end(): Joined | undefined {
    const joined = this.#lines.length > 1 ? { word: Buffer.concat(this.#lines), line: this.#firstLine } : undefined
    if (this.#lines.length > 0) this.#lines = []
    this.#bytes = 0
    return joined
  }

  #begin(bytes: Buffer, start: number, end: number, line: number): void {
    if (end - start < FEWEST_COLUMNS) return
    let from = end
    while (from > start && isBase64(bytes[from - 1] as number)) from--
    if (end - from < FEWEST_COLUMNS) return
    this.#push(bytes, from, end)
    this.#firstLine = line
  }

  #continue(bytes: Buffer, start: number, end: number, line: number): Joined | undefined {
    let to = start
    while (to < end && isBase64(bytes[to] as number)) to++
    this.#push(bytes, start, to)
    if (to < end || to - start < FEWEST_COLUMNS) {
      const ended = this.end()
      this.#begin(bytes, to, end, line)
      return ended
    }
    if (this.#bytes < this.#most) return undefined
    const piece = this.end() as Joined
    this.#begin(piece.word, piece.word.length - this.#overlap, piece.word.length, line)
    return piece
  }

  #push(bytes: Buffer, start: number, end: number): void {
    this.#lines.push(Buffer.from(bytes.subarray(start, end)))
    this.#bytes += end - start
  }
}
