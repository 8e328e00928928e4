// How this engine asks every question, on one connection.
import type { TokenActivity, TokenRecord } from '../../../tokens/model/token.ts'
import type { NameAsked } from '../../../tokens/upkeep/ports.ts'
import { TOKEN } from '../../columns.ts'
import { QUESTIONS } from '../../questions/all.ts'
import { type Asked, on, type Row } from '../../questions/question.ts'
import { type Former, toActivity } from '../../questions/usage.ts'
import type { Connection } from '../sqlite-connection.ts'
import { SQLITE, toInput } from './dialect.ts'
import { chooseBulk } from './listing.ts'
import { ask, findToken } from './lookups.ts'
import { findMark, findNews } from './news.ts'

function asking<Args extends readonly unknown[], Answer>(
  query: Asked<Args, Answer>,
): (db: Connection, ...args: Args) => Answer {
  if ('both' in query) {
    const [one, other] = [asking(query.both[0]), asking(query.both[1])]
    return (db, ...args) => query.join(one(db, ...args), other(db, ...args))
  }
  if ('sql' in query) return (db, ...args) => ask(db, query, args)
  return (db, ...args) => {
    const { sql, values, read } = query(SQLITE, ...args)
    return read(db.tuples(sql, ...values.map(toInput)))
  }
}

const BY_NAME = `SELECT ${TOKEN.columns('t')} FROM tokens t WHERE t.sub_account_id = ? AND t.name = ?`

function findTokensByNames(db: Connection, asked: readonly NameAsked[]): (TokenRecord | undefined)[] {
  return asked.map(({ subAccountId, name }) => TOKEN.readOne(db.tuple(BY_NAME, subAccountId, name)))
}

const KNOWN = 'SELECT 1 FROM tokens WHERE digest = ?1 UNION ALL SELECT 1 FROM retired_credentials WHERE digest = ?1'

function findKnown(db: Connection, _accountId: string, digests: readonly string[]): string[] {
  return digests.filter((digest) => db.tuple(KNOWN, Buffer.from(digest, 'hex')) !== undefined)
}

const FORMER_OF = `SELECT r.token_id, r.retires_at, v.verifications FROM retired_credentials r
  LEFT JOIN recent_verifications v ON v.token_id = r.token_id WHERE r.token_id = ? AND r.retires_at > ?`

/** Look-ups: for one token, they take a quarter of the time. */
function findActivity(db: Connection, tokenIds: readonly string[], at: number): Map<string, TokenActivity> {
  const found = new Map<string, TokenActivity>()
  for (const id of tokenIds) {
    const [lastUsedAt = null] = db.tuple<[number]>('SELECT at FROM last_used WHERE token_id = ?', id) ?? []
    const formers = db.tuples<Former>(FORMER_OF, id, at)
    if (lastUsedAt !== null || formers.length > 0) found.set(id, toActivity(lastUsedAt, formers))
  }
  return found
}

export const reads = on<Connection, 'at once', typeof QUESTIONS>(
  QUESTIONS,
  ({ query }: Row<never[], unknown>) => asking(query),
  {
    chooseBulk,
    findActivity,
    findKnown,
    findMark,
    findNews,
    findToken,
    findTokensByNames,
  },
)
