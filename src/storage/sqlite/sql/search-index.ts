// Merging of the search index. Every commit that adds or removes names adds a segment to the index, and a search reads all of
// them; merging keeps them few.
import type { Connection } from '../sqlite-connection.ts'
import type { Transaction } from '../transaction.ts'

/** Pages: some three milliseconds, during which other changes wait. */
const MERGED_AT_ONCE = 16
/** What one name adds is merged several times before it is part of the largest segment. */
const MERGED_PER_NAME = 1 / 25

/** Merges in proportion to the names of this transaction. */
export function mergeAlong({ db, indexed }: Transaction): void {
  if (indexed > 0) merge(db, MERGED_AT_ONCE + Math.ceil(indexed * MERGED_PER_NAME))
}

/** For idle moments; true when there is more to do. `whole` begins to merge all segments into one, and later calls go on. */
export function tidySearch({ db }: Transaction, whole: boolean): boolean {
  // To FTS5 a negative number of pages means all segments, whatever their sizes.
  return merge(db, whole ? -MERGED_AT_ONCE : MERGED_AT_ONCE)
}

function merge(db: Connection, pages: number): boolean {
  const before = totalChanges(db)
  db.run("INSERT INTO token_grams (token_grams, rank) VALUES ('merge', ?)", pages)
  // One change is the statement itself.
  return totalChanges(db) - before > 1
}

function totalChanges(db: Connection): number {
  return db.tuple<[number]>('SELECT total_changes()')?.[0] ?? 0
}
