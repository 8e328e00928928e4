// Changes of verifiers.
import type { VerifierStore } from '../../tokens/verifiers/ports.ts'
import { own } from './write.ts'

export const verifierWrites = {
  insertVerifier: own<VerifierStore['insertVerifier']>(({ accountId }) => accountId),
  renewVerifiers: own<VerifierStore['renewVerifiers']>(([first]) => first?.accountId ?? '', true),
  evictVerifier: own<VerifierStore['evictVerifier']>((accountId = '') => accountId),
  endLease: own<VerifierStore['endLease']>((id) => id, true),
}
