// Groups of characters as lexemes of a tsvector, which are compared byte by byte. Each begins with the mark of its account, so
// that a search reads only that account's part of the index.
import { createHash } from 'node:crypto'
import { gramsOfName, type Sought } from '../../../tokens/model/grams.ts'

/** 36 bits. A collision only makes searches read more of the index: the account is compared too. */
const MARK_CHARACTERS = 6

/** The text of a tsvector. */
export function indexedGrams(accountId: string, foldedName: string): string {
  const start = mark(accountId)
  const lexemes = gramsOfName([...foldedName]).map((gram) => quote(start + gram))
  return lexemes.join(' ')
}

/** The text of a tsquery. */
export function matchExpression(accountId: string, sought: Sought): string {
  const start = mark(accountId)
  if (sought.beginning !== undefined) return `${quote(start + sought.beginning)}:*`
  return sought.grams.map((gram) => quote(start + gram)).join(' & ')
}

function mark(accountId: string): string {
  return createHash('sha256').update(accountId).digest('base64').slice(0, MARK_CHARACTERS)
}

function quote(lexeme: string): string {
  return `'${lexeme.replace(/['\\]/g, '$&$&')}'`
}
