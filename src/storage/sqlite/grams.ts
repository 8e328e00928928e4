// The search index's alphabet. A folded name is indexed by the group of three characters that starts at each of its
// places, shorter at the end, so that one- and two-character searches find their groups by prefix. Each group begins
// with the account's number: a search reads only the caller's part of the index.
import { foldCase } from '../../tokens/token.ts'

const GRAM_CHARACTERS = 3
/** A long search needs no more to be selective; the name itself is compared afterwards. */
const MAX_GRAMS_IN_QUERY = 12

export function gramsOfName(accountNo: number, foldedName: string): string {
  return [...new Set(gramsAt([...foldedName], accountNo, 1))].join(' ')
}

export interface GramQuery {
  readonly match: string
  /** What the folded name must contain, where the groups alone do not decide it. */
  readonly contains: string | undefined
}

export function gramQuery(accountNo: number, search: string): GramQuery {
  const folded = foldCase(search)
  const characters = [...folded]
  if (characters.length < GRAM_CHARACTERS) {
    return { match: `"${prefix(accountNo)}${characters.map(encode).join('')}"*`, contains: undefined }
  }
  const grams = [...new Set(gramsAt(characters, accountNo, GRAM_CHARACTERS))].slice(0, MAX_GRAMS_IN_QUERY)
  return {
    match: grams.map((gram) => `"${gram}"`).join(' AND '),
    contains: characters.length > GRAM_CHARACTERS ? folded : undefined,
  }
}

function* gramsAt(characters: readonly string[], accountNo: number, shortest: number): Generator<string> {
  const encoded = characters.map(encode)
  for (let at = 0; at + shortest <= encoded.length; at++) {
    yield prefix(accountNo) + encoded.slice(at, at + GRAM_CHARACTERS).join('')
  }
}

/** Digits end at the letter: no account's prefix begins with another's. */
function prefix(accountNo: number): string {
  return `${accountNo}a`
}

/** ASCII letters and digits stand for themselves, everything else is x and six digits: no code begins another. */
function encode(character: string): string {
  if (/^[a-wyz0-9]$/.test(character)) return character
  return `x${(character.codePointAt(0) ?? 0).toString(16).padStart(6, '0')}`
}
