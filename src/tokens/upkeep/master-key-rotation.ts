// Rotates the master key while servers use the store. An interrupted run is continued by the next one; the old key is retired
// last, when nothing is sealed with it.
import { nameSome, OperatorError } from '../model/errors.ts'
import type { StoredRow, Table } from '../model/table.ts'
import { TOKENS } from '../model/tables.ts'
import type { TokenRecord } from '../model/token.ts'
import type { CountStore } from '../service/ports.ts'
import { type KeyRing, sealingKeyOf, type VaultStore } from '../trust/key-ring.ts'
import type { Parts } from '../trust/parts.ts'
import {
  contextOf,
  credentialContext,
  keyIdOf,
  type MasterKey,
  STORE_SECRET_CONTEXT,
  webhookContext,
} from '../trust/vault.ts'
import { WEBHOOKS } from '../webhooks/tables.ts'
import type { StoredWebhook } from '../webhooks/webhook.ts'
import { type OnPhase, partsOf } from './copy.ts'
import type { MasterKeyStore, Resealed, RowStore } from './ports.ts'

/** The key file, if Latchkey manages it. Each change is on disk when the method returns. */
export interface KeyKeeper {
  /** Generates a key and puts it first. */
  make(): void
  /** Moves keys out of the file, each to its own: older backups need them. */
  retire(ids: readonly string[]): void
  /** The file of a retired key. */
  fileOfRetired(id: string): string
}

type Ports = VaultStore & MasterKeyStore & Pick<CountStore, 'countTokens'> & Pick<RowStore, 'readRows'>

interface RotationParts extends Pick<Parts<Ports>, 'store' | 'keys' | 'now'> {
  readonly keeper: KeyKeeper | undefined
  /** Runs a write, then pauses, so that servers on the same store are not held up. */
  readonly gently?: <Result>(work: () => Promise<Result>) => Promise<Result>
}

export interface RotationReport {
  /** The id of the key that everything is sealed with now. */
  readonly masterKey: string
  /** The ids of the keys that the store no longer needs. */
  readonly retired: readonly string[]
  /** The files of the retired keys; empty if Latchkey does not manage the key file. */
  readonly keptIn: readonly string[]
  readonly tokens: number
  /** By this run; fewer than all if an earlier run was interrupted. */
  readonly resealed: number
  /** True if an earlier run had started this rotation. */
  readonly resumed: boolean
}

/** Tokens in one write: few, since servers wait for the lock of the embedded store, or of rows on PostgreSQL. */
const PART = 100
/** After the first round, only rows that were changed outside Latchkey can still be sealed with another key. */
const MAX_ROUNDS = 5

export async function rotateMasterKey(parts: RotationParts, onPhase: OnPhase): Promise<RotationReport> {
  const { store, keeper, now } = parts
  const found = await store.readVault()
  const resumed = found.length > 1 || (await isNearlyDone(parts, sealingKeyOf(found)))
  if (!resumed) await begin(parts)
  const vault = await store.readVault()
  const masterKey = sealingKeyOf(vault)
  const retiring = vault.filter(({ seals }) => !seals)
  const resealed = retiring.length > 0 ? await resealAll(parts, masterKey, onPhase) : 0
  for (const { keyId } of retiring) await store.retireMasterKey(keyId, now())
  const retired = await findRetired(parts)
  keeper?.retire(retired)
  const keptIn = keeper === undefined ? [] : retired.map((id) => keeper.fileOfRetired(id))
  const { active, inactive } = await store.countTokens()
  return { masterKey, retired, keptIn, tokens: active + inactive, resealed, resumed }
}

/** Whether only the last step is missing: the first key seals, and all others are retired but still in the key file. */
async function isNearlyDone(parts: RotationParts, sealing: string): Promise<boolean> {
  const { first, ids } = parts.keys
  const retired = await findRetired(parts)
  const others = ids.filter((id) => id !== first.id)
  return first.id === sealing && others.length > 0 && others.every((id) => retired.includes(id))
}

/** Keys in the key ring that the store has retired. */
async function findRetired({ store, keys }: RotationParts): Promise<readonly string[]> {
  const retired = await store.listRetiredMasterKeys()
  return keys.ids.filter((id) => retired.includes(id))
}

/** Afterwards the new key seals, in every process. */
async function begin({ store, keys, keeper, now }: RotationParts): Promise<void> {
  const vault = await store.readVault()
  const from = sealingKeyOf(vault)
  // Otherwise an interrupted run has already generated the new key.
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
  const sealedSecret = to.seal(keys.open(sealed, STORE_SECRET_CONTEXT), STORE_SECRET_CONTEXT)
  await store.changeMasterKey({ from, to: to.id, sealedSecret, at: now() })
}

const INSTRUCTIONS = `The master key comes from the environment, which this command cannot change. To rotate it:
  1. Make a new key: openssl rand -base64 32
  2. Give every instance both keys: the new one as LATCHKEY_MASTER_KEY (or the first line of LATCHKEY_MASTER_KEY_FILE), the
     present one as LATCHKEY_PREVIOUS_MASTER_KEY (or the next line of the file). Restart them, one after the other; they
     still seal with the present key.
  3. With the same settings, run latchkey master-key rotate again.
  4. Remove the old key from the settings of every instance.`

/** Repeats until no credential is sealed with another key. The store refuses new ones, so their number only decreases. */
async function resealAll(parts: RotationParts, sealing: string, onPhase: OnPhase): Promise<number> {
  const key = parts.keys.find(sealing)
  if (key === undefined) throw new OperatorError(`Master key ${sealing}, which the store is sealed with, was not given`)
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
  for (const { table, sealedIn, write } of SEALED) {
    for await (const part of partsOf(store, table, undefined, PART)) {
      const others = part.flatMap(sealedIn).filter(({ sealed }) => keyIdOf(sealed) !== key.id)
      const resealed = others.flatMap((each) => reseal(each, keys, key) ?? [])
      const failed = others.filter(({ sealed }) => !resealed.some(({ before }) => before === sealed))
      unreadable.push(...failed.map(({ id }) => id))
      if (resealed.length > 0) done += await gently(() => write(store, resealed))
      left += others.length
      if (table === TOKENS) advance(part.length)
    }
  }
  if (unreadable.length > 0) throw unreadableError(unreadable)
  return { left, done }
}

/** A credential or a secret. It opens in `context`, and is to be sealed for `newContext`. */
interface Sealed {
  readonly id: string
  readonly sealed: Uint8Array
  readonly context: string
  readonly newContext: string
}

interface SealedTable {
  readonly table: Table
  readonly sealedIn: (row: StoredRow) => readonly Sealed[]
  readonly write: (store: RotationParts['store'], resealed: readonly Resealed[]) => Promise<number>
}

const SEALED: readonly SealedTable[] = [
  {
    table: TOKENS,
    sealedIn: (row) => {
      const token = row as unknown as TokenRecord
      return [{ id: token.id, sealed: token.sealed, context: contextOf(token), newContext: credentialContext(token) }]
    },
    write: (store, resealed) => store.resealTokens(resealed),
  },
  {
    table: WEBHOOKS,
    sealedIn: (row) => {
      const webhook = row as unknown as StoredWebhook
      const { id, sealed, formerSealed } = webhook
      const context = webhookContext(webhook)
      return [sealed, formerSealed].flatMap((each) =>
        each === null ? [] : { id, sealed: each, context, newContext: context },
      )
    },
    write: (store, resealed) => store.resealWebhooks(resealed),
  },
]

function reseal({ id, sealed, context, newContext }: Sealed, keys: KeyRing, key: MasterKey): Resealed | undefined {
  try {
    return { id, before: sealed, after: key.seal(keys.open(sealed, context), newContext) }
  } catch {
    return undefined
  }
}

function unreadableError(ids: readonly string[]): OperatorError {
  return new OperatorError(
    `${ids.length} credential(s) do not open with the key that they name: ${nameSome(ids)}. All others are sealed with the new ` +
      'key; the old one is kept. Give these tokens new credentials (latchkey token rotate ID), delete these webhooks, then run ' +
      'this command again.',
  )
}
