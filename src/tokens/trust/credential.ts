// How credentials and account keys are generated, and how they are shown to those who may not see them.
import { randomBytes } from 'node:crypto'
import { ALPHABET, ANY_FORMAT, type CredentialKind, checksumOf, OWN_PREFIX } from '../verify/credential-format.ts'

const LETTERS = Buffer.from(ALPHABET)
/** 43 characters of 62 carry 256 random bits. */
const SECRET_LENGTH = 43

export function newCredential(kind: CredentialKind): string {
  const body = `lk_${kind}_${randomText(SECRET_LENGTH)}`
  return body + checksumOf(body)
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
