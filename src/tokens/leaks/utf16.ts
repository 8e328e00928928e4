// Credentials are ASCII: of a text in UTF-16, such as PowerShell writes, each character that is one becomes its byte.

/** Stands for every other character: it separates words. */
const OTHER = 1

/** How the chunks of a text are to be read, by the byte order mark at the beginning of the first one, if there is one. */
export function narrowed([first, second]: Uint8Array): (chunk: Uint8Array) => Uint8Array {
  if (first === 0xff && second === 0xfe) return narrow(0)
  return first === 0xfe && second === 0xff ? narrow(1) : (chunk) => chunk
}

/** `low` is the position of the low byte in a character. */
function narrow(low: 0 | 1): (chunk: Uint8Array) => Uint8Array {
  let half: number | undefined
  return (chunk) => {
    const bytes = half === undefined ? chunk : Buffer.concat([Buffer.of(half), chunk])
    half = bytes.length % 2 === 0 ? undefined : bytes.at(-1)
    return Uint8Array.from({ length: bytes.length >> 1 }, (_, n) =>
      bytes[2 * n + 1 - low] === 0 ? (bytes[2 * n + low] ?? OTHER) : OTHER,
    )
  }
}

const FEWEST_CHARACTERS = 8

/** Words in UTF-16 within other bytes, or without a byte order mark: characters with a zero between each two. */
export function* wideWords(bytes: Buffer, firstLine: number): Generator<{ word: Buffer; line: number }> {
  let [line, counted] = [firstLine, 0]
  const isPrintable = (at: number) => (bytes[at] ?? 0) > 0x20 && (bytes[at] ?? 0) < 0x7f
  for (let zero = bytes.indexOf(0); zero >= 0; ) {
    const start = zero - 1
    let end = start
    while (isPrintable(end) && bytes[end + 1] === 0) end += 2
    const characters = ((end - start) >> 1) + (isPrintable(end) ? 1 : 0)
    if (start >= 0 && characters >= FEWEST_CHARACTERS) {
      for (; counted < start; counted++) if (bytes[counted] === 0x0a) line++
      yield { word: Buffer.from(Array.from({ length: characters }, (_, n) => bytes[start + 2 * n] ?? 0)), line }
    }
    zero = bytes.indexOf(0, Math.max(end, zero + 1))
  }
}
