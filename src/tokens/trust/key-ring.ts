// The master keys of this process. The store decides which of them seals: a ring may also have a key that is not in use yet, and
// one that is being retired.
import { Failure, failure } from '../model/errors.ts'
import { contextOf, keyIdOf, type MasterKey } from './vault.ts'

/** Reads the keys again from their source; undefined if nothing has changed there. */
export type Reread = () => readonly MasterKey[] | undefined

/** Of a change whose sealing key is replaced meanwhile. */
const MAX_ATTEMPTS = 5

export class KeyRing {
  /** Keys are never removed: a row that was just read may still need one. */
  readonly #keys = new Map<string, MasterKey>()
  readonly #reread: Reread
  #first: MasterKey
  #sealing: MasterKey

  /** The first key seals in a new store, and is the target of a rotation. */
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

  /** Reads the keys again for an unknown id: a rotation may have added a key. */
  find(id: string): MasterKey | undefined {
    if (!this.#keys.has(id)) this.renew()
    return this.#keys.get(id)
  }

  renew(): void {
    const keys = this.#reread() ?? []
    for (const key of keys) this.#keys.set(key.id, key)
    this.#first = keys[0] ?? this.#first
  }

  /** Throws unless one of the keys opens `sealed` for this context; `KeyNotGiven` if it names an unknown key. */
  open(sealed: Uint8Array, context: string): Buffer {
    const key = this.#sealing.hasSealed(sealed) ? this.#sealing : this.find(keyIdOf(sealed))
    if (key !== undefined) return key.open(sealed, context)
    throw new KeyNotGiven(keyIdOf(sealed))
  }

  openCredential(token: Parameters<typeof contextOf>[0]): string {
    return this.open(token.sealed, contextOf(token)).toString()
  }

  sealWith(id: string): void {
    const key = this.find(id)
    if (key === undefined) throw lacksKey(id)
    this.#sealing = key
  }

  /** Runs a change that seals, and retries with the new key if the store's sealing key was replaced meanwhile. */
  async sealed<Result>(store: VaultStore, change: (key: MasterKey) => Promise<Result>): Promise<Result> {
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

/** The operator has not given this process a key of the store, or the sealed value was changed outside Latchkey. */
export class KeyNotGiven extends Error {
  readonly keyId: string

  constructor(keyId: string) {
    super(`sealed with master key ${keyId}, which is not among those given`)
    this.keyId = keyId
  }
}

/** Unavailable rather than invalid: another instance may have the key. */
export function lacksKey(keyId: string): Failure {
  return failure('unavailable', new KeyNotGiven(keyId))
}

/** The store secret, sealed with one of the store's keys. */
export interface VaultRow {
  readonly keyId: string
  readonly sealedSecret: Uint8Array
  /** True for exactly one key. The others are being retired: they open, but no longer seal. */
  readonly seals: boolean
}

export interface VaultStore {
  /** The master keys that the store needs. */
  readVault(): Promise<readonly VaultRow[]>
}

export function sealingKeyOf(vault: readonly VaultRow[]): string {
  const sealing = vault.find(({ seals }) => seals)
  if (sealing === undefined) throw new Error('no master key seals in this store')
  return sealing.keyId
}
