// The candidates of a text of any size, in batches and without repetitions: constant memory, and never long without a pause for
// others.
import { LeakScanner, OVERLAP } from './scanner.ts'
import type { Shapes } from './shapes.ts'

export type Text = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** Concurrent look-ups; on PostgreSQL they share round trips. */
const BATCH = 500
/** Words that are not looked up again when they repeat. */
const MAX_REMEMBERED = 200_000
/** In bytes. A text that is no longer is a short one. */
const PIECE = 65_536
/** In bytes. What is scanned without a pause: a millisecond, or some tens of them where a text is made to take long. */
const SLICE = 16_384

/** By its text, the line in which it was found first, counted from 1. */
export type Batch = ReadonlyMap<string, number>

export interface Search {
  /** What is known of the credentials. `isShort`: all of the text is no longer than one piece. */
  readonly readShapes: (isShort: boolean) => Promise<Shapes | 'any'>
  readonly onBytes?: (count: number) => void
}

export async function* candidatesIn(text: Text, { readShapes, onBytes }: Search): AsyncGenerator<Batch> {
  const seen = new Set<string>()
  let batch = new Map<string, number>()
  for await (const candidates of scanned(text, readShapes, onBytes)) {
    for (const { text: credential, line } of candidates) {
      if (seen.has(credential)) continue
      if (seen.size === MAX_REMEMBERED) seen.clear()
      seen.add(credential)
      batch.set(credential, line)
      if (batch.size < BATCH) continue
      yield batch
      await pause()
      batch = new Map()
    }
  }
  if (batch.size > 0) yield batch
}

async function* scanned(text: Text, readShapes: Search['readShapes'], onBytes: Search['onBytes']) {
  let scanner: LeakScanner | undefined
  for await (const piece of piecesOf(text)) {
    scanner ??= new LeakScanner(await readShapes(piece.isLast))
    for (let at = 0; at < piece.bytes.length; at += SLICE) {
      yield scanner.scan(piece.bytes.subarray(at, at + SLICE))
      await pause()
    }
    onBytes?.(piece.bytes.length)
  }
  if (scanner !== undefined) yield scanner.end()
}

interface Piece {
  readonly bytes: Uint8Array
  readonly isLast: boolean
}

async function* piecesOf(text: Text): AsyncGenerator<Piece> {
  let rest: Uint8Array = Buffer.alloc(0)
  for await (const chunk of text) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (; rest.length > PIECE; rest = rest.subarray(PIECE)) yield { bytes: rest.subarray(0, PIECE), isLast: false }
  }
  yield { bytes: rest, isLast: true }
}

/** In bytes. Written as JSON, each may take six times as many. */
const SENT = 1_048_576

/** Pieces of a text that is sent in several requests: what can be a credential is whole in one of them. */
export async function* overlapping(text: Text): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0)
  let isSent = false
  for await (const chunk of text) {
    rest = Buffer.concat([rest, chunk])
    for (; rest.length > SENT; rest = rest.subarray(SENT - OVERLAP)) {
      yield rest.subarray(0, SENT)
      isSent = true
    }
  }
  if (!isSent || rest.length > OVERLAP) yield rest
}

/** Requests that have arrived meanwhile are served first. */
const pause = () => new Promise((resolve) => void setImmediate(resolve))
