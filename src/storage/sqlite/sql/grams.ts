// Groups of characters, encoded so that FTS5 keeps each as one word. Each begins with the number of its account, so that a
// search reads only that account's part of the index.
import { gramsOfName, type Sought } from '../../../tokens/model/name-grams.ts'

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

/** The letter ends the number: no account's words begin with those of another one. */
function startOf(accountNo: number): string {
  return `${accountNo}a`
}

function encodeAll(text: string): string[] {
  return Array.from(text, encode)
}

/** ASCII letters and digits are unchanged, all else is x and six digits: no code is the beginning of another. */
function encode(character: string): string {
  if (isPlain(character.charCodeAt(0))) return character
  return `x${(character.codePointAt(0) ?? 0).toString(16).padStart(6, '0')}`
}

function isPlain(code: number): boolean {
  return (code >= 97 && code <= 122 && code !== 120) || (code >= 48 && code <= 57)
}
