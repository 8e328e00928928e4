// The revocation journal's lines, and their comparison with a store. The journal records what was switched off or on,
// deleted or rotated, and earlier expiries, so that restoring a backup does not reactivate what was revoked after it. It does not
// record policies and later expiries. Pure.
import type { Timestamp } from '../model/token.ts'
import type { Stamps } from './vault.ts'

export type Revocation =
  | TokenRevocation
  | {
      readonly kind: 'token-rotated'
      readonly id: string
      readonly at: Timestamp
      readonly version: number
      /** Base64. With the new credential, so that it still works after a replay. */
      readonly digest: string
      readonly sealed: string
      /** Base64 as well, since lines are ASCII; those of earlier versions are without. */
      readonly masked?: string
      readonly formerUntil: Timestamp
    }
  | {
      readonly kind: 'sub-account-off' | 'sub-account-on' | 'key-off'
      readonly id: string
      readonly at: Timestamp
    }

export interface TokenRevocation {
  readonly kind: 'token-off' | 'token-on' | 'token-gone' | 'token-expiry'
  readonly id: string
  readonly at: Timestamp
  /** The token's version after the change. */
  readonly version: number
  /** If the change made it earlier. */
  readonly expiresAt?: Timestamp
}

/** The journal's end as the store has it, written in the transaction of the change. */
export interface Place {
  readonly size: number
  /** Confirms all lines before, since each stamp covers the stamp of the previous line. */
  readonly lastLine: string
}

/** A line is its stamp, a space, and JSON in ASCII. The first line identifies the file, every other one is a commit. */
export function firstLine(begunAt: Timestamp, chance: string, stamps: Stamps): string {
  return stampedLine('', JSON.stringify({ journal: 'latchkey revocations', format: 1, begunAt, chance }), stamps)
}

export function nextLine(lastLine: string, revocations: readonly Revocation[], stamps: Stamps): string {
  return stampedLine(stampIn(lastLine), JSON.stringify(revocations), stamps)
}

function stampedLine(previousStamp: string, json: string, stamps: Stamps): string {
  return `${stamps.stampRow(['revocations', previousStamp, json]).toString('base64url')} ${json}\n`
}

const STAMP_CHARACTERS = 43

export const stampIn = (line: string) => line.slice(0, STAMP_CHARACTERS)

const jsonIn = (line: string) => line.slice(STAMP_CHARACTERS + 1, -1)

export interface ReadLine {
  readonly text: string
  readonly revocations: readonly Revocation[]
}

interface Reading {
  /** The lines with correct stamps. */
  readonly lines: readonly ReadLine[]
  /** The offset of the first incorrect line; undefined when all are correct. */
  readonly wrongAt: number | undefined
  /** The text ends within a line, and all lines before are correct: the write or the file was cut short. */
  readonly torn: boolean
}

/** Continues after an incorrect line, with the stamp that it states. */
function readLines(text: string, after: string, stamps: Stamps): Reading {
  const lines: ReadLine[] = []
  let previous = stampIn(after)
  let wrongAt: number | undefined
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('\n', start) + 1
    if (end === 0) return { lines, wrongAt: wrongAt ?? start, torn: wrongAt === undefined }
    const line = text.slice(start, end)
    const json = jsonIn(line)
    if (line === stampedLine(previous, json, stamps)) lines.push({ text: line, revocations: JSON.parse(json) })
    else wrongAt ??= start
    previous = stampIn(line)
    start = end
  }
  return { lines, wrongAt, torn: false }
}

export function isFirstLine(line: string, stamps: Stamps): boolean {
  return line === stampedLine('', jsonIn(line), stamps)
}

/** A sector that a power loss kept from the disk reads as NULs, which no line contains. */
const HOLE = '\0'

function isPartOf(line: string, text: string): boolean {
  return [...text].every((character, index) => character === HOLE || character === line[index])
}

type Comparison =
  | { readonly kind: 'even' }
  /** The store has committed, but a power loss kept the end of the last line from the journal. */
  | { readonly kind: 'behind'; readonly missing: string }
  /** One more line, or a part of one: its commit failed or was interrupted, so nothing was confirmed. */
  | { readonly kind: 'uncommitted' }
  /** The store is an earlier state: the journal has more lines. */
  | { readonly kind: 'ahead'; readonly lines: readonly ReadLine[] }
  | { readonly kind: 'lost'; readonly reason: string; readonly readable: readonly ReadLine[] }

/**
 * Compares a journal with a store. `text` is the file from the beginning of the store's last line; undefined when the file is
 * missing or shorter.
 */
export function compareJournal(
  { lastLine }: Place,
  fromBackup: boolean,
  text: string | undefined,
  stamps: Stamps,
): Comparison {
  const lost = (reason: string, readable: readonly ReadLine[] = []): Comparison => ({ kind: 'lost', reason, readable })
  if (text === undefined) return lost('is missing or was cut short')
  if (text.length <= lastLine.length && text !== lastLine) {
    if (!isPartOf(lastLine, text)) return lost('does not belong to this store, or was altered')
    const there = `${text}${HOLE}`.indexOf(HOLE)
    return fromBackup ? lost('was cut short') : { kind: 'behind', missing: lastLine.slice(there) }
  }
  if (!text.startsWith(lastLine)) return lost('does not belong to this store, or was altered')
  const rest = text.slice(lastLine.length)
  if (!fromBackup && rest.includes(HOLE) && !rest.slice(0, -1).includes('\n')) return { kind: 'uncommitted' }
  const { lines, wrongAt, torn } = readLines(rest, lastLine, stamps)
  if (wrongAt === undefined && lines.length === 0) return { kind: 'even' }
  // Unless the store is from a backup, at most one line is not committed.
  if (!fromBackup && lines.length + Number(torn) === 1 && (torn || wrongAt === undefined))
    return { kind: 'uncommitted' }
  if (wrongAt === undefined) return { kind: 'ahead', lines }
  return lost(torn ? 'ends within a line: it was cut short' : 'was altered', lines)
}
