// The nouns of the service, and what a name may be. Knows nothing of databases, nor of wire formats.
import { randomBytes } from 'node:crypto'
import type { EffectiveState } from '../verify/verdict.ts'
import type { RecordOf } from './table.ts'
import {
  type ACCOUNT_KEYS,
  type ACCOUNTS,
  type RETIRED_CREDENTIALS,
  type Status,
  type SUB_ACCOUNTS,
  type Timestamp,
  TOKENS,
} from './tables.ts'

export { STATUSES, type Status, type Timestamp } from './tables.ts'

export type Account = RecordOf<typeof ACCOUNTS>
export type StoredKey = RecordOf<typeof ACCOUNT_KEYS>
export type AccountKey = Omit<StoredKey, 'digest'>
export type SubAccount = RecordOf<typeof SUB_ACCOUNTS>
/** A token as it is stored: its credential sealed, its owner by id. */
export type TokenRecord = RecordOf<typeof TOKENS>
/** A credential that was rotated out and still works for a while. */
export type RetiredCredential = RecordOf<typeof RETIRED_CREDENTIALS>

/** A sub-account, and how many tokens it has of each status. */
export interface SubAccountRow {
  readonly subAccount: SubAccount
  readonly tokens: Readonly<Record<Status, number>>
}

/** What a list shows of a token. */
export type ListedToken = Omit<TokenRecord, 'digest'>

/** What is said about a token whose credential was presented. */
export type VerifiedToken = Pick<
  TokenRecord,
  'id' | 'accountId' | 'subAccountId' | 'status' | 'createdAt' | 'expiresAt' | 'version'
>

/** A token that ends soon, by its expiry or by the lifetime that its sub-account's policy allows. */
export interface ExpiringToken {
  readonly accountId: string
  readonly id: string
  readonly name: string
  readonly endsAt: Timestamp
}

/** What else is known of a token, apart from its row. */
export interface TokenActivity {
  readonly lastUsedAt: Timestamp | null
  /** Until when a credential that was rotated out still works. */
  readonly formerCredentialUntil: Timestamp | null
  /** Of such a credential, to the minute, and the address it was used from then. */
  readonly formerCredentialLastUsedAt: Timestamp | null
  readonly formerCredentialLastUsedFrom: string | null
}

export const NO_ACTIVITY: TokenActivity = {
  lastUsedAt: null,
  formerCredentialUntil: null,
  formerCredentialLastUsedAt: null,
  formerCredentialLastUsedFrom: null,
}

/** How often a token was accepted in the last 24 hours, 7 days and 30 days, with the hour or the day that has begun. */
export interface RecentUses {
  readonly day: number
  readonly week: number
  readonly month: number
}

/** A token as callers see it: with its credential decrypted and its sub-account. */
export interface Token {
  readonly id: string
  readonly name: string
  readonly credential: string
  readonly status: Status
  readonly createdAt: Timestamp
  readonly subAccount: Pick<SubAccount, 'id' | 'name' | 'email' | 'companyName'>
  readonly version: number
  /** The stored credential was altered or damaged: it is shown as empty. Rotating the token gives it a new one. */
  readonly credentialUnreadable: boolean
  /** Only if requested. */
  readonly details?: TokenDetails
}

/** What callers set of a token and the document does not name: details show it. */
const BEYOND_DOCUMENT = TOKENS.history.filter((field) => field !== 'name' && field !== 'status')
type Shown = Pick<TokenRecord, (typeof BEYOND_DOCUMENT)[number]>

export const shownInDetails = (token: Shown) =>
  Object.fromEntries(BEYOND_DOCUMENT.map((field) => [field, token[field]])) as Shown

export interface TokenDetails extends TokenActivity, EffectiveState, Shown {
  readonly usage: RecentUses
}

type IdPrefix = 'acc' | 'sub' | 'tok' | 'key' | 'ses' | 'vfr' | 'whk' | 'blk' | 'por'

/**
 * An id begins with its time of creation, so that sorting ids sorts by (createdAt, id): lists rely on it.
 * Twelve hexadecimal digits of milliseconds, sixteen random ones.
 */
export function newId(prefix: IdPrefix, createdAt: Timestamp): string {
  return `${idStem(prefix, createdAt)}${randomBytes(8).toString('hex')}`
}

function idStem(prefix: IdPrefix, time: Timestamp): string {
  return `${prefix}_${time.toString(16).padStart(12, '0')}`
}

/** The time of creation that an id begins with: unlike `createdAt`, ids are covered by stamps. */
export function timeOfId(id: string): Timestamp {
  return Number.parseInt(id.slice(id.indexOf('_') + 1).slice(0, 12), 16)
}

const LAST_ID_TIME = 2 ** 48 - 1

/** Sorts after every id made before a time, and before every id made at that time or later. */
export function idFloor(prefix: IdPrefix, time: Timestamp): string {
  return idStem(prefix, Math.min(Math.max(time, 0), LAST_ID_TIME))
}

export const MAX_NAME_CHARACTERS = 255

/**
 * Control characters, line and paragraph separators, and everything that changes the direction of text: a name is
 * shown in consoles, logs and terminals, and must look like what it is.
 */
export const STEERING_CHARACTERS = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u

/** The form in which names are stored and compared. */
export function normalizeName(text: string): string {
  return text.trim().normalize('NFC')
}

export function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

/** The rule that a normalized, non-empty name breaks, as the end of a sentence that begins with the field. */
export function brokenNameRule(name: string): string | undefined {
  if (!name.isWellFormed()) return 'must be well-formed Unicode'
  if (countCharacters(name) > MAX_NAME_CHARACTERS) return `must be 1 to ${MAX_NAME_CHARACTERS} characters`
  if (STEERING_CHARACTERS.test(name)) return 'must not contain control, line or text-direction characters'
  return undefined
}

/**
 * Folds letter case for search, each character by itself, so that a part of a name folds to a part of the folded name.
 * Upper before lower also joins what only shares a capital (ς and σ, ß and ss); lower first, since ẞ has no other
 * capital. Dotless i stays itself, as in Unicode's own folding.
 */
export function foldCase(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is ASCII as a whole
  if (/^[\u0000-\u007f]*$/.test(text)) return text.toLowerCase()
  let folded = ''
  for (const character of text) folded += foldCharacter(character)
  return folded
}

/** What sub-accounts are searched by. */
export function foldedText({ name, email, companyName }: SubAccount): string {
  return foldCase([name, email, companyName].join('\n'))
}

/** Capitals of several characters are put into NFC first, as they are in a name: ΐ folds like its capital Ϊ́. */
function foldCharacter(character: string): string {
  if (character < '\u0080') return character.toLowerCase()
  if (character === 'ı') return character
  let folded = ''
  for (const upper of character.toLowerCase().toUpperCase().normalize('NFC')) folded += upper.toLowerCase()
  return folded
}
