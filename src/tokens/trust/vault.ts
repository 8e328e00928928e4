// Seals credentials, digests them for lookup, and stamps rows. The keys that are derived from secrets never leave this file.
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_ID_BYTES = 4
const FORMAT = 2
/** Without the account in a credential's associated data. Still opened, but no longer written. */
const FORMER_FORMAT = 1
const PREFIX_BYTES = 1 + KEY_ID_BYTES
const HEADER_BYTES = PREFIX_BYTES + NONCE_BYTES

export const MASTER_KEY_BYTES = 32

/**
 * A master key seals credentials and the store secret. The store secret is random, and all digests and stamps derive from it: a
 * rotation of the master key seals again, but need not change the digests of account keys, which cannot be recovered.
 */
export class MasterKey {
  /** Eight hexadecimal digits that identify the key and reveal nothing about it. */
  readonly id: string
  readonly #seal: KeyObject
  /** The first bytes of everything sealed with this key. */
  readonly #prefix: Buffer

  constructor(bytes: Uint8Array) {
    if (bytes.length !== MASTER_KEY_BYTES) throw new Error(`a master key is ${MASTER_KEY_BYTES} bytes`)
    this.id = derive(bytes, 'key id').subarray(0, KEY_ID_BYTES).toString('hex')
    this.#seal = createSecretKey(derive(bytes, 'seal'))
    this.#prefix = Buffer.concat([Buffer.of(FORMAT), Buffer.from(this.id, 'hex')])
  }

  /** Returns `format | key id | nonce | ciphertext | tag`, which opens only with the same `context`. */
  seal(plain: Uint8Array | string, context: string): Uint8Array {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#seal, nonce)
    cipher.setAAD(associatedData(this.#prefix, context))
    const text = cipher.update(typeof plain === 'string' ? Buffer.from(plain) : plain)
    return Buffer.concat([this.#prefix, nonce, text, cipher.final(), cipher.getAuthTag()])
  }

  /** Whether the sealed value has this key's id; cheaper than `keyIdOf`. */
  hasSealed(sealed: Uint8Array): boolean {
    for (let i = 1; i < PREFIX_BYTES; i++) if (sealed[i] !== this.#prefix[i]) return false
    return true
  }

  /** Throws unless `sealed` is exactly what `seal` made with this key for this context. */
  open(sealed: Uint8Array, context: string): Buffer {
    const bytes = asBuffer(sealed)
    const isSealed = bytes[0] === FORMAT || bytes[0] === FORMER_FORMAT
    if (bytes.length < HEADER_BYTES + TAG_BYTES || !isSealed) throw new Error('not a sealed value')
    const header = bytes.subarray(0, HEADER_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', this.#seal, header.subarray(PREFIX_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(associatedData(header.subarray(0, PREFIX_BYTES), context))
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    const text = decipher.update(bytes.subarray(HEADER_BYTES, -TAG_BYTES))
    // Throws unless the tag is right. In this mode it returns no further text.
    decipher.final()
    return text
  }
}

/** The id of the key in a sealed value; for any other value, an id that no key has. */
export function keyIdOf(sealed: Uint8Array): string {
  return asBuffer(sealed).toString('hex', 1, 1 + KEY_ID_BYTES)
}

/** The bytes of the text that a sealed value of this size holds. */
function sizeOfText(sealedBytes: number): number {
  return Math.max(0, sealedBytes - HEADER_BYTES - TAG_BYTES)
}

/** Whether any text is sealed in it; a credential that is not to be stored is sealed as none. */
export function holdsText(sealed: Uint8Array): boolean {
  return sizeOfText(sealed.length) > 0
}

export const STAMP_BYTES = 32

/** Makes the digests and stamps of one store. */
export class Stamps {
  readonly #digest: KeyObject
  readonly #rows: KeyObject
  readonly #history: KeyObject
  readonly #positions: KeyObject
  readonly #kept: MasterKey

  constructor(storeSecret: Uint8Array) {
    this.#digest = createSecretKey(derive(storeSecret, 'digest'))
    this.#rows = createSecretKey(derive(storeSecret, 'rows'))
    this.#history = createSecretKey(derive(storeSecret, 'history'))
    this.#positions = createSecretKey(derive(storeSecret, 'positions'))
    this.#kept = new MasterKey(derive(storeSecret, 'leases'))
  }

  /** A credential or an account key is looked up by its digest. */
  digest(credential: string): Buffer {
    return codeOf(this.#digest, credential)
  }

  /** Detects rows that were changed outside Latchkey. */
  stampRow(fields: readonly StampField[]): Buffer {
    return stamp(this.#rows, fields.map(plain))
  }

  isRowStamp(presented: Uint8Array, fields: readonly StampField[]): boolean {
    const expected = this.stampRow(fields)
    return presented.length === expected.length && timingSafeEqual(presented, expected)
  }

  stampHistory(fields: readonly StampField[]): Buffer {
    return stamp(this.#history, fields.map(plain))
  }

  /**
   * The number of a history row as a text that tells nothing about it or other rows, the same each time: one block of AES under a key of
   * the account. `seqOf` recognises a text that was not made here by the eight zeros.
   */
  position(accountId: string, seq: number): string {
    const block = Buffer.alloc(16)
    block.writeBigUInt64BE(BigInt(seq))
    const cipher = createCipheriv('aes-256-ecb', derive(this.#positions, accountId), null).setAutoPadding(false)
    return cipher.update(block).toString('base64url')
  }

  /** Undefined for what is no position of this account. */
  seqOf(accountId: string, position: string): number | undefined {
    const block = Buffer.from(position, 'base64url')
    if (block.length !== 16 || block.toString('base64url') !== position) return undefined
    const decipher = createDecipheriv('aes-256-ecb', derive(this.#positions, accountId), null).setAutoPadding(false)
    const found = decipher.update(block)
    const seq = Number(found.readBigUInt64BE())
    return found.readBigUInt64BE(8) === 0n && Number.isSafeInteger(seq) ? seq : undefined
  }

  /** What somebody else keeps for this service, who can neither read it nor make one. It opens for the same purpose only. */
  seal(text: string, purpose: string): string {
    return asBuffer(this.#kept.seal(text, purpose)).toString('base64url')
  }

  /** Undefined for what was not sealed here for this purpose. */
  open(sealed: string, purpose: string): string | undefined {
    const bytes = Buffer.from(sealed, 'base64url')
    try {
      // The same bytes can be written in several ways.
      return bytes.toString('base64url') === sealed ? this.#kept.open(bytes, purpose).toString() : undefined
    } catch {
      return undefined
    }
  }
}

type PlainField = string | number | null
export type StampField = PlainField | Uint8Array

function plain(field: StampField): PlainField {
  return field instanceof Uint8Array ? asBuffer(field).toString('hex') : field
}

const STORE_SECRET_BYTES = 32

export function newStoreSecret(): Buffer {
  return randomBytes(STORE_SECRET_BYTES)
}

/** The associated data of the store secret. That of a credential names its token, sub-account and account. */
export const STORE_SECRET_CONTEXT = 'store secret'

interface TokenIds {
  readonly id: string
  readonly subAccountId: string
  readonly accountId: string
}

export function credentialContext({ id, subAccountId, accountId }: TokenIds): string {
  return `credential of ${id} in ${subAccountId} of ${accountId}`
}

export function webhookContext({ id, accountId }: Omit<TokenIds, 'subAccountId'>): string {
  return `secret of ${id} of ${accountId}`
}

/** The associated data of a stored credential depends on its format, which is authenticated too. */
export function contextOf(token: TokenIds & { readonly sealed: Uint8Array }): string {
  return token.sealed[0] === FORMER_FORMAT
    ? `credential of ${token.id} in ${token.subAccountId}`
    : credentialContext(token)
}

/** JSON separates the fields, so that different lists never have the same text. */
function stamp(key: KeyObject, fields: readonly PlainField[]): Buffer {
  return codeOf(key, JSON.stringify(fields))
}

/** As text first: digest() returns a buffer in 1.5 times the time. */
function codeOf(key: KeyObject, text: string): Buffer {
  return Buffer.from(createHmac('sha256', key).update(text).digest('binary'), 'binary')
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function derive(secret: Uint8Array | KeyObject, label: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `latchkey ${label}`, 32))
}

function associatedData(prefix: Buffer, context: string): Buffer {
  return Buffer.concat([prefix, Buffer.from(context)])
}
