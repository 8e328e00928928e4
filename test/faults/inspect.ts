// A store of the embedded engine after a crash: is it whole, and what is in it? Looks at a copy, so that the service
// itself recovers the original.
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'
import type { StoredToken } from './ledger.ts'

export interface Inspection {
  readonly problems: readonly string[]
  readonly tokens: readonly StoredToken[]
}

/** Each finds rows that must not be. */
const MUST_BE_EMPTY: Readonly<Record<string, string>> = {
  'a broken reference': 'PRAGMA foreign_key_check',
  'a kept total that is not what counting gives': `
    SELECT scope, status, sum(n) FROM (
      SELECT scope, status, count AS n FROM token_counts
      UNION ALL SELECT account_id, status, -1 FROM tokens
      UNION ALL SELECT sub_account_id, status, -1 FROM tokens
    ) GROUP BY scope, status HAVING sum(n) <> 0`,
  'a change without its history, or a history without its change': `
    SELECT id, version FROM tokens WHERE version <> (SELECT count(*) FROM history WHERE token_id = tokens.id)`,
  'a gap in a history': `
    SELECT account_id FROM history_heads h WHERE seq <> (SELECT count(*) FROM history WHERE account_id = h.account_id)
      OR seq <> (SELECT max(seq) FROM history WHERE account_id = h.account_id)`,
  'a token that the search does not know, or the other way round': `
    SELECT no FROM tokens EXCEPT SELECT rowid FROM token_grams
    UNION ALL SELECT rowid FROM token_grams WHERE rowid NOT IN (SELECT no FROM tokens)`,
}

export function inspect(dataDir: string): Inspection {
  const folder = temporaryFolder()
  try {
    for (const file of ['latchkey.db', 'latchkey.db-wal']) {
      if (existsSync(join(dataDir, file))) cpSync(join(dataDir, file), join(folder, file))
    }
    return inspectInPlace(join(folder, 'latchkey.db'))
  } finally {
    removeFolder(folder)
  }
}

export function inspectInPlace(path: string): Inspection {
  let db: DatabaseSync | undefined
  try {
    db = new DatabaseSync(path)
    const problems = findProblems(db)
    const tokens = db.prepare('SELECT id, name, status, version FROM tokens').all()
    return { problems, tokens: tokens as unknown as StoredToken[] }
  } catch (error) {
    return { problems: [`it cannot be read: ${(error as Error).message}`], tokens: [] }
  } finally {
    db?.close()
  }
}

function findProblems(db: DatabaseSync): string[] {
  const problems: string[] = []
  const [integrity] = db.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[]
  if (integrity?.integrity_check !== 'ok') problems.push(`integrity: ${integrity?.integrity_check}`)
  for (const [problem, sql] of Object.entries(MUST_BE_EMPTY)) {
    const found = db.prepare(sql).all()
    if (found.length > 0) problems.push(`${problem}: ${JSON.stringify(found[0])}`)
  }
  return problems
}
