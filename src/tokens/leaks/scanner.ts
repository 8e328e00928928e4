// Which parts of a text can be a credential: bytes in, candidates out, in constant memory and without a store. Our own credentials
// are recognised by their format and checksum. An imported one may be any printable ASCII: each part of a word that begins and ends
// at punctuation, and has the shape of one, is a candidate. What a word stands for, if it is encoded, is searched in the same way.
import { SHORTEST_WITH_END } from '../trust/credential.ts'
import { kindOfCredential } from '../verify/credential-format.ts'
import { base64Decoded, isHexadecimal, percentDecoded, unescaped } from './decodings.ts'
import type { Shapes } from './shapes.ts'
import { narrowed, wideWords } from './utf16.ts'
import { type Joined, WrappedLines } from './wrapped-lines.ts'

export interface Candidate {
  readonly text: string
  /** Counted from 1. */
  readonly line: number
}

const MAX_CREDENTIAL = 1_024
/** A longer word is read in pieces, which overlap so that no credential is split. */
const MAX_WORD = 32_768
export const OVERLAP = 8 * MAX_CREDENTIAL
/** Encodings within encodings, such as base64 in a JSON string in a URL. */
const MAX_DEPTH = 3
/** Shorter ones are not found in base64: too much would be a candidate. */
const FEWEST_IN_BASE64 = 8
/** The parts of a candidate of any length at most (`a.b` has three), unless it begins or ends at a delimiter. */
const MAX_PARTS = 8

const OURS = /^lk_(?:tok|key)_/
const OUR_LENGTH = 56

/** Kinds of bytes. All others separate words. */
const LETTER = 1
const PUNCTUATION = 2
/** Delimits values in JSON, shells, markup and code. A credential that contains one is found only as a whole word. */
const DELIMITER = 4
/** Begins what JSON and URLs write in place of a delimiter. */
const ESCAPE = 8

const KINDS = Uint8Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte)
  if (byte <= 0x20 || byte >= 0x7f) return 0
  if (/[\w-]/.test(character)) return LETTER
  const delimits = /["'`<>()[\]{},;|\\]/.test(character) ? DELIMITER : 0
  return PUNCTUATION | delimits | (/[\\%]/.test(character) ? ESCAPE : 0)
})
const [LINE_FEED, BACKSLASH, PERCENT, LOWER_K, LOWER_L, LOWER_U] = Buffer.from('\n\\%klu') as unknown as number[]

const kindAt = (bytes: Uint8Array, at: number) => KINDS[bytes[at] ?? 0] ?? 0

export class LeakScanner {
  readonly #shapes: Shapes | 'any'
  readonly #lengths: readonly number[]
  readonly #shortest: number
  /** Undefined until the first two bytes are there, which can be a byte order mark. */
  #decode: ((chunk: Uint8Array) => Uint8Array) | undefined
  /** The beginning of a word that may go on. */
  #unfinished: Buffer = Buffer.alloc(0)
  readonly #wrapped = new WrappedLines(MAX_WORD, OVERLAP)
  #line = 1
  #found: Candidate[] = []

  /** With `any`, where nothing is known about one of them, there are a hundred times as many candidates. */
  constructor(shapes: Shapes | 'any') {
    this.#shapes = shapes
    this.#lengths = shapes === 'any' ? [] : shapes.lengths
    const shortestOfEnds = shapes !== 'any' && shapes.hasEnds ? SHORTEST_WITH_END : OUR_LENGTH
    this.#shortest = shapes === 'any' ? 1 : Math.min(OUR_LENGTH, shortestOfEnds, ...this.#lengths)
  }

  /** The candidates of all words that end in this chunk, which may repeat. */
  scan(chunk: Uint8Array): readonly Candidate[] {
    const bytes = this.#read(chunk)
    const end = this.#decode === undefined ? 0 : startOfLastWord(bytes)
    this.#scanWords(bytes.subarray(0, end))
    this.#unfinished = bytes.subarray(end)
    if (this.#unfinished.length > MAX_WORD) {
      this.#scanWords(this.#unfinished)
      this.#unfinished = this.#unfinished.subarray(-OVERLAP)
    }
    return this.#taken()
  }

  end(): readonly Candidate[] {
    this.#scanWords(this.#unfinished)
    this.#scanJoined(this.#wrapped.end())
    return this.#taken()
  }

  #read(chunk: Uint8Array): Buffer {
    if (this.#decode !== undefined) return Buffer.concat([this.#unfinished, this.#decode(chunk)])
    const beginning = Buffer.concat([this.#unfinished, chunk])
    if (beginning.length < 2) return beginning
    this.#decode = narrowed(beginning)
    return Buffer.from(this.#decode(beginning))
  }

  #taken(): readonly Candidate[] {
    const found = this.#found
    this.#found = []
    return found
  }

  #scanWords(bytes: Buffer): void {
    const firstLine = this.#line
    for (let at = 0; at < bytes.length; ) {
      const start = at
      let kinds = 0
      for (let kind = kindAt(bytes, at); at < bytes.length && kind !== 0; kind = kindAt(bytes, ++at)) kinds |= kind
      if (at > start) {
        if (at - start >= this.#shortest) this.#scanWord(bytes, start, at, kinds, 0)
        this.#scanJoined(this.#wrapped.addWord(bytes, start, at, this.#line))
      }
      if (bytes[at] === LINE_FEED) {
        this.#line++
        this.#wrapped.endLine()
      }
      at++
    }
    for (const { word, line } of wideWords(bytes, firstLine)) {
      this.#onLine(line, () => this.#scanWord(word, 0, word.length, PUNCTUATION | ESCAPE, 0))
    }
  }

  #onLine(line: number, scan: () => void): void {
    const lineOfBytes = this.#line
    this.#line = line
    scan()
    this.#line = lineOfBytes
  }

  /** Lines of base64 that belong together. */
  #scanJoined(joined: Joined | undefined): void {
    if (joined === undefined) return
    const { word, line } = joined
    this.#onLine(line, () => this.#scanBase64(word, 0, word.length, 1))
  }

  #scanWord(bytes: Buffer, start: number, end: number, kinds: number, depth: number): void {
    if (end - start >= OUR_LENGTH) this.#findOurs(bytes, start, end)
    const word = { bytes, start, end, hasEscapes: (kinds & ESCAPE) !== 0 }
    if (this.#fits(bytes, start, end)) this.#add(bytes, start, end)
    if (this.#shapes !== 'any' && this.#shapes.hasEnds) this.#findEnds(word, this.#shapes)
    if ((kinds & PUNCTUATION) !== 0) {
      if (this.#shapes === 'any') this.#findAll(word)
      else if (this.#lengths.length > 0) this.#findShaped(word, this.#shapes)
    }
    if (depth < MAX_DEPTH) this.#scanDecodings(word, depth + 1)
  }

  #scanDecodings({ bytes, start, end, hasEscapes }: Word, depth: number): void {
    if (hasEscapes) {
      for (const decoded of [percentDecoded(bytes, start, end), unescaped(bytes, start, end)]) {
        if (decoded !== undefined) this.#scanDecoded(decoded, depth)
      }
    }
    this.#scanBase64(bytes, start, end, depth)
  }

  #scanBase64(bytes: Buffer, start: number, end: number, depth: number): void {
    const shortest = Math.max(FEWEST_IN_BASE64, this.#shortest)
    for (const decoded of base64Decoded(bytes, start, end, shortest)) this.#scanDecoded(decoded, depth)
  }

  /** All of it stands in the present line. */
  #scanDecoded(bytes: Buffer, depth: number): void {
    for (let at = 0; at < bytes.length; at++) {
      const start = at
      let kinds = 0
      for (let kind = kindAt(bytes, at); at < bytes.length && kind !== 0; kind = kindAt(bytes, ++at)) kinds |= kind
      if (at - start >= this.#shortest) this.#scanWord(bytes, start, at, kinds, depth)
    }
    for (const { word } of wideWords(bytes, 0)) this.#scanWord(word, 0, word.length, PUNCTUATION | ESCAPE, depth)
  }

  #findOurs(bytes: Buffer, start: number, end: number): void {
    for (let at = start; at <= end - OUR_LENGTH; at++) {
      if (bytes[at] !== LOWER_L || bytes[at + 1] !== LOWER_K) continue
      const text = bytes.toString('latin1', at, at + OUR_LENGTH)
      if (OURS.test(text) && kindOfCredential(text) !== undefined) this.#add(bytes, at, at + OUR_LENGTH)
    }
  }

  #findShaped(word: Word, shapes: Shapes): void {
    const { bytes, start, end } = word
    let delimiter = start - 1
    for (let at = start; at <= end - this.#shortest; at++) {
      if (!beginsPart(word, at)) continue
      if (delimiter < at) delimiter = nextDelimiter(word, at)
      for (const length of this.#lengths) {
        if (at + length > delimiter) break
        const to = at + length
        if (endsPart(word, to) && shapes.fits(bytes, to, length)) this.#add(bytes, at, to)
      }
    }
  }

  /** Of any length, with the last characters of one. */
  #findEnds(word: Word, shapes: Shapes): void {
    const { bytes, start, end } = word
    for (let to = start + SHORTEST_WITH_END; to <= end; to++) {
      if (!endsPart(word, to) || !shapes.fitsEnd(bytes, to)) continue
      const first = Math.max(start, to - MAX_CREDENTIAL)
      for (let at = to - 1; at >= first && (kindAt(bytes, at) & DELIMITER) === 0; at--) {
        if (to - at >= SHORTEST_WITH_END && beginsPart(word, at)) this.#add(bytes, at, to)
      }
    }
  }

  #findAll(word: Word): void {
    const { bytes, start, end } = word
    let delimiter = start - 1
    for (let at = start; at < end; at++) {
      if (!beginsPart(word, at)) continue
      if (delimiter < at) delimiter = nextDelimiter(word, at)
      const beginsAfterDelimiter = at === start || (kindAt(bytes, at - 1) & DELIMITER) !== 0 || followsEscape(word, at)
      const last = Math.min(delimiter, at + MAX_CREDENTIAL)
      let parts = 0
      for (let to = at + 1; to <= last; to++) {
        if (!endsPart(word, to)) continue
        const endsAtDelimiter = to === delimiter || beginsEscape(word, to)
        if (++parts <= MAX_PARTS || beginsAfterDelimiter || endsAtDelimiter) this.#add(bytes, at, to)
      }
    }
  }

  #fits(bytes: Buffer, start: number, end: number): boolean {
    const length = end - start
    if (this.#shapes === 'any') return length <= MAX_CREDENTIAL
    return this.#lengths.includes(length) && this.#shapes.fits(bytes, end, length)
  }

  #add(bytes: Buffer, start: number, end: number): void {
    this.#found.push({ text: bytes.toString('latin1', start, end), line: this.#line })
  }
}

interface Word {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  readonly hasEscapes: boolean
}

/** Each punctuation mark is a part, and so is what stands between two of them. */
function beginsPart(word: Word, at: number): boolean {
  const { bytes, start, hasEscapes } = word
  const kind = kindAt(bytes, at)
  if ((kind & DELIMITER) !== 0) return false
  if (at === start || ((kind | kindAt(bytes, at - 1)) & PUNCTUATION) !== 0) return true
  return hasEscapes && followsEscape(word, at)
}

function endsPart({ bytes, end }: Word, at: number): boolean {
  return at === end || ((kindAt(bytes, at) | kindAt(bytes, at - 1)) & PUNCTUATION) !== 0
}

/** The first delimiter from here on, or the end of the word. */
function nextDelimiter({ bytes, end }: Word, from: number): number {
  let at = from
  while (at < end && (kindAt(bytes, at) & DELIMITER) === 0) at++
  return at
}

/** After `\n` or `\u0022`, as in JSON, or `%3D`, as in URLs. */
function followsEscape({ bytes, start }: Word, at: number): boolean {
  if (at - start >= 2 && bytes[at - 2] === BACKSLASH) return true
  if (at - start >= 3 && bytes[at - 3] === PERCENT) return isHexadecimal(bytes, at - 2) && isHexadecimal(bytes, at - 1)
  const isUnicode = at - start >= 6 && bytes[at - 6] === BACKSLASH && bytes[at - 5] === LOWER_U
  return isUnicode && [1, 2, 3, 4].every((back) => isHexadecimal(bytes, at - back))
}

function beginsEscape({ bytes }: Word, at: number): boolean {
  return bytes[at] === PERCENT && isHexadecimal(bytes, at + 1) && isHexadecimal(bytes, at + 2)
}

/** Of one that may continue in the next chunk, also as UTF-16. */
function startOfLastWord(bytes: Uint8Array): number {
  let start = bytes.length
  while (start > 0 && (bytes[start - 1] === 0 || kindAt(bytes, start - 1) !== 0)) start--
  return start
}
