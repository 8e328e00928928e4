// The fields of the policy form: from a policy, back to one, what is wrong with them, and what was changed.
import { parseBlock } from '../../../src/tokens/verify/addresses.ts'
import {
  isListedScope,
  MAX_LIFETIME_SECONDS,
  MAX_LISTED,
  MAX_QUOTA,
  MAX_RATE,
  MAX_RATE_SECONDS,
} from '../../../src/tokens/verify/policy.ts'
import { problemsOf } from '../api/errors.ts'
import { number } from '../ui/format.ts'
import { DURATION_UNITS, type DurationUnit, type Policy, splitDuration } from './words.ts'

export type Member = keyof Policy

/** Numbers are as they were typed. A member that is off keeps its fields, but is not restricted. */
export interface PolicyFields {
  readonly on: Readonly<Record<Member, boolean>>
  readonly scopes: readonly string[]
  readonly addresses: readonly string[]
  readonly rate: { readonly limit: string; readonly count: string; readonly unit: DurationUnit }
  readonly quota: { readonly limit: string; readonly per: 'day' | 'month' | 'ever' }
  readonly maxLifetimeSeconds: { readonly count: string; readonly unit: DurationUnit }
}

export function fieldsOf(policy: Policy | null): PolicyFields {
  const { scopes, addresses, rate, quota, maxLifetimeSeconds } = policy ?? {}
  return {
    on: {
      scopes: scopes !== undefined,
      addresses: addresses !== undefined,
      rate: rate !== undefined,
      quota: quota !== undefined,
      maxLifetimeSeconds: maxLifetimeSeconds !== undefined,
    },
    scopes: scopes ?? [],
    addresses: addresses ?? [],
    rate: { limit: rate ? number(rate.limit) : '', ...durationField(rate?.seconds, 'seconds') },
    quota: { limit: quota ? number(quota.limit) : '', per: quota?.per ?? 'day' },
    maxLifetimeSeconds: durationField(maxLifetimeSeconds, 'days'),
  }
}

function durationField(seconds: number | undefined, unit: DurationUnit) {
  if (seconds === undefined) return { count: '', unit }
  const split = splitDuration(seconds)
  return { count: number(split.count), unit: split.unit }
}

/** With a separator between groups of three digits or without; NaN for anything else, such as 1,5. */
const toNumber = (typed: string): number =>
  /^(?:\d+|\d{1,3}([,\s])\d{3}(?:\1\d{3})*)$/.test(typed.trim()) ? Number(typed.replace(/[,\s]/g, '')) : Number.NaN

const toSeconds = ({ count, unit }: PolicyFields['maxLifetimeSeconds']): number =>
  toNumber(count) * DURATION_UNITS[unit]

export function policyOf(fields: PolicyFields): Policy {
  const { on, scopes, addresses, rate, quota, maxLifetimeSeconds } = fields
  return {
    ...(on.scopes && { scopes }),
    ...(on.addresses && { addresses }),
    ...(on.rate && { rate: { limit: toNumber(rate.limit), seconds: toSeconds(rate) } }),
    ...(on.quota && { quota: { limit: toNumber(quota.limit), per: quota.per } }),
    ...(on.maxLifetimeSeconds && { maxLifetimeSeconds: toSeconds(maxLifetimeSeconds) }),
  }
}

export const MEMBERS: readonly Member[] = ['scopes', 'addresses', 'rate', 'quota', 'maxLifetimeSeconds']

/** A merge patch: only the members that differ, null for those that are removed. */
export type PolicyPatch = { readonly [Name in Member]?: Policy[Name] | null }

export function patchOf(before: Policy | null, after: Policy): PolicyPatch {
  const changed = MEMBERS.filter((member) => !isSame(before?.[member], after[member]))
  return Object.fromEntries(changed.map((member) => [member, after[member] ?? null]))
}

/** Whether the policy has all that the patch would make of it. */
export const isPatched = (policy: Policy | null, patch: PolicyPatch): boolean =>
  MEMBERS.every((member) => !(member in patch) || isSame(policy?.[member], patch[member] ?? undefined))

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

type Problems = { readonly [Name in Member]?: string }

/** What is wrong with the members that are on, in words. */
export function problemsOfFields(fields: PolicyFields): Problems {
  const { on, scopes, addresses, rate, quota, maxLifetimeSeconds } = fields
  const found: { [Name in Member]?: string | undefined } = {
    scopes: listProblem(scopes, 'scopes', scopeProblem),
    addresses: listProblem(addresses, 'addresses', addressProblem),
    rate:
      numberProblem(toNumber(rate.limit), 'The number of verifications', MAX_RATE) ??
      numberProblem(toSeconds(rate), 'The time', MAX_RATE_SECONDS, '24 hours'),
    quota: numberProblem(toNumber(quota.limit), 'The number of verifications', MAX_QUOTA),
    maxLifetimeSeconds: numberProblem(toSeconds(maxLifetimeSeconds), 'The time', MAX_LIFETIME_SECONDS, '36,500 days'),
  }
  return Object.fromEntries(
    MEMBERS.filter((member) => on[member] && found[member] !== undefined).map((member) => [member, found[member]]),
  )
}

export function scopeProblem(scope: string): string | undefined {
  if (isListedScope(scope)) return undefined
  if (scope.length > 100) return 'is too long: a scope has at most 100 characters'
  if (scope.includes('*')) return 'has * in the wrong place: only :* at the end stands for any rest'
  return 'is no scope: a scope has letters, digits and : . _ / - only'
}

function addressProblem(address: string): string | undefined {
  const block = parseBlock(address)
  return typeof block === 'string' ? block : undefined
}

function listProblem(
  list: readonly string[],
  what: string,
  problemOf: (each: string) => string | undefined,
): string | undefined {
  if (list.length > MAX_LISTED) return `At most ${MAX_LISTED} ${what} are possible; these are ${list.length}`
  const wrong = list.find((each) => problemOf(each) !== undefined)
  return wrong === undefined ? undefined : `“${wrong}” ${problemOf(wrong)}`
}

function numberProblem(value: number, what: string, max: number, maxWords = number(max)): string | undefined {
  if (Number.isNaN(value)) return `${what} must be a whole number`
  if (value < 1) return `${what} must be at least 1`
  return value > max ? `${what} must be at most ${maxWords}` : undefined
}

/** The field of a problem, such as `policy.addresses[0]` or `policy.rate.limit`. */
const PATH = /^policy\.(\w+)(?:\[(\d+)\])?/

/** What the service objects to, at its member, in the service's own words but for the name of the field. */
export function refusedMembers(error: unknown, sent: PolicyFields): Problems {
  const found: { [Name in Member]?: string } = {}
  for (const { field, message } of problemsOf(error)) {
    const [, name, at] = PATH.exec(field) ?? []
    const member = MEMBERS.find((each) => each === name)
    if (member !== undefined) found[member] = message.replace(field, nameOf(member, at, sent))
  }
  return found
}

function nameOf(member: Member, at: string | undefined, sent: PolicyFields): string {
  const listed = member === 'scopes' || member === 'addresses' ? sent[member][Number(at)] : undefined
  return listed === undefined ? LABELS[member] : `“${listed}”`
}

export const LABELS: Readonly<Record<Member, string>> = {
  scopes: 'Scopes',
  addresses: 'Addresses',
  rate: 'Rate',
  quota: 'Quota',
  maxLifetimeSeconds: 'Lifetime',
}
