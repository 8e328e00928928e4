// The format of credentials and account keys: how they are generated, and checked without a lookup.
import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const LETTERS = Buffer.from(ALPHABET)
/** 43 characters of 62 carry 256 random bits. */
const SECRET_LENGTH = 43
const CHECKSUM_LENGTH = 6
const OWN_PREFIX = /^lk_(tok|key)_/
const OWN_FORMAT = /^lk_(tok|key)_[0-9A-Za-z]{49}$/
/** What fits an Authorization header: printable ASCII without spaces. */
const ANY_FORMAT = /^[\x21-\x7e]{1,1024}$/

export type CredentialKind = 'tok' | 'key'

export function newCredential(kind: CredentialKind): string {
  const body = `lk_${kind}_${randomText(SECRET_LENGTH)}`
  return body + checksum(body)
}

/**
 * What a presented string can be: a token's credential, an account key, or (undefined) neither. Latchkey's own carry a
 * checksum, so most invalid ones are refused without a lookup; another string may be an imported credential.
 */
export function kindOfCredential(presented: string): CredentialKind | undefined {
  if (!OWN_PREFIX.test(presented)) return ANY_FORMAT.test(presented) ? 'tok' : undefined
  if (!OWN_FORMAT.test(presented)) return undefined
  const body = presented.slice(0, -CHECKSUM_LENGTH)
  if (checksum(body) !== presented.slice(-CHECKSUM_LENGTH)) return undefined
  return presented.startsWith('lk_key_') ? 'key' : 'tok'
}

/** Sealed in place of a credential that is shown once and not stored. */
export const NOT_STORED = ''

const MASK_SHOWS = 4
/** Of a shorter one, four characters would be too much of it. */
export const SHORTEST_WITH_END = 16

/** The credential as shown to callers who may not see it: its kind and its last four characters. */
export function maskOf(credential: string): string {
  const kind = OWN_PREFIX.exec(credential)?.[0] ?? ''
  return `${kind}…${credential.length < SHORTEST_WITH_END ? '' : credential.slice(-MASK_SHOWS)}`
}

/** As long as what a mask shows, of characters that a credential can have. */
export function isCredentialEnd(text: string): boolean {
  return text.length === MASK_SHOWS && ANY_FORMAT.test(text)
}

function checksum(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = ALPHABET.charAt(rest % 62) + text
    rest = Math.floor(rest / 62)
  }
  return text
}

function randomText(length: number): string {
  const text = Buffer.alloc(length)
  let made = 0
  while (made < length) {
    for (const byte of randomBytes(length)) {
      // 248 is 4 × 62: with larger bytes the first letters of the alphabet would be more frequent.
      if (byte < 248 && made < length) text[made++] = LETTERS[byte % 62] ?? 0
    }
  }
  return text.toString('latin1')
}
