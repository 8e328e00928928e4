// What is asked of the sessions of people.
import { SESSION } from '../columns.ts'
import { identity, query, short } from './question.ts'

const SESSION_BY = `SELECT ${SESSION.columns('s')} FROM sessions s`

export const findSessionById = query(
  (id: string) => [id],
  `${SESSION_BY} WHERE s.id = ?1`,
  ([row]) => SESSION.readOne(row),
)

export const peopleQuestions = {
  findSessionById: identity(findSessionById),
  findSessionByDigest: identity(
    (digest: Uint8Array) => [digest],
    `${SESSION_BY} WHERE s.digest = ?1`,
    ([row]) => SESSION.readOne(row),
  ),
  listSessions: short(
    (before: string, limit: number) => [before, limit],
    `${SESSION_BY} WHERE s.id < ?1 ORDER BY s.id DESC LIMIT ?2`,
    (rows) => SESSION.readAll(rows),
  ),
}
