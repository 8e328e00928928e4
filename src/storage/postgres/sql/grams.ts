// Groups of characters as lexemes of a tsvector, which are compared byte by byte. Each begins with the mark of its account, so
// that a search reads only that account's part of the index.
import { createHash } from 'node:crypto'
import { gramsOfName, type Sought } from '../../../tokens/model/name-grams.ts'

/** 36 bits. A collision only makes searches read more of the index: the account is compared too. */
const MARK_CHARACTERS = 6

/** A tsvector in binary form: the number of lexemes, then each with a zero after it and the number of its positions, none. */
export function indexedGrams(accountId: string, foldedName: string): string | Buffer {
  const start = markOf(accountId)
  const grams = new Set(gramsOfName(SPLITS.test(foldedName) ? [...foldedName] : foldedName.split('')))
  let lexemes = ''
  for (const gram of grams) lexemes += `${start}${gram}\0\0\0`
  // Up to here the bytes of the number are characters of one byte each.
  if (grams.size < 128) return `\0\0\0${String.fromCharCode(grams.size)}${lexemes}`
  return Buffer.concat([Buffer.of(0, 0, grams.size >> 8, grams.size & 255), Buffer.from(lexemes)])
}

/** Characters that are two units of a string. */
const SPLITS = /[\ud800-\udfff]/

/** The text of a tsquery. */
export function matchExpression(accountId: string, sought: Sought): string {
  const start = markOf(accountId)
  if (sought.beginning !== undefined) return `${quote(start + sought.beginning)}:*`
  return sought.grams.map((gram) => quote(start + gram)).join(' & ')
}

/** Of the account asked for last: the tokens of a batch are mostly one account's. */
let known = { accountId: '', mark: '' }

/** What every lexeme of an account begins with. */
export function markOf(accountId: string): string {
  if (known.accountId !== accountId) {
    const hash = createHash('sha256').update(accountId).digest('base64')
    known = { accountId, mark: hash.slice(0, MARK_CHARACTERS) }
  }
  return known.mark
}

function quote(lexeme: string): string {
  return `'${lexeme.replace(/['\\]/g, '$&$&')}'`
}
