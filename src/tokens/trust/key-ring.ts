// The master keys that this process holds. Which of them seals is the store's word: a ring may hold a key that is not
// in use yet, and one that is being retired.
import { Failure } from '../errors.ts'
import { keyIdOf, type MasterKey, placeOf } from './vault.ts'

/** Looks where the keys come from once more: those that are there now, or undefined when nothing has changed there. */
export type Reread = () => readonly MasterKey[] | undefined

/** A change that seals is begun anew when the key is changed under it; so often in a row, nobody changes keys. */
const MAX_ATTEMPTS = 5

export class KeyRing {
  /** Never forgets one while the process lives: a row read a moment ago may still need it. */
  readonly #keys = new Map<string, MasterKey>()
  readonly #reread: Reread
  #first: MasterKey
  #sealing: MasterKey

  /** The first is the one wanted: it seals in a new store, and is what a rotation leads to. */
  constructor(keys: readonly [MasterKey, ...MasterKey[]], reread: Reread = () => undefined) {
    this.#first = keys[0]
    this.#sealing = keys[0]
    this.#reread = reread
    for (const key of keys) this.#keys.set(key.id, key)
  }

  get first(): MasterKey {
    return this.#first
  }

  get ids(): readonly string[] {
    return [...this.#keys.keys()]
  }

  get sealing(): MasterKey {
    return this.#sealing
  }

  /** One that is not known may have been put there since, by a rotation. */
  find(id: string): MasterKey | undefined {
    if (!this.#keys.has(id)) this.renew()
    return this.#keys.get(id)
  }

  renew(): void {
    const keys = this.#reread() ?? []
    for (const key of keys) this.#keys.set(key.id, key)
    this.#first = keys[0] ?? this.#first
  }

  /** Throws unless `sealed` was sealed with one of the keys for this place; `KeyNotGiven` where it names none of them. */
  open(sealed: Uint8Array, place: string): Buffer {
    const key = this.#sealing.hasSealed(sealed) ? this.#sealing : this.find(keyIdOf(sealed))
    if (key !== undefined) return key.open(sealed, place)
    throw new KeyNotGiven(keyIdOf(sealed))
  }

  openCredential(token: Parameters<typeof placeOf>[0]): string {
    return this.open(token.sealed, placeOf(token)).toString()
  }

  sealWith(id: string): void {
    const key = this.find(id)
    if (key === undefined) throw lacksKey(id)
    this.#sealing = key
  }

  /** Runs a change that seals, and again with the key that seals now where another has taken its place meanwhile. */
  async sealed<Result>(store: NamesSealingKey, change: (key: MasterKey) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await change(this.#sealing)
      } catch (error) {
        const superseded = error instanceof Failure && error.code === 'master-key-superseded'
        if (!superseded || attempt === MAX_ATTEMPTS) throw error
        this.sealWith(sealingKeyOf(await store.readVault()))
      }
    }
  }
}

/** Either the operator has not given this process a key that the store needs, or what names it was altered by hand. */
export class KeyNotGiven extends Error {
  readonly keyId: string

  constructor(keyId: string) {
    super(`sealed with master key ${keyId}, which is not among those given`)
    this.keyId = keyId
  }
}

/** Instances that were given the key can answer. */
export function lacksKey(keyId: string, code: 'unavailable' | 'outcome-unknown' = 'unavailable'): Failure {
  return new Failure(code, undefined, undefined, { cause: new KeyNotGiven(keyId) })
}

/** A row of the vault: the store secret, sealed with one of the keys that the store needs. */
export interface VaultRow {
  readonly keyId: string
  readonly sealedSecret: Uint8Array
  /** Of exactly one; the others are being retired, and only open. */
  readonly seals: boolean
}

interface NamesSealingKey {
  readVault(): Promise<readonly VaultRow[]>
}

export function sealingKeyOf(vault: readonly VaultRow[]): string {
  const sealing = vault.find(({ seals }) => seals)
  if (sealing === undefined) throw new Error('no master key seals in this store')
  return sealing.keyId
}
