// The last verifications of tokens, merged with what a process has noted. Several instances may do so for the same tokens: what is
// on record is read first, which locks nothing, since they have mostly noted the same.
import type { RecentVerifications } from '../../../tokens/verify/recent-verifications.ts'
import { mergeStored } from '../../recent-queries.ts'
import type { Connection } from '../postgres-connection.ts'
import type { Transaction } from './history.ts'

type Noted = ReadonlyMap<string, RecentVerifications>

/** Rows are locked in one order everywhere. A token is locked only where it has no row, so that it is not deleted meanwhile. */
export async function saveRecent({ db }: Transaction, noted: Noted): Promise<Map<string, RecentVerifications>> {
  const { onRecord, changed, found } = await merge(db, noted, FIND)
  if (changed.length === 0) return onRecord
  const ids = changed.map(({ tokenId }) => tokenId)
  const added = ids.filter((id) => !found.has(id))
  if (added.length > 0) await db.run(ADD, added)
  const locked = await merge(
    db,
    new Map(ids.map((id) => [id, noted.get(id) ?? []])),
    `${FIND} ORDER BY token_id FOR UPDATE`,
  )
  await db.run(
    KEEP,
    locked.changed.map(({ tokenId }) => tokenId),
    locked.changed.map(({ day }) => day),
    locked.changed.map(({ verifications }) => verifications),
  )
  return new Map([...onRecord, ...locked.onRecord])
}

async function merge(db: Connection, noted: Noted, sql: string) {
  const found = new Map((await db.tuples(sql, [...noted.keys()])) as [string, string][])
  const merged = [...noted].map(([tokenId, recent]) => ({ tokenId, ...mergeStored(found.get(tokenId), recent) }))
  return {
    found,
    onRecord: new Map(merged.map((each) => [each.tokenId, each.merged])),
    changed: merged.flatMap(({ tokenId, row }) => (row === undefined ? [] : [{ tokenId, ...row }])),
  }
}

const FIND = 'SELECT token_id, verifications FROM recent_verifications WHERE token_id = ANY($1::text[])'
const ADD = `INSERT INTO recent_verifications (token_id, day, verifications)
  SELECT id, 0, '[]' FROM tokens WHERE id = ANY($1::text[]) ORDER BY id FOR KEY SHARE ON CONFLICT DO NOTHING`
const KEEP = `UPDATE recent_verifications r SET day = kept.day, verifications = kept.verifications
  FROM unnest($1::text[], $2::bigint[], $3::text[]) AS kept (token_id, day, verifications) WHERE r.token_id = kept.token_id`
