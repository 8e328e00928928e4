// The shape of credentials and account keys: made, checked without a look-up, and fit to be shown in part.
import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const LETTERS = Buffer.from(ALPHABET)
/** 43 characters of 62 carry 256 random bits. */
const SECRET_LENGTH = 43
const CHECKSUM_LENGTH = 6
const OWN_PREFIX = /^lk_(tok|key)_/
const OWN_FORMAT = /^lk_(tok|key)_[0-9A-Za-z]{49}$/
/** What can travel in an Authorization header: printable ASCII without spaces. */
const ANY_FORMAT = /^[\x21-\x7e]{1,1024}$/

export type CredentialKind = 'tok' | 'key'

export function newCredential(kind: CredentialKind): string {
  const body = `lk_${kind}_${randomText(SECRET_LENGTH)}`
  return body + checksum(body)
}

/**
 * What a presented string can be: a token's credential, an account key, or (undefined) neither. Ours carry a
 * checksum, so garbage ends here without a look-up; a string of another make may be an imported credential.
 */
export function kindOfCredential(presented: string): CredentialKind | undefined {
  if (!OWN_PREFIX.test(presented)) return ANY_FORMAT.test(presented) ? 'tok' : undefined
  if (!OWN_FORMAT.test(presented)) return undefined
  const body = presented.slice(0, -CHECKSUM_LENGTH)
  if (checksum(body) !== presented.slice(-CHECKSUM_LENGTH)) return undefined
  return presented.startsWith('lk_key_') ? 'key' : 'tok'
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
      // 248 is 4 × 62: above it the first letters of the alphabet would come up more often.
      if (byte < 248 && made < length) text[made++] = LETTERS[byte % 62] ?? 0
    }
  }
  return text.toString('latin1')
}
