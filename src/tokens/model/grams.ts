// How a name is found by any part of it. It is indexed by the group of three characters that starts at each of its
// places, shorter at the end, so that a search of one or two characters finds its groups by their beginning.
import { canMatch } from './page.ts'
import { foldCase } from './token.ts'

const GRAM_CHARACTERS = 3
/** A long search needs no more to be selective; the name itself is compared afterwards. */
const MAX_GRAMS_IN_SEARCH = 12

/** Of a folded name's characters, as they are or as an engine writes them; a group that comes twice is in it twice. */
export function gramsOfName(characters: readonly string[]): string[] {
  return gramsOf(characters, 1)
}

export interface Sought {
  /** A group of the name begins with this; only for the shortest searches, which have no groups. */
  readonly beginning: string | undefined
  /** The name has all of these groups. */
  readonly grams: readonly string[]
  /** And this within it, where the groups alone do not decide it. */
  readonly contains: string | undefined
}

/** Undefined for what no name contains. */
export function seek(search: string): Sought | undefined {
  if (!canMatch(search)) return undefined
  const folded = foldCase(search)
  const characters = [...folded]
  const { length } = characters
  if (length < GRAM_CHARACTERS) return { beginning: folded, grams: [], contains: undefined }
  const grams = [...new Set(gramsOf(characters, GRAM_CHARACTERS))].slice(0, MAX_GRAMS_IN_SEARCH)
  return { beginning: undefined, grams, contains: length > GRAM_CHARACTERS ? folded : undefined }
}

function gramsOf(characters: readonly string[], shortest: number): string[] {
  const grams: string[] = []
  for (let at = 0; at + shortest <= characters.length; at++) {
    grams.push(`${characters[at]}${characters[at + 1] ?? ''}${characters[at + 2] ?? ''}`)
  }
  return grams
}
