// Groups of characters as words that FTS5 takes as they are, and only they. Each begins with its account's number: a
// search reads only the caller's part of the index.
import { gramsOfName, type Sought } from '../../../tokens/model/grams.ts'

export function indexedGrams(accountNo: number, foldedName: string): string {
  const start = startOf(accountNo)
  return gramsOfName(encodeAll(foldedName))
    .map((gram) => start + gram)
    .join(' ')
}

export function matchExpression(accountNo: number, sought: Sought): string {
  if (sought.beginning !== undefined) return `"${word(accountNo, sought.beginning)}"*`
  return sought.grams.map((gram) => `"${word(accountNo, gram)}"`).join(' AND ')
}

function word(accountNo: number, gram: string): string {
  return startOf(accountNo) + encodeAll(gram).join('')
}

/** Digits end at the letter: no account's words begin with another's. */
function startOf(accountNo: number): string {
  return `${accountNo}a`
}

function encodeAll(text: string): string[] {
  const encoded: string[] = []
  for (const character of text) encoded.push(encode(character))
  return encoded
}

/** ASCII letters and digits stand for themselves, everything else is x and six digits: no code begins another. */
function encode(character: string): string {
  if (isPlain(character.charCodeAt(0))) return character
  return `x${(character.codePointAt(0) ?? 0).toString(16).padStart(6, '0')}`
}

function isPlain(code: number): boolean {
  return (code >= 97 && code <= 122 && code !== 120) || (code >= 48 && code <= 57)
}
