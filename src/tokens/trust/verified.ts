// Tokens that were verified lately, for as long as nothing about them has changed. They are asked for more often than all
// else together, so they lie in a table made once: finding one reads a few lines of memory, and the collector of garbage
// has little to go through.
import type { Changes } from '../known.ts'
import type { Timestamp } from '../model/token.ts'
import { Recent } from '../recent.ts'
import { isSoonAfter } from '../record/uses.ts'
import type { Genuine } from './verdict.ts'

/** A name leads to a row of so many slots. Where all are taken, any of them is given up. */
const ROW = 8
/** Some 140 bytes a token; none of them of a credential. */
const ROWS = 25_000
const OWNERS = 5_000

/** A slot is 64 bytes, a line of most processors' memory: eight numbers, the first two of them 16 bytes of the name. */
const NUMBERS = 8
const [CREATED_AT, EXPIRES_AT, HELD_AT, MARKED_AT, VERSION, TOKEN_PLACE] = [2, 3, 4, 5, 6, 7] as const
const NAME_WORDS = 4

interface Owner extends Pick<Genuine['token'], 'accountId' | 'subAccountId'>, Pick<Genuine, 'suspendedAt'> {
  /** Where its changes are noted. */
  readonly place: number
}

export interface Verified extends Genuine {
  readonly at: number
}

export class VerifiedTokens {
  readonly #changes: Changes
  readonly #rows: number
  /** One more word of each name, to pass over the others of a row by. */
  readonly #tags: Uint32Array
  /** Of an inactive token, the version is negative. */
  readonly #numbers: Float64Array
  readonly #words: Uint32Array
  readonly #ids: string[]
  readonly #owners: (Owner | undefined)[]
  /** By sub-account, so that what its tokens share is kept once. */
  readonly #knownOwners = new Recent<string, Owner>(OWNERS)

  constructor(changes: Changes, rows = ROWS) {
    const size = rows * ROW
    this.#changes = changes
    this.#rows = rows
    this.#tags = new Uint32Array(size)
    this.#numbers = new Float64Array(size * NUMBERS)
    this.#words = new Uint32Array(this.#numbers.buffer)
    this.#ids = new Array(size).fill('')
    this.#owners = new Array(size).fill(undefined)
  }

  /** What is known and still so. `name` is 32 bytes of chance, a character each. Asks the store only about what is there. */
  async find(name: string): Promise<Verified | undefined> {
    if (this.#slotOf(name) < 0) return undefined
    await this.#changes.looked()
    // Again: somebody else may have taken its slot meanwhile.
    const at = this.#slotOf(name)
    const owner = this.#owners[at]
    if (owner === undefined || !this.#isStill(at, owner)) return undefined
    const { accountId, subAccountId, suspendedAt } = owner
    const [createdAt, expiresAt, version] = [
      this.#get(at, CREATED_AT),
      this.#get(at, EXPIRES_AT),
      this.#get(at, VERSION),
    ]
    return {
      at,
      token: {
        id: this.#ids[at] as string,
        accountId,
        subAccountId,
        status: version > 0 ? 'active' : 'inactive',
        createdAt,
        expiresAt: expiresAt === Number.POSITIVE_INFINITY ? null : expiresAt,
        version: Math.abs(version),
      },
      suspendedAt,
    }
  }

  #isStill(at: number, owner: Owner): boolean {
    const { time } = this.#changes
    const heldAt = this.#get(at, HELD_AT)
    if (heldAt === time) return true
    if (!this.#changes.unchangedSince(heldAt, owner.place)) return false
    if (!this.#changes.unchangedSince(heldAt, this.#get(at, TOKEN_PLACE))) return false
    this.#put(at, HELD_AT, time)
    return true
  }

  /** `readAt` is the time of a look before it was read: what changed while it was read counts. */
  set(name: string, { token, suspendedAt }: Genuine, readAt: number): void {
    const known = this.#slotOf(name)
    const at = known < 0 ? this.#freeIn(rowOf(name, this.#rows)) : known
    this.#tags[at] = tagOf(name)
    for (let word = 0; word < NAME_WORDS; word++) this.#words[at * NUMBERS * 2 + word] = wordOf(name, word)
    this.#put(at, CREATED_AT, token.createdAt)
    this.#put(at, EXPIRES_AT, token.expiresAt ?? Number.POSITIVE_INFINITY)
    this.#put(at, HELD_AT, readAt)
    this.#put(at, MARKED_AT, 0)
    this.#put(at, VERSION, token.status === 'active' ? token.version : -token.version)
    this.#put(at, TOKEN_PLACE, this.#changes.placeOf(token.id))
    this.#ids[at] = token.id
    this.#owners[at] = this.#ownerOf(token, suspendedAt)
  }

  /** False when it was marked just before. */
  mark({ at }: Verified, now: Timestamp): boolean {
    if (isSoonAfter(this.#get(at, MARKED_AT), now)) return false
    this.#put(at, MARKED_AT, now)
    return true
  }

  #ownerOf({ accountId, subAccountId }: Genuine['token'], suspendedAt: Timestamp | null): Owner {
    const known = this.#knownOwners.get(subAccountId)
    if (known?.accountId === accountId && known.suspendedAt === suspendedAt) return known
    const owner = { accountId, subAccountId, suspendedAt, place: this.#changes.placeOf(subAccountId) }
    this.#knownOwners.set(subAccountId, owner)
    return owner
  }

  #slotOf(name: string): number {
    const [first, tag] = [rowOf(name, this.#rows), tagOf(name)]
    for (let at = first; at < first + ROW; at++) if (this.#tags[at] === tag && this.#isNamed(at, name)) return at
    return -1
  }

  #isNamed(at: number, name: string): boolean {
    for (let word = 0; word < NAME_WORDS; word++) {
      if (this.#words[at * NUMBERS * 2 + word] !== wordOf(name, word)) return false
    }
    return true
  }

  #freeIn(first: number): number {
    for (let at = first; at < first + ROW; at++) if (this.#owners[at] === undefined) return at
    return first + Math.floor(Math.random() * ROW)
  }

  #get(at: number, which: number): number {
    return this.#numbers[at * NUMBERS + which] as number
  }

  #put(at: number, which: number, value: number): void {
    this.#numbers[at * NUMBERS + which] = value
  }
}

const rowOf = (name: string, rows: number) => (wordOf(name, NAME_WORDS) % rows) * ROW
const tagOf = (name: string) => wordOf(name, NAME_WORDS + 1)

function wordOf(name: string, word: number): number {
  const at = word * 4
  const high = (name.charCodeAt(at) << 24) | (name.charCodeAt(at + 1) << 16)
  return (high | (name.charCodeAt(at + 2) << 8) | name.charCodeAt(at + 3)) >>> 0
}
