// What another policy of a sub-account would take from one of its tokens. Rates and quotas are shared by all tokens of a sub-account,
// so they take nothing from one of them.
import { type Block, containsBlock } from './addresses.ts'
import { coversScope, effectiveScopes, lifetimeEnd, type ReadyPolicy } from './policy.ts'

/** `all`: nothing that needs it is accepted any more. */
export interface Loss {
  readonly reason: 'lifetime' | 'address' | 'scope'
  readonly extent: 'all' | 'some'
}

export interface TokenUnder {
  /** In ms since 1970. */
  readonly createdAt: number
  readonly policy: ReadyPolicy | undefined
}

type SubAccountPolicy = ReadyPolicy | undefined

/** In the order in which verification checks. Nothing for a token whose lifetime has ended already. */
export function lossesOf(
  token: TokenUnder,
  before: SubAccountPolicy,
  after: SubAccountPolicy,
  now: number,
): readonly Loss[] {
  const isOver = (policy: SubAccountPolicy) => {
    const end = lifetimeEnd(token.createdAt, policy)
    return end !== null && end <= now
  }
  if (isOver(before)) return []
  if (isOver(after)) return [{ reason: 'lifetime', extent: 'all' }]
  return [
    lossOf('address', addressesOf(token, before), addressesOf(token, after), containsBlock),
    lossOf('scope', scopesOf(token, before), scopesOf(token, after), coversScope),
  ].filter((loss) => loss !== undefined)
}

const scopesOf = ({ policy: token }: TokenUnder, subAccount: SubAccountPolicy) => effectiveScopes({ token, subAccount })

/** Two blocks have the narrower one in common, or nothing. */
function addressesOf({ policy }: TokenUnder, subAccount: SubAccountPolicy): readonly Block[] | undefined {
  const [own, ceiling] = [policy?.addresses, subAccount?.addresses]
  if (own === undefined || ceiling === undefined) return own ?? ceiling
  return own.flatMap((block) =>
    ceiling.flatMap((other) => {
      if (containsBlock(other, block)) return [block]
      return containsBlock(block, other) ? [other] : []
    }),
  )
}

/** Undefined is everything. Of what several together cover, it says that some is lost: none of them covers it alone. */
function lossOf<Part>(
  reason: Loss['reason'],
  before: readonly Part[] | undefined,
  after: readonly Part[] | undefined,
  covers: (wide: Part, narrow: Part) => boolean,
): Loss | undefined {
  if (after === undefined || before?.length === 0) return undefined
  if (after.length === 0) return { reason, extent: 'all' }
  const isKept = before?.every((part) => after.some((wide) => covers(wide, part))) ?? false
  return isKept ? undefined : { reason, extent: 'some' }
}
