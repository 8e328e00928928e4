// The search index's alphabet. A folded name is indexed by the group of three characters that starts at each of its
// places, shorter at the end, so that one- and two-character searches find their groups by prefix. Each group begins
// with its account's mark: a search reads only the caller's part of the index.
import { createHash } from 'node:crypto'
import { canMatch } from '../../tokens/page.ts'
import { foldCase } from '../../tokens/token.ts'

const GRAM_CHARACTERS = 3
/** A long search needs no more to be selective; the name itself is compared afterwards. */
const MAX_GRAMS_IN_QUERY = 12
/** 36 bits: two accounts with one mark only read a little of each other's index, and the account is compared anyway. */
const MARK_CHARACTERS = 6

/** A name's groups, as the text of a tsvector. */
export function gramsOfName(accountId: string, name: string): string {
  return gramsAt(accountId, [...foldCase(name)], 1).join(' ')
}

export interface GramQuery {
  /** The text of a tsquery. */
  readonly match: string
  /** What the folded name must contain, where the groups alone do not decide it. */
  readonly contains: string | undefined
}

/** Undefined for what no name contains; some of it, such as NUL, PostgreSQL could not even be asked. */
export function gramQuery(accountId: string, search: string): GramQuery | undefined {
  if (!canMatch(search)) return undefined
  const folded = foldCase(search)
  const characters = [...folded]
  if (characters.length < GRAM_CHARACTERS) {
    return { match: `${quote(mark(accountId) + folded)}:*`, contains: undefined }
  }
  const grams = gramsAt(accountId, characters, GRAM_CHARACTERS).slice(0, MAX_GRAMS_IN_QUERY)
  return { match: grams.join(' & '), contains: characters.length > GRAM_CHARACTERS ? folded : undefined }
}

function gramsAt(accountId: string, characters: readonly string[], shortest: number): string[] {
  const start = mark(accountId)
  const grams = new Set<string>()
  for (let at = 0; at + shortest <= characters.length; at++) {
    grams.add(quote(start + characters.slice(at, at + GRAM_CHARACTERS).join('')))
  }
  return [...grams]
}

function mark(accountId: string): string {
  return createHash('sha256').update(accountId).digest('base64').slice(0, MARK_CHARACTERS)
}

function quote(lexeme: string): string {
  return `'${lexeme.replace(/['\\]/g, '$&$&')}'`
}
