// Counts of verifications as CSV.
import { readOnce } from '../../tokens/model/page.ts'
import { readUsageRange } from '../../tokens/usage/usage.ts'
import { REFUSED } from '../../tokens/verify/recent-verifications.ts'
import type { Columns } from '../csv.ts'
import { type BeginExport, exportOf, withoutPages } from '../export.ts'
import { usageToWire } from './document.ts'

const COLUMNS: Columns = ['from', 'accepted', ...REFUSED.map((reason) => `refused.${reason}`)]

/** Of the token of the path, of a sub-account or of the account: a few hundred buckets at most, which are one part. */
export const exportUsage: BeginExport = async ({ usage }, { caller, query, params, now }) => {
  const range = readUsageRange(withoutPages(query), now)
  const read = async () => ({
    rows: await (params.id === undefined
      ? usage.ofAccount(caller, readOnce(query, 'subAccountId'), range)
      : usage.ofToken(caller, params.id, range)),
    next: undefined,
  })
  return exportOf(COLUMNS, read, (buckets) => usageToWire(range, buckets).buckets)
}
