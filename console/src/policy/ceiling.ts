// What a sub-account's policy takes away from a token's: both hold.
import type { Quota, Rate } from '../../../client/latchkey-client.ts'
import { containsBlock, parseBlock } from '../../../src/tokens/verify/addresses.ts'
import { coversScope } from '../../../src/tokens/verify/policy.ts'

export type ListMember = 'scopes' | 'addresses'

/** Texts that are no blocks cover nothing. */
function coversAddress(wide: string, narrow: string): boolean {
  const [outer, inner] = [parseBlock(wide), parseBlock(narrow)]
  return typeof outer !== 'string' && typeof inner !== 'string' && containsBlock(outer, inner)
}

const COVERS = { scopes: coversScope, addresses: coversAddress }

type Listed = readonly string[] | undefined

/** How much of one scope or address block of a token its sub-account allows. */
export function allowanceOf(member: ListMember, each: string, ceiling: Listed): 'all' | 'part' | 'none' {
  if (ceiling === undefined || ceiling.some((wide) => COVERS[member](wide, each))) return 'all'
  return ceiling.some((narrow) => COVERS[member](each, narrow)) ? 'part' : 'none'
}

/** What holds under both lists; undefined where neither restricts. */
export function inEffect(member: ListMember, own: Listed, ceiling: Listed): Listed {
  if (own === undefined || ceiling === undefined) return own ?? ceiling
  const both = own.flatMap((each) => {
    if (allowanceOf(member, each, ceiling) === 'all') return [each]
    return ceiling.filter((narrow) => COVERS[member](each, narrow))
  })
  return [...new Set(both)]
}

/** Tighter is what allows fewer at once and fewer in the long run. */
export const isTighterRate = (one: Rate, other: Rate): boolean =>
  one.limit <= other.limit && one.limit * other.seconds <= other.limit * one.seconds

/** The most days that each period has; a limit of one period may still be the tighter one for a longer period. */
const DAYS: Readonly<Record<Quota['per'], number>> = { day: 1, month: 31, ever: Number.POSITIVE_INFINITY }

/** Tighter is the one before which the other can never refuse. */
export const isTighterQuota = (one: Quota, other: Quota): boolean =>
  DAYS[one.per] >= DAYS[other.per] ? one.limit <= other.limit : one.limit * DAYS[other.per] <= other.limit
