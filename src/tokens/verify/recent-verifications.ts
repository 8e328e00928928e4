// What is kept of the last verifications of a token, for people: from which addresses it was accepted and why it was refused, and the
// last use of each former credential. The same rule holds in a process that verifies, in a verifier and in the store, which merge what
// they have, in any order.

/** Why a known credential is refused. */
export const REFUSED = ['inactive', 'expired', 'suspended', 'address', 'scope', 'rate', 'quota'] as const
export type RefusedFor = (typeof REFUSED)[number]

export interface RecentVerification {
  /** Null: accepted. */
  readonly reason: RefusedFor | null
  /** Null: not known. */
  readonly address: string | null
  readonly at: number
  /** Of the use of a former credential: until when that one works. */
  readonly formerUntil?: number
}

/** As a verifier reports it, whose clock may differ from that of the service. */
export type ReportedVerification = Omit<RecentVerification, 'at'> & { readonly agoMs: number }

/** Newest first. */
export type RecentVerifications = readonly RecentVerification[]

/** Of each kind: accepted, refused, and uses of former credentials. */
export const MOST_KEPT = 5
export const RECENT_DAYS = 90
const KEPT_MS = RECENT_DAYS * 86_400_000
/** Times are kept to the minute, so that a token that is used all the time is written once a minute. */
export const PRECISION_MS = 60_000

/** Of former credentials the last use of each is kept, of any other token each address, and each reason with each address. */
function isLike(one: RecentVerification, other: RecentVerification): boolean {
  if (one.formerUntil !== other.formerUntil) return false
  return one.formerUntil !== undefined || (one.reason === other.reason && one.address === other.address)
}

const kindOf = ({ reason, formerUntil }: RecentVerification) =>
  formerUntil !== undefined ? 'former' : reason === null ? 'accepted' : 'refused'

/** To the minute. */
export function isOnRecord(recent: RecentVerifications, verification: RecentVerification): boolean {
  for (const known of recent) if (isLike(known, verification)) return verification.at < known.at + PRECISION_MS
  return false
}

/** The same object where nothing in `noted` is new. */
export function mergeRecent(recent: RecentVerifications, noted: RecentVerifications): RecentVerifications {
  const added = noted.filter((each) => !isOnRecord(recent, each))
  if (added.length === 0) return recent
  const merged = lastOf([...recent, ...added])
  return merged.every((each) => recent.includes(each)) ? recent : merged
}

/** What is kept of them, in one order, whatever the order in which they were noted. */
export function lastOf(all: RecentVerifications): RecentVerifications {
  const ordered = all.toSorted((one, other) => other.at - one.at || (nameOf(one) < nameOf(other) ? -1 : 1))
  const since = (ordered[0]?.at ?? 0) - KEPT_MS
  const kept = { accepted: 0, refused: 0, former: 0 }
  return ordered.filter(
    (each, n) =>
      each.at > since && ordered.findIndex((other) => isLike(other, each)) === n && kept[kindOf(each)]++ < MOST_KEPT,
  )
}

const nameOf = ({ reason, address, formerUntil }: RecentVerification) => `${reason} ${address} ${formerUntil}`
