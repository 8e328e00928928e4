// Changes of what is left of rates and quotas.
import type { LimitStore } from '../../tokens/limits/limiter.ts'
import { own } from './write.ts'

export const limitWrites = {
  /** In a turn apart from the account's changes, which may be many. */
  reserveUnits: own<LimitStore['reserveUnits']>((accountId) => `limits of ${accountId}`, true),
}
