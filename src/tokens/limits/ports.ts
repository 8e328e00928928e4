// What a store keeps of rates and quotas.
import type { RecordOf } from '../model/table.ts'
import type { LIMITS } from '../model/tables.ts'

export type StoredLimit = RecordOf<typeof LIMITS>
