// How names are indexed, so that any part of a name finds it: by the trigram that starts at each character, shorter at the end.
// A search of one or two characters finds trigrams by their prefix.
import { canMatch } from './page.ts'
import { foldCase } from './token.ts'

const GRAM_CHARACTERS = 3
/** Enough to be selective; the name itself is compared afterwards. */
const MAX_GRAMS_IN_SEARCH = 12

/** `characters` are those of a folded name, as an engine encodes them. Repeated trigrams are kept. */
export function gramsOfName(characters: readonly string[]): string[] {
  return gramsOf(characters, 1)
}

export interface Sought {
  /** A prefix of a trigram; only for searches shorter than a trigram. */
  readonly beginning: string | undefined
  /** The name has all of these trigrams. */
  readonly grams: readonly string[]
  /** And contains this, unless the trigrams alone decide it. */
  readonly contains: string | undefined
}

/** Undefined if no name can contain it. */
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
