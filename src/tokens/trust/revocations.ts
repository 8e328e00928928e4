// The revocation journal's lines, what they and a store say about each other, and the changes that a replay makes. The journal
// records what was switched off or on, deleted or rotated, and earlier expiries, so that restoring a backup does not reactivate
// what was revoked after it. It does not record policies and later expiries. It also records the leases of verifiers, so that a
// restored store knows for whom its changes have to wait. Pure.

import type { Timestamp, TokenRecord } from '../model/token.ts'
import type { Rotation, TokenUpdate } from '../model/update.ts'
import type { BegunLease } from '../verifiers/lease.ts'
import type { Stamps } from './vault.ts'

export type Revocation =
  | TokenRevocation
  | BegunLease
  | {
      readonly kind: 'sub-account-off' | 'sub-account-on' | 'key-off' | 'bulk-undone'
      readonly id: string
      readonly at: Timestamp
    }

/** What the journal has besides, so that a replay ends as the store was, and for whom changes wait. */
const GIVING: readonly Revocation['kind'][] = ['token-on', 'sub-account-on', 'lease']
export const isTaking = ({ kind }: Revocation): boolean => !GIVING.includes(kind)

export type TokenRevocation = {
  readonly id: string
  readonly at: Timestamp
  /** The token's version after the change. */
  readonly version: number
} & (
  | {
      readonly kind: 'token-off' | 'token-on' | 'token-gone' | 'token-expiry'
      /** If the change made it earlier. */
      readonly expiresAt?: Timestamp
    }
  | {
      readonly kind: 'token-rotated'
      /** Base64. With the new credential, so that it still works after a replay. */
      readonly digest: string
      readonly sealed: string
      /** Base64 as well, since lines are ASCII; those of earlier versions are without. */
      readonly masked?: string
      readonly formerUntil: Timestamp
    }
)

/** The journal's end as the store has it, written in the transaction of the change. */
export interface JournalPosition {
  readonly size: number
  /** Confirms all lines before, since each stamp covers the stamp of the previous line. */
  readonly lastLine: string
  /** This is a backup, or a store that is being replayed: the journal was complete up to here, so nothing of it may be missing. */
  readonly isOlder: boolean
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

export interface Reading {
  /** Of the lines with correct stamps. */
  readonly revocations: readonly Revocation[]
  /** All lines that are complete, correct or not. */
  readonly whole: string
  readonly lastLine: string
  readonly isAltered: boolean
}

/** `after` is the line before the text; empty at the journal's beginning. Continues after an altered line, with the stamp that it states. */
export function readLines(text: string, after: string, stamps: Stamps): Reading {
  const revocations: Revocation[] = []
  let lastLine = after
  let isAltered = false
  let start = 0
  for (let end = text.indexOf('\n') + 1; end > 0; end = text.indexOf('\n', start) + 1) {
    const line = text.slice(start, end)
    const json = line.slice(STAMP_CHARACTERS + 1, -1)
    const isCorrect = line === stampedLine(stampIn(lastLine), json, stamps)
    if (isCorrect && lastLine !== '') revocations.push(...(JSON.parse(json) as Revocation[]))
    isAltered ||= !isCorrect
    lastLine = line
    start = end
  }
  return { revocations, whole: text.slice(0, start), lastLine, isAltered }
}

/** A sector that a power loss kept from the disk reads as NULs, which no line contains. */
const HOLE = '\0'

function isPartOf(line: string, text: string): boolean {
  return [...text].every((character, index) => character === HOLE || character === line[index])
}

type Comparison =
  | { readonly kind: 'even' }
  /** The store has committed, but the last line was not written, or a power loss kept part of it from the disk. */
  | { readonly kind: 'behind' }
  /** Part of one line more. Only earlier versions left this: they wrote a line before its COMMIT, so nobody got a response. */
  | { readonly kind: 'torn' }
  /** The store is an earlier state: the journal has more lines. */
  | { readonly kind: 'ahead'; readonly revocations: readonly Revocation[]; readonly next: JournalPosition }
  | { readonly kind: 'lost'; readonly reason: string }

/**
 * Compares a journal with a store. `text` is the file from the beginning of the store's last line, up to its end if `isEnd`;
 * undefined when the file is missing or shorter.
 */
export function compareJournal(
  position: JournalPosition,
  text: string | undefined,
  isEnd: boolean,
  stamps: Stamps,
): Comparison {
  const { size, lastLine, isOlder } = position
  const lost = (reason: string): Comparison => ({ kind: 'lost', reason })
  if (text === undefined) return lost('is missing or was cut short')
  if (text.length <= lastLine.length && text !== lastLine) {
    if (!isPartOf(lastLine, text)) return lost('does not belong to this store, or was altered')
    return isOlder ? lost('was cut short') : { kind: 'behind' }
  }
  if (!text.startsWith(lastLine)) return lost('does not belong to this store, or was altered')
  const rest = text.slice(lastLine.length)
  if (rest === '') return { kind: 'even' }
  const { revocations, whole, isAltered, ...read } = readLines(rest, lastLine, stamps)
  const isOneLine = !rest.slice(0, -1).includes('\n')
  if (isEnd && isOneLine && !isOlder && (whole === '' || rest.includes(HOLE))) return { kind: 'torn' }
  if (isAltered) return lost('was altered')
  if (isEnd && whole !== rest) return lost('ends within a line: it was cut short')
  if (whole === '') return lost('was altered')
  return { kind: 'ahead', revocations, next: { size: size + whole.length, lastLine: read.lastLine, isOlder: true } }
}

type ReplayedChange =
  | { readonly kind: 'update'; readonly update: TokenUpdate }
  | { readonly kind: 'rotate'; readonly rotation: Rotation }
  | { readonly kind: 'delete' }

/** What a replay does to a token that it finds in this state; undefined when that is done already. */
export function replayedChange(
  { expiresAt, digest }: Pick<TokenRecord, 'expiresAt' | 'digest'>,
  revocation: TokenRevocation,
): ReplayedChange | undefined {
  switch (revocation.kind) {
    case 'token-gone':
      return { kind: 'delete' }
    case 'token-on':
      return { kind: 'update', update: { status: 'active' } }
    case 'token-off':
    case 'token-expiry': {
      // That an expiry became later is not in the journal: the one that the store has may be the earlier one.
      const until = revocation.expiresAt ?? NEVER
      const earlier = until < (expiresAt ?? NEVER) ? { expiresAt: until } : {}
      const status = revocation.kind === 'token-off' ? ({ status: 'inactive' } as const) : {}
      return { kind: 'update', update: { ...status, ...earlier } }
    }
    case 'token-rotated': {
      const [now, sealed, masked] = [revocation.digest, revocation.sealed, revocation.masked].map(fromBase64)
      if (now === undefined || sealed === undefined || now.equals(digest)) return undefined
      // It may be sealed with a later master key, which the store does not name: it opens if the operator gives that key too.
      const { formerUntil } = revocation
      const rotation = { digest: now, sealed, ...(masked && { masked: masked.toString() }), formerUntil }
      return { kind: 'rotate', rotation }
    }
  }
}

const NEVER = Number.POSITIVE_INFINITY
const fromBase64 = (text: string | undefined) => (text === undefined ? undefined : Buffer.from(text, 'base64'))
