// Which master key seals, asked inside the transaction that stores what is sealed.
import { Failure } from '../../../tokens/errors.ts'
import type { Resealed } from '../../../tokens/operator-ports.ts'
import { keyIdOf } from '../../../tokens/trust/vault.ts'
import type { Connection } from '../sqlite-connection.ts'
import { findSealingKey } from './reads.ts'

/** Only one process at a time writes to the file: the answer holds until the commit. */
export function requireSealing(db: Connection, resealed: readonly Resealed[]): void {
  const sealing = findSealingKey(db)
  if (resealed.some(({ after }) => keyIdOf(after) !== sealing)) throw new Failure('master-key-superseded')
}
