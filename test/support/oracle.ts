// Listing as the service document describes it, in plain arrays: written without a look at any engine.

import { type Narrowing, SORT_FIELDS, type Sort } from '../../src/tokens/model/page.ts'
import { foldCase, type Status } from '../../src/tokens/model/token.ts'
import { anyCharacter, fc } from './properties.ts'

export interface OracleToken {
  readonly id: string
  readonly subAccountId: string
  readonly name: string
  readonly status: Status
  readonly createdAt: number
  readonly expiresAt?: number | null
  readonly lastUsedAt?: number | null
  readonly isSuspended?: boolean
  readonly suspendedAt?: number | null
  /** As they are stored. */
  readonly tags?: string | null
}

export interface OracleQuery {
  readonly subAccountId?: string | undefined
  readonly status?: Status | undefined
  readonly search?: string | undefined
  readonly narrowing?: Narrowing
  readonly sort?: Sort | undefined
  readonly page: number
  readonly limit: number
}

const NEWEST_FIRST: Sort = { by: 'createdAt', isDescending: true }

export function listByHand(tokens: readonly OracleToken[], query: OracleQuery) {
  const { subAccountId, status, search, sort = NEWEST_FIRST, page, limit } = query
  // Simple case folding, which is what the letters of `names` have: each stands for one other at a time.
  const wanted = search === undefined ? /^/u : new RegExp(RegExp.escape(search), 'iu')
  const matches = tokens
    .filter((token) => subAccountId === undefined || token.subAccountId === subAccountId)
    .filter((token) => status === undefined || token.status === status)
    .filter((token) => wanted.test(token.name))
    .filter((token) => isWithin(token, query.narrowing ?? {}))
  const ids = inOrder(matches, sort).map(({ id }) => id)
  return { ids: ids.slice((page - 1) * limit, page * limit), total: ids.length }
}

/** Names by the bytes of their folded form; tokens without a value last. */
function inOrder(tokens: readonly OracleToken[], { by, isDescending }: Sort): OracleToken[] {
  const keyOf = (token: OracleToken) => (by === 'name' ? Buffer.from(foldCase(token.name)) : (token[by] ?? null))
  const byValue = (one: OracleToken, other: OracleToken): number => {
    const [left, right] = [keyOf(one), keyOf(other)]
    return Buffer.isBuffer(left) && Buffer.isBuffer(right) ? Buffer.compare(left, right) : Number(left) - Number(right)
  }
  const parts = [true, false].map((has) => {
    const part = tokens.filter((token) => (keyOf(token) !== null) === has)
    const ascending = part.sort((one, other) => byValue(one, other) || (one.id < other.id ? -1 : 1))
    return isDescending ? ascending.toReversed() : ascending
  })
  return parts.flat()
}

export const sorts: fc.Arbitrary<Sort> = fc.record({ by: fc.constantFrom(...SORT_FIELDS), isDescending: fc.boolean() })

function isWithin(token: OracleToken, narrowing: Narrowing): boolean {
  const { createdAt, expiresAt = null, lastUsedAt = null, isSuspended = false, suspendedAt = null } = token
  const own: readonly string[] = JSON.parse(token.tags ?? '[]')
  if (!(narrowing.tags ?? []).every((tag) => own.includes(tag))) return false
  const { neverUsed, createdFrom, createdBefore, expiresFrom, expiresBefore, unexpiredAt, suspended } = narrowing
  if (unexpiredAt !== undefined && expiresAt !== null && expiresAt <= unexpiredAt) return false
  if (suspended !== undefined && suspended !== isSuspended) return false
  const { idleSince, suspendedBefore, ids } = narrowing
  if (ids?.includes(token.id) === false) return false
  if (idleSince !== undefined && Math.max(createdAt, lastUsedAt ?? createdAt) >= idleSince) return false
  if (suspendedBefore !== undefined && !(suspendedAt !== null && suspendedAt < suspendedBefore)) return false
  if (neverUsed && lastUsedAt !== null) return false
  if (createdFrom !== undefined && !(createdAt >= createdFrom)) return false
  if (createdBefore !== undefined && !(createdAt < createdBefore)) return false
  if (expiresFrom !== undefined && !(expiresAt !== null && expiresAt >= expiresFrom)) return false
  return expiresBefore === undefined || (expiresAt !== null && expiresAt < expiresBefore)
}

// Few characters, so that names share parts: scripts with and without case, marks, and all that a pattern, a query
// language or an encoding of the search index could take for its own.
const CHARACTERS = [
  ...'aAbBxX019 zZ',
  ...'%_*?"\'\\`()[]^-:+.,;/#&|<>~!@{}=$',
  ...'éÉñÑäÄåÅçÇ',
  ...'σςΣδΔάΆ',
  ...'жЖёЁ',
  ...'東京가',
  ...'🗝🚀',
  '\u0301',
  '\u0303',
  '\u200d',
  '\ufe0f',
]
const WORDS = [
  ...['x0000e9', 'x01f5dd', '1a', '12ab', 'deploy', 'NEAR', ' AND ', ' OR ', 'NOT', 'x', 'xx', '""', '%%', 'e\u0301'],
]

export const names: fc.Arbitrary<string> = fc
  .array(fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...CHARACTERS) }, fc.constantFrom(...WORDS)), {
    minLength: 1,
    maxLength: 12,
  })
  .map((parts) => parts.join('').normalize('NFC').trim())
  .filter((name) => name !== '')

const changedCase = {
  same: (text: string) => text,
  upper: (text: string) => text.toUpperCase(),
  lower: (text: string) => text.toLowerCase(),
  mixed: (text: string) => [...text].map((c, i) => (i % 2 === 0 ? c.toUpperCase() : c.toLowerCase())).join(''),
}

/** A part of one of the names, in some letter case; or anything else. */
export function searches(of: readonly string[]): fc.Arbitrary<string | undefined> {
  const part = fc
    .tuple(
      fc.constantFrom(...of),
      fc.nat(12),
      fc.integer({ min: 1, max: 12 }),
      fc.constantFrom(...Object.values(changedCase)),
    )
    .map(([name, from, length, change]) => {
      const characters = [...name]
      const start = from % characters.length
      return change(characters.slice(start, start + length).join(''))
    })
  return fc
    .oneof(
      { weight: 6, arbitrary: part },
      { weight: 2, arbitrary: names },
      fc.string({ unit: anyCharacter, maxLength: 4 }),
    )
    .map((text) => text.trim().normalize('NFC') || undefined)
    .filter((text) => text === undefined || !hasFullFolding(text))
}

/** Where a letter's other case is several characters, the oracle's simple folding does not apply. */
function hasFullFolding(text: string): boolean {
  return [...text].some((c) => [...c.toUpperCase()].length > 1 || [...c.toLowerCase()].length > 1)
}
