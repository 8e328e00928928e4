// Takes a store from one master key to another while it is being served. Whatever moment it is interrupted at, it is
// carried on by running it again; the former key is given up last, when nothing is sealed with it.
import { type CopiedRow, type OnPhase, partsOf, TOKENS } from './copy.ts'
import { OperatorError } from './errors.ts'
import { type KeyRing, sealingKeyOf } from './key-ring.ts'
import type { Resealed, Store } from './store.ts'
import type { Timestamp, TokenRecord } from './token.ts'
import { credentialPlace, keyIdOf, type MasterKey, STORE_SECRET_PLACE } from './vault.ts'

/** Where the keys are kept, if that is ours to change. */
export interface KeyKeeper {
  /** Makes a key and puts it first; it is on disk when this returns. */
  make(): void
  forget(ids: readonly string[]): void
}

export interface RotationParts {
  readonly store: Store
  readonly keys: KeyRing
  readonly keeper: KeyKeeper | undefined
  readonly now: () => Timestamp
  /** Writes a part, and leaves others their time. */
  readonly gently?: <Result>(work: () => Promise<Result>) => Promise<Result>
}

export interface RotationReport {
  /** The id of the key that everything is sealed with now. */
  readonly masterKey: string
  /** The ids of those that nothing needs any more. */
  readonly retired: readonly string[]
  readonly tokens: number
  /** By this run; fewer than all where an earlier one was interrupted. */
  readonly resealed: number
  /** True when an earlier run had begun it, and perhaps finished it. */
  readonly resumed: boolean
}

/** Small enough that a server beside it hardly waits: for the embedded store's lock, or for the rows on PostgreSQL. */
const PART = 100
const MAX_NAMED = 20
/** After the first time, only what was altered by hand can still be found sealed otherwise. */
const MAX_ROUNDS = 5

export async function rotateMasterKey(parts: RotationParts, onPhase: OnPhase): Promise<RotationReport> {
  const { store, keeper, now } = parts
  const found = await store.readVault()
  const resumed = found.length > 1 || (await isOver(parts, sealingKeyOf(found)))
  if (!resumed) await begin(parts)
  const vault = await store.readVault()
  const masterKey = sealingKeyOf(vault)
  const retiring = vault.filter(({ seals }) => !seals)
  const resealed = retiring.length > 0 ? await resealAll(parts, masterKey, onPhase) : 0
  for (const { keyId } of retiring) await store.retireMasterKey(keyId, now())
  const retired = await findRetired(parts)
  keeper?.forget(retired)
  const { active, inactive } = await store.countTokens()
  return { masterKey, retired, tokens: active + inactive, resealed, resumed }
}

/** All that may be left is to take the former keys away: those beside the first one, which seals, are retired. */
async function isOver(parts: RotationParts, sealing: string): Promise<boolean> {
  const { first, ids } = parts.keys
  const retired = await findRetired(parts)
  const others = ids.filter((id) => id !== first.id)
  return first.id === sealing && others.length > 0 && others.every((id) => retired.includes(id))
}

/** Keys that the store has retired, but that are still kept. */
async function findRetired({ store, keys }: RotationParts): Promise<readonly string[]> {
  const retired = await store.listRetiredMasterKeys()
  return keys.ids.filter((id) => retired.includes(id))
}

/** From here on the new key seals, in every process. */
async function begin({ store, keys, keeper, now }: RotationParts): Promise<void> {
  const vault = await store.readVault()
  const from = sealingKeyOf(vault)
  // A key that was made, but not put to use before the interruption, is put to use now.
  if (keys.first.id === from) {
    if (keeper === undefined) throw new OperatorError(INSTRUCTIONS)
    keeper.make()
    keys.renew()
  }
  const to = keys.first
  if ((await store.listRetiredMasterKeys()).includes(to.id)) {
    throw new OperatorError(`Master key ${to.id} was retired before. Make a new one: openssl rand -base64 32`)
  }
  const sealed = vault.find(({ keyId }) => keyId === from)?.sealedSecret ?? new Uint8Array()
  const sealedSecret = to.seal(keys.open(sealed, STORE_SECRET_PLACE), STORE_SECRET_PLACE)
  await store.changeMasterKey({ from, to: to.id, sealedSecret, at: now() })
}

const INSTRUCTIONS = `The master key comes from the environment, where this command cannot put another one. To rotate it:
  1. Make a new key: openssl rand -base64 32
  2. Give every instance both keys: the new one as LATCHKEY_MASTER_KEY (or the first line of LATCHKEY_MASTER_KEY_FILE), the
     present one as LATCHKEY_PREVIOUS_MASTER_KEY (or the next line of the file). Restart them, one after the other; they go
     on sealing with the present key.
  3. With the same settings, run latchkey master-key rotate again.
  4. Take the old key away from the instances.`

/**
 * Since the store refuses whatever is sealed with another key, those that are left only become fewer: a round that finds
 * none has seen the last of them, however long it took.
 */
async function resealAll(parts: RotationParts, sealing: string, onPhase: OnPhase): Promise<number> {
  const key = parts.keys.find(sealing)
  if (key === undefined) throw new OperatorError(`Master key ${sealing}, which the store is sealed with, is not given`)
  const { active, inactive } = await parts.store.countTokens()
  let resealed = 0
  for (let round = 1; round <= MAX_ROUNDS; round++) {
    const advance = onPhase(round === 1 ? 'Sealing' : 'Checking', active + inactive)
    const { left, done } = await resealOnce(parts, key, advance)
    resealed += done
    if (left === 0) return resealed
  }
  throw new OperatorError('Credentials sealed with a former key keep appearing. Run latchkey doctor.')
}

async function resealOnce(parts: RotationParts, key: MasterKey, advance: (by: number) => void) {
  const { store, keys, gently = (work) => work() } = parts
  const unreadable: string[] = []
  let [left, done] = [0, 0]
  for await (const part of partsOf(store, TOKENS, undefined, PART)) {
    const others = part.filter(({ sealed }) => keyIdOf(sealed as Uint8Array) !== key.id)
    const resealed: Resealed[] = []
    for (const row of others) {
      const anew = reseal(row, keys, key)
      if (anew === undefined) unreadable.push(String(row.id))
      else resealed.push(anew)
    }
    if (resealed.length > 0) done += await gently(() => store.resealTokens(resealed))
    left += others.length
    advance(part.length)
  }
  if (unreadable.length > 0) throw unreadableError(unreadable)
  return { left, done }
}

function reseal(row: CopiedRow, keys: KeyRing, key: MasterKey): Resealed | undefined {
  const token = row as unknown as TokenRecord
  try {
    const after = key.seal(keys.openCredential(token), credentialPlace(token))
    return { id: token.id, before: token.sealed, after }
  } catch {
    return undefined
  }
}

function unreadableError(ids: readonly string[]): OperatorError {
  const named = ids.slice(0, MAX_NAMED).join(', ') + (ids.length > MAX_NAMED ? ', …' : '')
  return new OperatorError(
    `${ids.length} credential(s) do not open with the key that they name: ${named}. All others are sealed with the new ` +
      'key; the old one is kept. Give these tokens new credentials (latchkey token rotate ID), then run this command again.',
  )
}
