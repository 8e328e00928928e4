// Which parts of a text could be a credential. Our own credentials are recognised by their format. An imported one may be
// any printable ASCII, so every part of a word that begins and ends at punctuation is a candidate.

export interface Candidate {
  readonly text: string
  /** Counted from 1. */
  readonly line: number
}

const MAX_CREDENTIAL = 1_024
/** A longer word is read in pieces, which overlap so that no credential is split. */
const MAX_WORD = 65_536
const OVERLAP = 2 * MAX_CREDENTIAL
/** The parts of a candidate at most (`a.b` has three), unless it begins or ends where its piece does. */
const MAX_PARTS = 8

const WORD = /[\x21-\x7e]+/g
/** Within binary data, and in files without a byte order mark. */
const WIDE_WORD = /(?:[\x21-\x7e]\0){7,}[\x21-\x7e]/g
const OURS = /lk_(?:tok|key)_[0-9A-Za-z]{49}/g
/** Delimits values in JSON, shells, markup and code. A credential that contains one is found only as a whole word. */
const STRUCTURE = /["'`<>()[\]{},;|\\]+/
const ESCAPE = /[\\%]/
/** The same, with what JSON and URLs write in place of a delimiter. */
const ESCAPES = /(?:\\(?:u[0-9a-fA-F]{4}|.)|%[0-9a-fA-F]{2}|["'`<>()[\]{},;|])+/
const PUNCTUATION = /[^\w-]/
const PART = /[\w-]+|[^\w-]/g

/** Yields the candidates of each chunk. Anything but printable ASCII separates words. */
export async function* findCandidates(input: AsyncIterable<string | Uint8Array>): AsyncGenerator<Iterable<Candidate>> {
  let [unfinished, line] = ['', 1]
  for await (const chunk of decode(input)) {
    const text = unfinished + chunk
    const end = startOfLastWord(text)
    const lines = text.slice(0, end).split('\n')
    yield candidatesOf(lines, line)
    line += lines.length - 1
    unfinished = text.slice(end)
    if (unfinished.length <= MAX_WORD) continue
    yield candidatesOf([unfinished], line)
    unfinished = unfinished.slice(-OVERLAP)
  }
  yield candidatesOf([unfinished], line)
}

/** As Latin-1, since credentials are ASCII; as UTF-16 after a byte order mark, as PowerShell writes files. */
async function* decode(input: AsyncIterable<string | Uint8Array>): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined
  for await (const chunk of input) {
    if (typeof chunk === 'string') yield chunk
    else {
      decoder ??= new TextDecoder(encodingOf(chunk))
      yield decoder.decode(chunk, { stream: true })
    }
  }
}

function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'latin1'
}

/** The start of a word that may continue in the next chunk, also as UTF-16. */
function startOfLastWord(text: string): number {
  let start = text.length
  const isInWord = (code: number) => code === 0 || (code > 0x20 && code < 0x7f)
  while (start > 0 && isInWord(text.charCodeAt(start - 1))) start--
  return start
}

function* candidatesOf(lines: readonly string[], firstLine: number): Generator<Candidate> {
  for (const [index, text] of lines.entries()) {
    const line = firstLine + index
    for (const [word] of text.matchAll(WORD)) for (const each of partsOf(word)) yield { text: each, line }
    for (const [wide] of text.matchAll(WIDE_WORD)) {
      for (const each of partsOf(wide.replaceAll('\0', ''))) yield { text: each, line }
    }
  }
}

function partsOf(word: string): ReadonlySet<string> {
  const found = new Set([...word.matchAll(OURS)].map(([ours]) => ours))
  if (word.length <= MAX_CREDENTIAL) found.add(word)
  if (!PUNCTUATION.test(word)) return found
  for (const separator of ESCAPE.test(word) ? [STRUCTURE, ESCAPES] : [STRUCTURE]) {
    const spans = word.split(separator).flatMap(spansOf)
    for (const span of spans) if (span.length <= MAX_CREDENTIAL) found.add(span)
  }
  return found
}

function spansOf(piece: string): string[] {
  const parts = piece.match(PART) ?? []
  let start = 0
  return parts.flatMap((part, first) => {
    const spans = [piece.slice(start)]
    let end = start
    for (const [index, each] of parts.slice(first, first === 0 ? undefined : first + MAX_PARTS).entries()) {
      end += each.length
      if (first + index < parts.length - 1) spans.push(piece.slice(start, end))
    }
    start += part.length
    return spans
  })
}
