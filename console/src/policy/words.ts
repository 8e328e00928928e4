// Policies in words, as a person would say them.
import type { Quota, Rate, SubAccountPolicy } from '../../../client/latchkey-client.ts'
import { number, plural } from '../ui/format.ts'

/** A token's, or a sub-account's, which can also limit lifetimes. What is absent is not restricted. */
export type Policy = SubAccountPolicy

export const DURATION_UNITS = { days: 86_400, hours: 3_600, minutes: 60, seconds: 1 } as const
export type DurationUnit = keyof typeof DURATION_UNITS

/** In the largest unit of which it is a whole number greater than one. */
export function splitDuration(seconds: number): { readonly count: number; readonly unit: DurationUnit } {
  for (const [unit, size] of Object.entries(DURATION_UNITS)) {
    if (seconds > size && seconds % size === 0) return { count: seconds / size, unit: unit as DurationUnit }
  }
  return { count: seconds, unit: 'seconds' }
}

export function durationWords(seconds: number): string {
  const { count, unit } = splitDuration(seconds)
  return plural(count, unit.slice(0, -1))
}

export const PERIOD_WORDS: Readonly<Record<Quota['per'], string>> = { day: 'a day', month: 'a month', ever: 'in all' }

export const rateWords = ({ limit, seconds }: Rate): string =>
  `at most ${plural(limit, 'verification')} in ${durationWords(seconds)}`

export const quotaWords = ({ limit, per }: Quota): string =>
  `at most ${plural(limit, 'verification')} ${PERIOD_WORDS[per]}`

export const lifetimeWords = (seconds: number): string =>
  `no token works longer than ${durationWords(seconds)} after its creation`

export const capitalized = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** What was changed, one phrase for each; none where the policies say the same. */
export function policyChanges(before: Policy | null, after: Policy | null): readonly string[] {
  const [from, to] = [before ?? {}, after ?? {}]
  return [
    ...listChanges(from.scopes, to.scopes, 'scope', 'scopes'),
    ...listChanges(from.addresses, to.addresses, 'address', 'addresses'),
    ...limitChange(from.rate, to.rate, rateWords, 'no limit of the rate any more'),
    ...limitChange(from.quota, to.quota, quotaWords, 'no quota any more'),
    ...limitChange(
      from.maxLifetimeSeconds,
      to.maxLifetimeSeconds,
      lifetimeWords,
      "no limit of the tokens' lifetime any more",
    ),
  ]
}

type Listed = readonly string[] | undefined

function listChanges(from: Listed, to: Listed, one: string, many: string): readonly string[] {
  if (to === undefined) return from === undefined ? [] : [`any ${one} allowed`]
  if (from === undefined) return [to.length === 0 ? `no ${one} allowed` : `only ${named(to, one, many)} allowed`]
  const added = to.filter((each) => !from.includes(each))
  const removed = from.filter((each) => !to.includes(each))
  return [
    ...(added.length === 0 ? [] : [`${named(added, one, many)} added`]),
    ...(removed.length === 0 ? [] : [`${named(removed, one, many)} removed`]),
  ]
}

const named = (list: readonly string[], one: string, many: string): string =>
  `${list.length === 1 ? one : many} ${list.join(', ')}`

function limitChange<Limit>(
  from: Limit | undefined,
  to: Limit | undefined,
  words: (limit: Limit) => string,
  none: string,
): readonly string[] {
  if (JSON.stringify(from) === JSON.stringify(to)) return []
  if (to === undefined) return [none]
  return [from === undefined ? words(to) : `${words(to)} (before: ${words(from)})`]
}

/** Such as "97 of 100 left". */
export const leftWords = (left: number, limit: number): string => `${number(left)} of ${number(limit)} left`
