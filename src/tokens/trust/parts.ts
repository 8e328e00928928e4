// What an operation works with.
import type { Timestamp } from '../model/token.ts'
import type { KeyRing } from './key-ring.ts'
import type { Tampered } from './stamp.ts'
import type { Stamps } from './vault.ts'

/** What an operation works with: of the store, only the ports that it uses. */
export interface Parts<Ports> {
  readonly store: Ports
  readonly keys: KeyRing
  readonly stamps: Stamps
  readonly now: () => Timestamp
  /** Called for every row whose stamp does not match, or whose credential cannot be decrypted. */
  readonly onTampered: (tampered: Tampered) => void
}
