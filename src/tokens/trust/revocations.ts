// The revocation journal: everything that takes access away or gives it back, so that a store put back from a backup
// does not revive what was revoked after it. Its lines, and what they say beside a store; pure.
import type { Timestamp } from '../model/token.ts'
import type { Stamps } from './vault.ts'

export type Revocation =
  | TokenRevocation
  | {
      readonly kind: 'token-rotated'
      readonly id: string
      readonly at: Timestamp
      readonly version: number
      /** Base64. The new credential comes along: the old one dies, and its holder's new one goes on working. */
      readonly digest: string
      readonly sealed: string
      readonly formerUntil: Timestamp
    }
  | {
      readonly kind: 'sub-account-off' | 'sub-account-on' | 'key-off'
      readonly id: string
      readonly at: Timestamp
    }

export interface TokenRevocation {
  readonly kind: 'token-off' | 'token-on' | 'token-gone'
  readonly id: string
  readonly at: Timestamp
  /** The token's version after it. */
  readonly version: number
}

/** What a store knows of its journal. Both are kept in the transaction of the change. */
export interface Place {
  readonly size: number
  /** Everything before it hangs on it, since each line's stamp covers the stamp of the line before. */
  readonly lastLine: string
}

/** A line: its stamp, a space, JSON in ASCII. The first one says what this file is, each other one is one commit. */
export function firstLine(begunAt: Timestamp, chance: string, stamps: Stamps): string {
  return toLine('', { journal: 'latchkey revocations', format: 1, begunAt, chance }, stamps)
}

export function nextLine(lastLine: string, revocations: readonly Revocation[], stamps: Stamps): string {
  return toLine(stampIn(lastLine), revocations, stamps)
}

function toLine(previousStamp: string, content: unknown, stamps: Stamps): string {
  return stampedLine(previousStamp, JSON.stringify(content), stamps)
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
  /** Those whose stamps are right. */
  readonly lines: readonly ReadLine[]
  /** Where in the text the first wrong one begins; undefined when all are right. */
  readonly wrongAt: number | undefined
  /** The text ends within a line, and all before that is right: a write that was cut off, or a file that was. */
  readonly torn: boolean
}

/** Reads on behind a wrong line: the next one is held to the stamp that the wrong one states. */
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

/** What a loss of power has kept from the disk, by the sector, in the middle of a line: no line holds one. */
const HOLE = '\0'

function isPartOf(line: string, text: string): boolean {
  return [...text].every((character, index) => character === HOLE || character === line[index])
}

export type Comparison =
  | { readonly kind: 'even' }
  /** The store has committed what a loss of power has kept from the journal: the end of its last line. */
  | { readonly kind: 'behind'; readonly missing: string }
  /** One line more, or a part of one: its commit failed or was cut off, so nobody was told yes. */
  | { readonly kind: 'uncommitted' }
  /** The store was set back: the journal has lines that it has not. */
  | { readonly kind: 'ahead'; readonly lines: readonly ReadLine[] }
  | { readonly kind: 'lost'; readonly reason: string; readonly readable: readonly ReadLine[] }

/**
 * Compares a journal with a store. `text` is what the file holds from where the store's last line begins; undefined when
 * there is no file, or one that ends before.
 */
export function compareJournal(
  place: Place,
  fromBackup: boolean,
  text: string | undefined,
  stamps: Stamps,
): Comparison {
  const { lastLine } = place
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
  // Beside a store that was not set back there is never more than one line that it has not.
  if (!fromBackup && lines.length + Number(torn) === 1 && (torn || wrongAt === undefined))
    return { kind: 'uncommitted' }
  if (wrongAt === undefined) return { kind: 'ahead', lines }
  return lost(torn ? 'ends within a line: it was cut short' : 'was altered', lines)
}
