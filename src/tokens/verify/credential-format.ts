// The format of credentials and account keys, which is checked without a lookup. Knows no secret.

export const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const CHECKSUM_LENGTH = 6
export const OWN_PREFIX = /^lk_(tok|key)_/
const OWN_FORMAT = /^lk_(tok|key)_[0-9A-Za-z]{49}$/
const OWN_ANYWHERE = new RegExp(`(?=(${OWN_FORMAT.source.slice(1, -1)}))`, 'g')
/** Of all that are our own. */
export const OWN_LENGTH = 56
/** What fits an Authorization header: printable ASCII without spaces. */
export const ANY_FORMAT = /^[\x21-\x7e]{1,1024}$/

export type CredentialKind = 'tok' | 'key'

/**
 * What a presented string can be: a token's credential, an account key, or (undefined) neither. Latchkey's own carry a
 * checksum, so most invalid ones are refused without a lookup; another string may be an imported credential.
 */
export function kindOfCredential(presented: string): CredentialKind | undefined {
  if (!OWN_PREFIX.test(presented)) return ANY_FORMAT.test(presented) ? 'tok' : undefined
  if (!OWN_FORMAT.test(presented)) return undefined
  const body = presented.slice(0, -CHECKSUM_LENGTH)
  if (checksumOf(body) !== presented.slice(-CHECKSUM_LENGTH)) return undefined
  return presented.startsWith('lk_key_') ? 'key' : 'tok'
}

/** Latchkey's own, with a right checksum, that stand anywhere in a text, also next to other letters. */
export function* ownCredentialsIn(text: string): Generator<{ readonly credential: string; readonly index: number }> {
  for (const { index, 1: credential = '' } of text.matchAll(OWN_ANYWHERE)) {
    if (kindOfCredential(credential) !== undefined) yield { credential, index }
  }
}

/** Of ASCII: CRC-32 in base 62. */
export function checksumOf(body: string): string {
  let rest = crc32(body)
  let text = ''
  for (let i = 0; i < CHECKSUM_LENGTH; i++) {
    text = ALPHABET.charAt(rest % 62) + text
    rest = Math.floor(rest / 62)
  }
  return text
}

/** That of zlib, which browsers do not have. */
const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1
  return value
})

function crc32(text: string): number {
  let crc = -1
  for (let at = 0; at < text.length; at++) crc = (CRC_TABLE[(crc ^ text.charCodeAt(at)) & 0xff] ?? 0) ^ (crc >>> 8)
  return ~crc >>> 0
}
