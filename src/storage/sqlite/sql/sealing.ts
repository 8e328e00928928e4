// Which master key seals, asked inside the transaction that stores what is sealed.
import { Failure } from '../../../tokens/errors.ts'
import { keyIdOf } from '../../../tokens/trust/vault.ts'
import type { Connection } from '../connection.ts'

/** Only one process at a time writes to the file: the answer holds until the commit. */
export function sealingKey(db: Connection): string | undefined {
  return db.get<{ key_id: string }>('SELECT key_id FROM vault WHERE seals = 1')?.key_id
}

export function requireSealing(db: Connection, sealed: readonly Uint8Array[]): void {
  const sealing = sealingKey(db)
  if (sealed.some((each) => keyIdOf(each) !== sealing)) throw new Failure('master-key-superseded')
}
