// What a word stands for if it is encoded: percent-encoding, escapes of JSON strings, base64 in both alphabets. Bytes in, bytes out.

const [BACKSLASH, PERCENT, LOWER_U] = Buffer.from('\\%u') as unknown as [number, number, number]

/** Stands for a character that is not ASCII: it separates words. */
const OTHER = 1

const none = -1
const HEXADECIMAL = valuesOf('0123456789abcdef', '0123456789ABCDEF')
const BASE64 = valuesOf(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_',
)
/** What JSON writes after a backslash, and what it means. */
const JSON_ESCAPES = new Map(
  [...'"\\/bfnrt'].map((letter, at) => [letter.charCodeAt(0), '"\\/\b\f\n\r\t'.charCodeAt(at)]),
)

/** The value of each byte in one of the alphabets. */
function valuesOf(...alphabets: readonly string[]): Int8Array {
  const values = new Int8Array(256).fill(none)
  for (const alphabet of alphabets)
    for (const [value, letter] of [...alphabet].entries()) values[letter.charCodeAt(0)] = value
  return values
}

const hexadecimalAt = (bytes: Uint8Array, at: number) => HEXADECIMAL[bytes[at] ?? 0] ?? none
export const isHexadecimal = (bytes: Uint8Array, at: number) => hexadecimalAt(bytes, at) !== none
export const isBase64 = (byte: number) => BASE64[byte] !== none

/** With `%6C` and the like replaced; undefined where there is none. */
export function percentDecoded(bytes: Buffer, start: number, end: number): Buffer | undefined {
  return replaced(bytes, start, end, PERCENT, (at) => {
    if (at + 2 >= end || !isHexadecimal(bytes, at + 1) || !isHexadecimal(bytes, at + 2)) return undefined
    return [hexadecimalAt(bytes, at + 1) * 16 + hexadecimalAt(bytes, at + 2), 3]
  })
}

/** With `\/`, `\u006c` and the like replaced; undefined where there is none. */
export function unescaped(bytes: Buffer, start: number, end: number): Buffer | undefined {
  return replaced(bytes, start, end, BACKSLASH, (at) => {
    const letter = bytes[at + 1] ?? 0
    const meant = at + 1 < end ? JSON_ESCAPES.get(letter) : undefined
    if (meant !== undefined) return [meant, 2]
    const digits = [2, 3, 4, 5].map((offset) => hexadecimalAt(bytes, at + offset))
    if (letter !== LOWER_U || at + 5 >= end || digits.includes(none)) return undefined
    const code = digits.reduce((sum, digit) => sum * 16 + digit, 0)
    return [code < 0x80 ? code : OTHER, 6]
  })
}

type Escape = readonly [byte: number, length: number]

function replaced(
  bytes: Buffer,
  start: number,
  end: number,
  mark: number,
  escapeAt: (at: number) => Escape | undefined,
): Buffer | undefined {
  let written = 0
  let decoded: Buffer | undefined
  for (let at = start; at < end; ) {
    const found = bytes[at] === mark ? escapeAt(at) : undefined
    if (found !== undefined) decoded ??= Buffer.from(bytes.subarray(start, end))
    const [byte, length] = found ?? [bytes[at] as number, 1]
    if (decoded !== undefined) decoded[written] = byte
    written++
    at += length
  }
  return decoded?.subarray(0, written)
}

/** Printable, or a zero, which stands between the characters of UTF-16. */
const isText = (byte: number) => (byte > 0x20 && byte < 0x7f) || byte === 0

/**
 * What runs of base64 letters stand for, with at least `shortest` characters of text in a row. Where a run begins is unknown, as
 * `/` and `-` may separate it from other text: each of the four ways to divide it into groups is tried.
 */
export function* base64Decoded(bytes: Buffer, start: number, end: number, shortest: number): Generator<Buffer> {
  const shortestRun = Math.ceil((shortest * 4) / 3)
  for (let at = start; at < end; at++) {
    const from = at
    while (at < end && BASE64[bytes[at] as number] !== none) at++
    if (at - from < shortestRun) continue
    for (let shift = 0; shift < 4; shift++) {
      const decoded = groupsDecoded(bytes, from + shift, at, shortest)
      if (decoded !== undefined) yield decoded
    }
  }
}

let scratch = Buffer.alloc(1_024)

function groupsDecoded(bytes: Buffer, start: number, end: number, shortest: number): Buffer | undefined {
  const size = ((end - start) * 3) >> 2
  if (scratch.length < size + 3) scratch = Buffer.alloc(2 * size + 3)
  let [written, inARow, longest] = [0, 0, 0]
  for (let at = start; at < end; at += 4) {
    let bits = 0
    // Letters past the end count as zeros; what they add is cut off.
    for (let place = at; place < at + 4; place++)
      bits = (bits << 6) | (place < end ? (BASE64[bytes[place] as number] as number) : 0)
    for (let shift = 16; shift >= 0; shift -= 8) {
      const byte = (bits >> shift) & 0xff
      scratch[written++] = byte
      inARow = isText(byte) ? inARow + 1 : 0
      if (inARow > longest) longest = inARow
    }
  }
  return longest < shortest ? undefined : Buffer.from(scratch.subarray(0, size))
}
