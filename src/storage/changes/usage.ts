// Changes of what is kept of verifications.
import type { UsageStore, UseStore } from '../../tokens/usage/ports.ts'
import { own } from './write.ts'

export const usageWrites = {
  saveUses: own<UseStore['saveUses']>(),
  saveRecent: own<UseStore['saveRecent']>(),
  addUsage: own<UsageStore['addUsage']>(),
  ageUsage: own<UsageStore['ageUsage']>(),
}
