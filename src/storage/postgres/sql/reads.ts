// How this engine asks every question, on one connection: one statement each, so that an answer comes from one snapshot and one round trip.
import type { TokenRecord } from '../../../tokens/model/token.ts'
import type { NameAsked } from '../../../tokens/upkeep/ports.ts'
import { TOKEN } from '../../columns.ts'
import { QUESTIONS } from '../../questions/all.ts'
import { type Asked, on, type Row } from '../../questions/question.ts'
import type { Connection } from '../postgres-connection.ts'
import { binaryArray } from '../protocol/binary-arrays.ts'
import { POSTGRES } from './dialect.ts'
import { chooseBulk } from './listing.ts'
import { ask, findToken } from './lookups.ts'
import { findMark, findNews } from './news.ts'

function asking<Args extends readonly unknown[], Answer>(
  query: Asked<Args, Answer>,
): (db: Connection, ...args: Args) => Promise<Answer> {
  if ('both' in query) {
    const [one, other] = [asking(query.both[0]), asking(query.both[1])]
    return async (db, ...args) => query.join(...(await Promise.all([one(db, ...args), other(db, ...args)])))
  }
  if ('sql' in query) return (db, ...args) => ask(db, query, args)
  return async (db, ...args) => {
    const { sql, values, read } = query(POSTGRES, ...args)
    return read(await db.tuples(sql, ...values))
  }
}

/** No stored name has a NUL, which PostgreSQL does not take. */
async function findTokensByNames(db: Connection, asked: readonly NameAsked[]): Promise<(TokenRecord | undefined)[]> {
  const found = await db.tuples(
    `SELECT asked.position - 1, ${TOKEN.columns('t')}
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (sub_account_id, name, position)
     JOIN sub_accounts s ON s.id = asked.sub_account_id JOIN LATERAL (
       SELECT * FROM tokens WHERE account_id = s.account_id AND sub_account_id = s.id AND name = asked.name LIMIT 1
     ) t ON true`,
    ...[asked.map(({ subAccountId }) => subAccountId), asked.map(({ name }) => name.replaceAll('\0', '\ufffd'))],
  )
  const tokens = new Map(found.map((values) => [values[0], TOKEN.read(values, 1)]))
  return asked.map((_, position) => tokens.get(position))
}

const KNOWN = `
  SELECT encode(digest, 'hex') FROM tokens WHERE digest = ANY($1::bytea[])
  UNION ALL SELECT encode(digest, 'hex') FROM retired_credentials WHERE digest = ANY($1::bytea[])`
const KNOWN_PLACES = `SELECT encode(digest, 'hex') FROM credential_places WHERE digest = ANY($1::bytea[])`

async function findKnown(
  db: Connection,
  digests: readonly string[],
  isPartitioned: boolean,
): Promise<readonly string[]> {
  const bytes = digests.map((digest) => Buffer.from(digest, 'hex'))
  return (await db.tuples(isPartitioned ? KNOWN_PLACES : KNOWN, binaryArray('bytes', bytes))).flat() as string[]
}

export const postgresReads = (isPartitioned: boolean) =>
  on<Connection, 'later', typeof QUESTIONS>(QUESTIONS, ({ query }: Row<never[], unknown>) => asking(query), {
    chooseBulk,
    findKnown: (db, _accountId, digests) => findKnown(db, digests, isPartitioned),
    findMark,
    findNews,
    findToken,
    findTokensByNames,
  })
