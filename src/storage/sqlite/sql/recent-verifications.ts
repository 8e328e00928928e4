// The last verifications of tokens, merged with what a process has noted. The writer thread makes one change at a time.
import type { RecentVerifications } from '../../../tokens/verify/recent-verifications.ts'
import { mergeStored } from '../../recent-queries.ts'
import type { Transaction } from '../transaction.ts'

const FIND = 'SELECT verifications FROM recent_verifications WHERE token_id = ?'
const KEEP = `INSERT INTO recent_verifications (token_id, day, verifications) SELECT id, ?2, ?3 FROM tokens WHERE id = ?1
  ON CONFLICT DO UPDATE SET day = excluded.day, verifications = excluded.verifications`

export function saveRecent(
  { db }: Transaction,
  noted: ReadonlyMap<string, RecentVerifications>,
): Map<string, RecentVerifications> {
  const onRecord = new Map<string, RecentVerifications>()
  for (const [tokenId, recent] of noted) {
    const [stored] = db.tuple<[string]>(FIND, tokenId) ?? []
    const { merged, row } = mergeStored(stored, recent)
    if (row !== undefined) db.run(KEEP, tokenId, row.day, row.verifications)
    onRecord.set(tokenId, merged)
  }
  return onRecord
}
