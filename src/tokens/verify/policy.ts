// What a token may do: the rules of a policy, and whether a request is within a token's policy and within its sub-account's.
// Rates and quotas are counted in model/limit.ts.
import { type Block, containsAddress, parseAddress, parseBlock } from './addresses.ts'
import { isObject } from './is-object.ts'

/** A bucket of `limit` that refills evenly within `seconds`. */
export interface Rate {
  readonly limit: number
  readonly seconds: number
}

export const QUOTA_PERIODS = ['day', 'month', 'ever'] as const

/** Days and months are those of UTC. */
export interface Quota {
  readonly limit: number
  readonly per: (typeof QUOTA_PERIODS)[number]
}

export type Limit = ({ readonly kind: 'rate' } & Rate) | ({ readonly kind: 'quota' } & Quota)

/** As callers write it; an absent member restricts nothing, an empty list allows nothing. */
export interface Policy {
  readonly scopes?: readonly string[]
  /** CIDR blocks or single addresses. */
  readonly addresses?: readonly string[]
  readonly rate?: Rate
  readonly quota?: Quota
  /** Of a sub-account only: no token works longer than this after its creation. */
  readonly maxLifetimeSeconds?: number
}

export type PolicyOwner = 'token' | 'sub-account'

export const MAX_LISTED = 64
export const MAX_RATE = 1_000_000
export const MAX_RATE_SECONDS = 86_400
/** Exact as a number everywhere, also in a header of structured fields (RFC 9651: 15 digits). */
export const MAX_QUOTA = 1_000_000_000_000
/** 100 years: the end of a lifetime is a time that can be written, with a year of four digits. */
export const MAX_LIFETIME_SECONDS = 100 * 365 * 86_400

const SCOPE_RULE = '1 to 100 characters of A-Z a-z 0-9 : . _ / -'
const LISTED_SCOPE = /^(?:[A-Za-z0-9:._/-]{1,100}|[A-Za-z0-9:._/-]{0,98}:\*)$/
const REQUESTED_SCOPES = /^[A-Za-z0-9:._/-]{1,100}(?: [A-Za-z0-9:._/-]{1,100})*$/

/** A pattern covers every scope that begins like it and goes on, further colons included. */
const isPattern = (scope: string): boolean => scope.endsWith(':*')

/** `items:` of the pattern `items:*`. */
const prefixOf = (pattern: string): string => pattern.slice(0, -1)

/** Whether one scope or pattern of a policy covers another, or all that another pattern covers. */
export const coversScope = (wide: string, narrow: string): boolean =>
  wide === narrow || (isPattern(wide) && covers(prefixOf(wide), narrow))

export const isListedScope = (text: string): boolean => LISTED_SCOPE.test(text)

export interface BrokenRule {
  /** Such as `policy.addresses[0]`. */
  readonly field: string
  /** A sentence that begins with the field. */
  readonly message: string
}

/** What is wrong with a value; undefined if nothing is. */
type Rule = (value: unknown, field: string) => BrokenRule | undefined

const broken = (field: string, what: string): BrokenRule => ({ field, message: `${field} ${what}` })

function wholeNumber(max: number): Rule {
  return (value, field) =>
    Number.isInteger(value) && (value as number) >= 1 && (value as number) <= max
      ? undefined
      : broken(field, `must be a whole number from 1 to ${max}`)
}

const quotaPeriod: Rule = (value, field) =>
  QUOTA_PERIODS.some((period) => period === value) ? undefined : broken(field, `must be ${QUOTA_PERIODS.join(' or ')}`)

const MAX_SHOWN_CHARACTERS = 100

function members(rules: Readonly<Record<string, Rule>>, presence: 'required' | 'optional'): Rule {
  const known = Object.keys(rules)
  return (value, field) => {
    if (!isObject(value)) return broken(field, 'must be a JSON object')
    const sent = new Map<string, unknown>(Object.entries(value))
    for (const name of sent.keys()) {
      if (!known.includes(name)) {
        const shown = `${field}.${name.slice(0, MAX_SHOWN_CHARACTERS)}`
        return broken(shown, `is unknown; ${field} can have ${known.join(', ')}`)
      }
    }
    for (const [name, rule] of Object.entries(rules)) {
      if (!sent.has(name) && presence === 'optional') continue
      const member = `${field}.${name}`
      const problem = sent.has(name) ? rule(sent.get(name), member) : broken(member, 'is required')
      if (problem !== undefined) return problem
    }
    return undefined
  }
}

/** What a listed text stands for, by which duplicates are found, or the end of a sentence that says what is wrong. */
type ListedReader = (text: string) => { readonly meaning: string } | { readonly problem: string }

function list(read: ListedReader): Rule {
  return (value, field) => {
    if (!Array.isArray(value)) return broken(field, 'must be an array of strings')
    if (value.length > MAX_LISTED) return broken(field, `must have at most ${MAX_LISTED} members`)
    const seen = new Map<string, string>()
    for (const [at, text] of value.entries()) {
      const entry = `${field}[${at}]`
      if (typeof text !== 'string') return broken(entry, 'must be a string')
      const found = read(text)
      if ('problem' in found) return broken(entry, found.problem)
      const earlier = seen.get(found.meaning)
      if (earlier !== undefined) return broken(entry, `is the same as "${earlier}"`)
      seen.set(found.meaning, text)
    }
    return undefined
  }
}

const listedScope: ListedReader = (text) =>
  isListedScope(text) ? { meaning: text } : { problem: `must be ${SCOPE_RULE}, and may end with :* for any rest` }

const listedAddress: ListedReader = (text) => {
  const block = parseBlock(text)
  return typeof block === 'string' ? { problem: block } : { meaning: `${block.network}/${block.mask}` }
}

const TOKEN_RULES = {
  scopes: list(listedScope),
  addresses: list(listedAddress),
  rate: members({ limit: wholeNumber(MAX_RATE), seconds: wholeNumber(MAX_RATE_SECONDS) }, 'required'),
  quota: members({ limit: wholeNumber(MAX_QUOTA), per: quotaPeriod }, 'required'),
} satisfies Record<keyof Omit<Policy, 'maxLifetimeSeconds'>, Rule>

const POLICY_RULES: Readonly<Record<PolicyOwner, Rule>> = {
  token: members(TOKEN_RULES, 'optional'),
  'sub-account': members({ ...TOKEN_RULES, maxLifetimeSeconds: wholeNumber(MAX_LIFETIME_SECONDS) }, 'optional'),
}

/** What is wrong with a policy; undefined if nothing is. */
export function brokenPolicyRule(value: unknown, owner: PolicyOwner): BrokenRule | undefined {
  return POLICY_RULES[owner](value, 'policy')
}

interface ReadyScopes {
  /** In the order of the policy, without those that a pattern of the same policy covers. */
  readonly listed: readonly string[]
  readonly exact: ReadonlySet<string>
  /** Of the patterns. */
  readonly prefixes: readonly string[]
}

/** A policy that was checked, prepared for decisions. */
export interface ReadyPolicy {
  readonly scopes: ReadyScopes | undefined
  readonly addresses: readonly Block[] | undefined
  readonly rate: Limit | undefined
  readonly quota: Limit | undefined
  readonly maxLifetimeSeconds: number | undefined
}

/** From the stored JSON; undefined for null, which restricts nothing. Throws for anything else that is not a policy. */
export function parsePolicy(text: string | null, owner: PolicyOwner): ReadyPolicy | undefined {
  return text === null ? undefined : readyPolicy(JSON.parse(text), owner)
}

/** Throws for what is not a policy. */
export function readyPolicy(value: unknown, owner: PolicyOwner): ReadyPolicy {
  const problem = brokenPolicyRule(value, owner)
  if (problem !== undefined) throw new Error(`The policy of a ${owner} cannot be used: ${problem.message}`)
  const { scopes, addresses, rate, quota, maxLifetimeSeconds } = value as Policy
  return {
    scopes: scopes === undefined ? undefined : readyScopes(scopes),
    addresses: addresses?.map(getBlock),
    rate: rate && { kind: 'rate', ...rate },
    quota: quota && { kind: 'quota', ...quota },
    maxLifetimeSeconds,
  }
}

function getBlock(text: string): Block {
  const block = parseBlock(text)
  if (typeof block === 'string') throw new Error(`An address ${block}`)
  return block
}

function readyScopes(scopes: readonly string[]): ReadyScopes {
  const all = scopes.filter(isPattern).map(prefixOf)
  const listed = scopes.filter((scope) => !all.some((prefix) => covers(prefix, scope) && scope !== `${prefix}*`))
  return { listed, exact: new Set(listed), prefixes: listed.filter(isPattern).map(prefixOf) }
}

/** Whether the pattern with this prefix covers a scope, or everything that another pattern covers. */
const covers = (prefix: string, scope: string): boolean => scope.startsWith(prefix) && scope.length > prefix.length

/** For a pattern: whether every scope that it covers is covered. */
function hasScope({ exact, prefixes }: ReadyScopes, scope: string): boolean {
  return exact.has(scope) || prefixes.some((prefix) => covers(prefix, scope))
}

/** A token's policy and its sub-account's: both hold. Undefined restricts nothing. */
export interface Policies {
  readonly token: ReadyPolicy | undefined
  readonly subAccount: ReadyPolicy | undefined
}

/** What a request needs a token to allow. */
export interface Access {
  /** Alternatives, each a list of scopes that are all needed; undefined: scopes are not checked. */
  readonly scopes?: readonly (readonly string[])[]
  /** Undefined if it could not be determined. */
  readonly address: string | undefined
}

export interface PolicyRefusal {
  readonly reason: 'address' | 'scope'
  readonly by: PolicyOwner
}

/** Undefined if both policies allow the access. Rate and quota are not considered. */
export function judgePolicy({ token, subAccount }: Policies, access: Access): PolicyRefusal | undefined {
  const byAddress = refuserOfAddress(token?.addresses, subAccount?.addresses, access.address)
  if (byAddress !== undefined) return { reason: 'address', by: byAddress }
  if (access.scopes === undefined) return undefined
  const byScope = refuserOfScopes(token?.scopes, subAccount?.scopes, access.scopes)
  return byScope === undefined ? undefined : { reason: 'scope', by: byScope }
}

function refuserOfAddress(
  ofToken: readonly Block[] | undefined,
  ofSubAccount: readonly Block[] | undefined,
  text: string | undefined,
): PolicyOwner | undefined {
  if (ofToken === undefined && ofSubAccount === undefined) return undefined
  const address = text === undefined ? undefined : parseAddress(text)
  const isIn = (blocks: readonly Block[] | undefined) =>
    blocks === undefined || (address !== undefined && blocks.some((block) => containsAddress(block, address)))
  if (!isIn(ofToken)) return 'token'
  return isIn(ofSubAccount) ? undefined : 'sub-account'
}

/** The sub-account refuses when it allows none of the alternatives that the token allows. */
function refuserOfScopes(
  ofToken: ReadyScopes | undefined,
  ofSubAccount: ReadyScopes | undefined,
  alternatives: readonly (readonly string[])[],
): PolicyOwner | undefined {
  if (ofToken === undefined && ofSubAccount === undefined) return undefined
  const isIn = (scopes: ReadyScopes | undefined, needed: readonly string[]) =>
    scopes === undefined || needed.every((scope) => hasScope(scopes, scope))
  let refuser: PolicyOwner = 'token'
  for (const needed of alternatives) {
    if (!isIn(ofToken, needed)) continue
    if (isIn(ofSubAccount, needed)) return undefined
    refuser = 'sub-account'
  }
  return refuser
}

/**
 * The scopes that hold under both policies, in the token's order, none of them covered by another; undefined if neither
 * policy restricts them. Nothing comes twice: within one policy no scope covers another.
 */
export function effectiveScopes({ token, subAccount }: Policies): readonly string[] | undefined {
  const [ofToken, ofSubAccount] = [token?.scopes, subAccount?.scopes]
  if (ofToken === undefined || ofSubAccount === undefined) return (ofToken ?? ofSubAccount)?.listed
  return ofToken.listed.flatMap((scope) => {
    if (hasScope(ofSubAccount, scope)) return [scope]
    return isPattern(scope) ? ofSubAccount.listed.filter((narrower) => covers(prefixOf(scope), narrower)) : []
  })
}

/** From the query parameter `scope`: each value is an alternative of space-separated scopes. */
export function readScopes(
  parameter: unknown,
): { readonly scopes: readonly (readonly string[])[] } | { readonly problem: string } {
  const values: readonly unknown[] = Array.isArray(parameter) ? parameter : [parameter]
  const scopes: string[][] = []
  let count = 0
  for (const value of values) {
    if (typeof value !== 'string' || !REQUESTED_SCOPES.test(value)) return { problem: brokenScopesRule(value) }
    const needed = value.split(' ')
    count += needed.length
    if (count > MAX_LISTED) return { problem: `scope must name at most ${MAX_LISTED} scopes` }
    scopes.push(needed)
  }
  return scopes.length === 0 ? { problem: brokenScopesRule(undefined) } : { scopes }
}

function brokenScopesRule(value: unknown): string {
  return typeof value === 'string' && value.includes('*')
    ? 'scope must name scopes, not a pattern with *'
    : `scope must be one or more scopes, separated by single spaces, each ${SCOPE_RULE}`
}

/** When the token stops working because its sub-account limits the lifetime of tokens; null: never. Times in ms since 1970. */
export function lifetimeEnd(createdAt: number, subAccount: ReadyPolicy | undefined): number | null {
  const seconds = subAccount?.maxLifetimeSeconds
  return seconds === undefined ? null : createdAt + seconds * 1_000
}
