// Seals credentials, digests them for look-up, and stamps rows. The master key comes in and never goes out.
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
/** Did not name the account in a credential's place. It is opened, but no longer made. */
const FORMER_FORMAT = 1
const MARK_BYTES = 1 + KEY_ID_BYTES
const HEADER_BYTES = MARK_BYTES + NONCE_BYTES

export const MASTER_KEY_BYTES = 32

/**
 * A master key seals two things: credentials, and the store secret. The store secret is random, made with the store,
 * and every digest and stamp derives from it; so a change of master key re-seals, but never has to re-digest account
 * keys, which nobody can open.
 */
export class MasterKey {
  /** Eight hexadecimal digits that name the key and tell nothing about it. */
  readonly id: string
  readonly #seal: KeyObject
  /** What is sealed with it begins with this. */
  readonly #mark: Buffer

  constructor(bytes: Uint8Array) {
    if (bytes.length !== MASTER_KEY_BYTES) throw new Error(`a master key is ${MASTER_KEY_BYTES} bytes`)
    this.id = derive(bytes, 'key id').subarray(0, KEY_ID_BYTES).toString('hex')
    this.#seal = createSecretKey(derive(bytes, 'seal'))
    this.#mark = Buffer.concat([Buffer.of(FORMAT), Buffer.from(this.id, 'hex')])
  }

  /** `format | key id | nonce | ciphertext | tag`; opens only with the same `place`. */
  seal(plain: Uint8Array | string, place: string): Uint8Array {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#seal, nonce)
    cipher.setAAD(associatedData(this.#mark, place))
    const text = cipher.update(typeof plain === 'string' ? Buffer.from(plain) : plain)
    return Buffer.concat([this.#mark, nonce, text, cipher.final(), cipher.getAuthTag()])
  }

  /** Whether it names this key; cheaper than `keyIdOf`. */
  hasSealed(sealed: Uint8Array): boolean {
    for (let i = 1; i < MARK_BYTES; i++) if (sealed[i] !== this.#mark[i]) return false
    return true
  }

  /** Throws unless `sealed` is exactly what `seal` made with this key for this place. */
  open(sealed: Uint8Array, place: string): Buffer {
    const bytes = asBuffer(sealed)
    const isSealed = bytes[0] === FORMAT || bytes[0] === FORMER_FORMAT
    if (bytes.length < HEADER_BYTES + TAG_BYTES || !isSealed) throw new Error('not a sealed value')
    const header = bytes.subarray(0, HEADER_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', this.#seal, header.subarray(MARK_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(associatedData(header.subarray(0, MARK_BYTES), place))
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    const text = decipher.update(bytes.subarray(HEADER_BYTES, -TAG_BYTES))
    // Throws unless the tag is right. This cipher has held back nothing that would still come.
    decipher.final()
    return text
  }
}

/** The id of the key that a sealed value names; of something else, an id that no key has. */
export function keyIdOf(sealed: Uint8Array): string {
  return asBuffer(sealed).toString('hex', 1, 1 + KEY_ID_BYTES)
}

/** Makes the digests and stamps of one store. Cheap to hand to a thread: it is one secret of 32 bytes. */
export class Stamps {
  readonly #digest: KeyObject
  readonly #rows: KeyObject
  readonly #history: KeyObject

  constructor(storeSecret: Uint8Array) {
    this.#digest = createSecretKey(derive(storeSecret, 'digest'))
    this.#rows = createSecretKey(derive(storeSecret, 'rows'))
    this.#history = createSecretKey(derive(storeSecret, 'history'))
  }

  /** The form in which a credential or an account key is looked up. */
  digest(credential: string): Buffer {
    return codeOf(this.#digest, credential)
  }

  /** Ties the fields of a row together, so that one changed by hand in the database is noticed. */
  stampRow(fields: readonly StampField[]): Buffer {
    return stamp(this.#rows, fields.map(plain))
  }

  isRowStamp(presented: Uint8Array, fields: readonly StampField[]): boolean {
    const expected = this.stampRow(fields)
    return presented.length === expected.length && timingSafeEqual(presented, expected)
  }

  /** A link of the history's chain: what it says, after what was said before. */
  stampHistory(fields: readonly StampField[]): Buffer {
    return stamp(this.#history, fields.map(plain))
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

/** Where the store secret is sealed to; a credential is sealed to its token, sub-account and account instead. */
export const STORE_SECRET_PLACE = 'store secret'

interface Place {
  readonly id: string
  readonly subAccountId: string
  readonly accountId: string
}

export function credentialPlace({ id, subAccountId, accountId }: Place): string {
  return `credential of ${id} in ${subAccountId} of ${accountId}`
}

/** Where what is sealed there was sealed to: the format, which nobody can exchange, tells how it was named. */
export function placeOf(token: Place & { readonly sealed: Uint8Array }): string {
  return token.sealed[0] === FORMER_FORMAT
    ? `credential of ${token.id} in ${token.subAccountId}`
    : credentialPlace(token)
}

/** JSON keeps the fields apart: no two lists of fields are written alike. */
function stamp(key: KeyObject, fields: readonly PlainField[]): Buffer {
  return codeOf(key, JSON.stringify(fields))
}

/** As text first: node:crypto takes half as long again to hand over a buffer. */
function codeOf(key: KeyObject, text: string): Buffer {
  return Buffer.from(createHmac('sha256', key).update(text).digest('binary'), 'binary')
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function derive(secret: Uint8Array, label: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `latchkey ${label}`, 32))
}

function associatedData(mark: Buffer, place: string): Buffer {
  return Buffer.concat([mark, Buffer.from(place)])
}
