// Opens the store secret, for both engines.
import { OperatorError } from '../tokens/model/errors.ts'
import type { KeyRing, VaultRow } from '../tokens/trust/key-ring.ts'
import { STORE_SECRET_CONTEXT } from '../tokens/trust/vault.ts'

/** The store secret. The ring must have every key that the store needs; the key that seals in the store seals in the ring. */
export function openSecret(vault: readonly VaultRow[], keys: KeyRing, place: string): Uint8Array {
  requireKeys(
    vault.map(({ keyId }) => keyId),
    keys,
    place,
  )
  const own = vault.find(({ seals }) => seals)
  if (own === undefined) throw new OperatorError(`${place} has no master key that seals. ${ALTERED}`)
  keys.sealWith(own.keyId)
  try {
    return keys.open(own.sealedSecret, STORE_SECRET_CONTEXT)
  } catch (cause) {
    throw new OperatorError(`${place} holds a store secret that does not open. ${ALTERED}`, { cause })
  }
}

const ALTERED = 'Its vault is damaged or was changed outside Latchkey: restore a backup; nothing was changed.'

export function requireKeys(needed: readonly string[], keys: KeyRing, place: string): void {
  const missing = needed.filter((id) => keys.find(id) === undefined)
  if (missing.length === 0) return
  const [lacking, given] = [missing.join(', '), keys.ids.join(', ')]
  throw new OperatorError(
    missing.length === needed.length
      ? `${place} is sealed with master key ${lacking}, but the key given is ${given}. ` +
          'Set LATCHKEY_MASTER_KEY or LATCHKEY_MASTER_KEY_FILE to the right key; nothing was changed.'
      : `The master key of ${place} is being rotated, and ${lacking} is needed in addition to ${given}. ` +
          'Set LATCHKEY_MASTER_KEY to the new key and LATCHKEY_PREVIOUS_MASTER_KEY to the old one; nothing was changed.',
  )
}

/** A store is copied with exactly one key. */
export function requireSettled(vaultRows: number, place: string): void {
  if (vaultRows === 1) return
  throw new OperatorError(
    `The master key of ${place} is being rotated. Run \`latchkey master-key rotate\` to the end first.`,
  )
}
