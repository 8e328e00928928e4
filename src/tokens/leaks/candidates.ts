// What can be a credential in a text of any size, in batches and with few repetitions: in bounded memory, in time that grows with the
// text and nothing else, and never long without a pause for others.

import { Recent } from '../model/clock-cache.ts'
import { Failure } from '../model/errors.ts'
import { kindOfCredential, OWN_LENGTH, ownCredentialsIn } from '../verify/credential-format.ts'

export type Text = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** By its text, the line in which it was found first, counted from 1. */
export type Batch = ReadonlyMap<string, number>

/**
 * Where imported credentials are looked for. Each expression finds a credential as its first group, and finds no more letters than the
 * text has.
 */
export type Readings = readonly RegExp[]

const IN_WORD = String.raw`[^\0-\x20\x7f-\xff"'\x60<>()[\]{},;&\\]+`

/** Whole words, which end at white space, quotes, brackets, commas, semicolons, `&` and backslashes, and what follows the first `=` of one. */
export const WORDS: Readings = [new RegExp(`(${IN_WORD})`, 'g'), new RegExp(`=(${IN_WORD})`, 'g')]
export const WHOLE_LINES: Readings = [/^[ \t\r]*([\x21-\x7e]+)[ \t\r]*$/gm]

export interface Search {
  readonly readings?: Readings
  readonly onBytes?: (count: number) => void
}

/** Looked up together. */
const BATCH = 500
/** In bytes. What is searched without a pause: some milliseconds, whatever it is. */
export const SLICE = 8_192
/** In bytes: more than the longest credential with a separator on each side, and than any encoding of ours. */
export const OVERLAP = 1_280
/** Letters of candidates that are not looked up again when they repeat. */
const MOST_REMEMBERED = 8_000_000
/** Of a candidate that is remembered, about, beside its letters. */
const ENTRY_BYTES = 64

export async function* candidatesIn(text: Text, { readings = WORDS, onBytes }: Search = {}): AsyncGenerator<Batch> {
  const seen = new Recent<string, true>(MOST_REMEMBERED)
  let [batch, lines] = [new Map<string, number>(), 1]
  for await (const piece of piecesOf(text, SLICE)) {
    const searched = piece.bytes.toString('latin1')
    for (const [found, line] of firstLines(search(searched, piece, readings), searched)) {
      if (seen.get(found)) continue
      // A part of a string keeps the whole one in memory.
      const credential = Buffer.from(found, 'latin1').toString('latin1')
      seen.set(credential, true, credential.length + ENTRY_BYTES)
      batch.set(credential, lines + line)
      if (batch.size < BATCH) continue
      yield batch
      batch = new Map()
    }
    const { bytes, isLast } = piece
    const own = isLast ? bytes : bytes.subarray(0, -OVERLAP)
    for (let at = own.indexOf(LINE_FEED); at >= 0; at = own.indexOf(LINE_FEED, at + 1)) lines++
    onBytes?.(own.length)
    await pause()
  }
  if (batch.size > 0) yield batch
}

/** In bytes. Written as JSON, each may take six times as many. */
const SENT = 1_048_576

/** Pieces of a text that is sent in several requests. */
export async function* overlapping(text: Text): AsyncGenerator<Buffer> {
  for await (const { bytes } of piecesOf(text, SENT)) yield bytes
}

interface Piece {
  readonly bytes: Buffer
  readonly isFirst: boolean
  readonly isLast: boolean
}

/** They overlap: what can be a credential is whole in one of them, with what separates it from others. */
async function* piecesOf(text: Text, size: number): AsyncGenerator<Piece> {
  let [rest, isFirst]: [Buffer, boolean] = [Buffer.alloc(0), true]
  for await (const chunk of text) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    for (; rest.length > size; rest = rest.subarray(size - OVERLAP)) {
      if (isFirst) requireNarrow(rest)
      yield { bytes: rest.subarray(0, size), isFirst, isLast: false }
      isFirst = false
    }
  }
  if (isFirst) requireNarrow(rest)
  yield { bytes: rest, isFirst, isLast: true }
}

/** That nothing was found in what cannot be read must not look as if nothing were there. */
function requireNarrow([first, second]: Uint8Array): void {
  const isWide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
  if (isWide) throw new Failure('invalid-request', IN_UTF_16)
}

export const IN_UTF_16 = 'The text is in UTF-16; convert it to UTF-8 first'
const LINE_FEED = 0x0a

/** With the number of the line in the piece, from 0, in the order of the text. */
function* firstLines(found: Iterable<readonly [string, number]>, text: string): Generator<readonly [string, number]> {
  const places = new Map<string, number>()
  for (const [credential, index] of found) {
    if (index < (places.get(credential) ?? Number.POSITIVE_INFINITY)) places.set(credential, index)
  }
  let [line, end] = [0, text.indexOf('\n')]
  for (const [credential, index] of [...places].toSorted(([, one], [, other]) => one - other)) {
    for (; end >= 0 && end < index; end = text.indexOf('\n', end + 1)) line++
    yield [credential, line]
  }
}

/** With the place in the text, or of the run in which it is encoded. */
function* search(text: string, { isFirst, isLast }: Piece, readings: Readings): Generator<readonly [string, number]> {
  for (const { credential, index } of ownCredentialsIn(text)) yield [credential, index]
  for (const { index, decoded } of decodingsOf(text)) {
    for (const { credential } of ownCredentialsIn(decoded)) yield [credential, index]
  }
  for (const reading of readings) {
    for (const { index, 0: all, 1: word = '' } of text.matchAll(reading)) {
      // Otherwise it is whole in another piece.
      const isWhole = (isFirst || index > 0) && (isLast || index + all.length < text.length)
      if (isWhole && kindOfCredential(word) !== undefined) yield [word, index]
    }
  }
}

/** Long runs of these letters, each read once: without the first condition, it would be read again from each of its letters. */
const longRuns = (letters: string, shortest: number) => new RegExp(`(?<!${letters})${letters}{${shortest},}`, 'g')

const WORD_RUN = longRuns(String.raw`[\x21-\x7e]`, OWN_LENGTH)
const BASE64_RUN = longRuns(String.raw`[\w+/-]`, Math.ceil((OWN_LENGTH * 4) / 3))

/** Where base64 begins is unknown, as `/` and `-` may separate it from other text: each of the four ways to divide a run is tried. */
function* decodingsOf(text: string): Generator<{ readonly index: number; readonly decoded: string }> {
  for (const { index, 0: run } of text.matchAll(WORD_RUN)) {
    if (run.includes('%')) yield { index, decoded: run.replace(/%([0-9a-f]{2})/gi, (_, code) => letterOf(code)) }
  }
  for (const { index, 0: run } of text.matchAll(BASE64_RUN)) {
    for (let shift = 0; shift < 4; shift++) {
      yield { index, decoded: Buffer.from(run.slice(shift), 'base64').toString('latin1') }
    }
  }
}

const letterOf = (code: string) => String.fromCharCode(Number.parseInt(code, 16))

/** Requests that have arrived meanwhile are served first. */
const pause = () => new Promise((resolve) => void setImmediate(resolve))
