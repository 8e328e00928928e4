// What both engines do with the vault's rows when a store is opened.
import { OperatorError } from '../tokens/errors.ts'
import type { KeyRing, VaultRow } from '../tokens/trust/key-ring.ts'
import { STORE_SECRET_PLACE } from '../tokens/trust/vault.ts'

/** The store secret. Every key that the store needs must be in the ring, which is told which of them seals. */
export function openSecret(vault: readonly VaultRow[], keys: KeyRing, place: string): Uint8Array {
  const missing = vault.filter(({ keyId }) => keys.find(keyId) === undefined)
  if (missing.length > 0) throw missingKeys(vault, missing, keys, place)
  const own = vault.find(({ seals }) => seals)
  if (own === undefined) throw new OperatorError(`${place} has no master key that seals. ${ALTERED}`)
  keys.sealWith(own.keyId)
  try {
    return keys.open(own.sealedSecret, STORE_SECRET_PLACE)
  } catch (cause) {
    throw new OperatorError(`${place} holds a store secret that does not open. ${ALTERED}`, { cause })
  }
}

const ALTERED = 'Its vault was altered by hand or is damaged: put a backup in its place; nothing was changed.'

function missingKeys(vault: readonly VaultRow[], missing: readonly VaultRow[], keys: KeyRing, place: string) {
  const list = (rows: readonly VaultRow[]) => rows.map(({ keyId }) => keyId).join(', ')
  if (missing.length === vault.length) {
    return new OperatorError(
      `${place} is sealed with master key ${list(vault)}, but the key given is ${keys.ids.join(', ')}. ` +
        'Set LATCHKEY_MASTER_KEY or LATCHKEY_MASTER_KEY_FILE to the right key; nothing was changed.',
    )
  }
  return new OperatorError(
    `The master key of ${place} is being rotated, and ${list(missing)} is needed beside ${keys.ids.join(', ')}. ` +
      'Set LATCHKEY_MASTER_KEY to the new key and LATCHKEY_PREVIOUS_MASTER_KEY to the old one; nothing was changed.',
  )
}

/** A copy goes over as the store is: with one key. */
export function requireSettled(vaultRows: number, place: string): void {
  if (vaultRows === 1) return
  throw new OperatorError(
    `The master key of ${place} is being rotated. Run \`latchkey master-key rotate\` to the end first.`,
  )
}
