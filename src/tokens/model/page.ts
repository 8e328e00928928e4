// The parameters of lists, and the fields of a page.

import { isCredentialEnd } from '../trust/credential.ts'
import { EFFECTIVE_STATUSES } from '../verify/verdict.ts'
import { Failure } from './errors.ts'
import { MAX_TAGS, tagField } from './fields.ts'
import { notInPortal, type Permissions, seesUse } from './permissions.ts'
import { NOT_A_TIME, parseTime } from './times.ts'
import {
  countCharacters,
  MAX_NAME_CHARACTERS,
  normalizeName,
  STATUSES,
  STEERING_CHARACTERS,
  type Status,
  type Timestamp,
} from './token.ts'

export const MAX_PAGE = 2_147_483_647
export const MAX_LIMIT = 100
export const DEFAULT_LIMIT = 10

export interface PageRequest {
  readonly page: number
  readonly limit: number
}

/** Which tokens are listed. */
export interface TokenFilter {
  readonly subAccountId?: string | undefined
  readonly status?: Status | undefined
  /** Normalized as names are; never empty. */
  readonly search?: string | undefined
  readonly narrowing?: Narrowing
}

export interface TokenQuery extends PageRequest, TokenFilter {
  /** The newest first unless it is given. */
  readonly sort?: Sort | undefined
}

export const SORT_FIELDS = ['name', 'createdAt', 'lastUsedAt', 'expiresAt'] as const

/** Names by their folded form. Equal values are in the order of ids, in the same direction; tokens without a value come last in both. */
export interface Sort {
  readonly by: (typeof SORT_FIELDS)[number]
  readonly isDescending: boolean
}

/** Last uses are in no index of a list, because it would be written with every use: all matches are read to put them in order. */
export const MAX_BY_USE = 100_000
export const TOO_MANY_BY_USE =
  `sort by lastUsedAt takes at most ${MAX_BY_USE} tokens, and more match; ` +
  'add subAccountId, search, tag, or a range of creation or expiry'

export function requireFewByUse({ sort }: OrderedQuery, matches: number): void {
  if (sort.by === 'lastUsedAt' && matches > MAX_BY_USE) throw new Failure('invalid-request', TOO_MANY_BY_USE)
}

/** With the order of the list. */
export type OrderedQuery = TokenQuery & { readonly sort: Sort }

/** The newest first, unless the query says otherwise. */
export function inOrder(query: TokenQuery): OrderedQuery {
  return { ...query, sort: query.sort ?? { by: 'createdAt', isDescending: true } }
}

/** Filters beyond the document. A range includes its start and excludes its end. */
export interface Narrowing {
  readonly neverUsed?: true
  readonly createdFrom?: Timestamp
  readonly createdBefore?: Timestamp
  readonly expiresFrom?: Timestamp
  readonly expiresBefore?: Timestamp
  /** Only tokens that have expired at this time, or lived as long as their sub-account's policy lets them; or only the others. */
  readonly expiredAt?: Timestamp
  readonly unexpiredAt?: Timestamp
  /** Only tokens of these. */
  readonly subAccounts?: readonly string[]
  /** Only tokens whose credential ends with this, as it is written. */
  readonly credentialEnd?: string
  /** Only tokens that have all of these. */
  readonly tags?: readonly string[]
  /** Only tokens of sub-accounts that are suspended, or only of those that are not. */
  readonly suspended?: boolean
  /** Only tokens made before this time, and not used since. */
  readonly idleSince?: Timestamp
  /** Only tokens of sub-accounts that were suspended before this time, and are. */
  readonly suspendedBefore?: Timestamp
  /** Only these. */
  readonly ids?: readonly string[]
}

/**
 * The tokens of a filter that are among those a caller sees; undefined if it names others. What selects and orders tokens by their use
 * would tell it.
 */
export function scopedQuery<Query extends TokenFilter & Pick<TokenQuery, 'sort'>>(
  query: Query,
  caller: Pick<Permissions, 'subAccounts' | 'may'>,
): Query | undefined {
  const { subAccounts } = caller
  const { sort, narrowing } = query
  const isByUse = sort?.by === 'lastUsedAt' || narrowing?.neverUsed === true || narrowing?.idleSince !== undefined
  if (isByUse && !seesUse(caller)) throw notInPortal()
  if (subAccounts === null) return query
  if (query.subAccountId !== undefined) return subAccounts.includes(query.subAccountId) ? query : undefined
  const [first, ...others] = subAccounts
  if (others.length === 0) return { ...query, subAccountId: first }
  return { ...query, narrowing: { ...query.narrowing, subAccounts } }
}

/** One page, and the exact number of all matches, from one snapshot of the store. */
export interface Slice<Item> {
  readonly items: readonly Item[]
  readonly total: number
}

/** Of a list that is read to its end: the next part looks at this many rows before this id, newest first. */
export interface PartRequest {
  readonly before: string | undefined
  readonly size: number
}

/** The rows that match, of those that were looked at: maybe none. */
export interface ListPart<Row> {
  readonly rows: readonly Row[]
  /** Where the next part continues; undefined after the last one. */
  readonly next: string | undefined
}

export interface Page<Item> extends Slice<Item> {
  readonly page: number
  readonly limit: number
  readonly totalPages: number
  readonly hasNextPage: boolean
  readonly hasPrevPage: boolean
}

export function toPage<Item>(slice: Slice<Item>, { page, limit }: PageRequest): Page<Item> {
  const totalPages = Math.ceil(slice.total / limit)
  return {
    ...slice,
    page,
    limit,
    totalPages,
    hasNextPage: page < totalPages,
    hasPrevPage: page > 1 && slice.total > 0,
  }
}

/** Parameters as received: a string, or an array for one that was sent more than once. */
export type RawQuery = Readonly<Record<string, unknown>>

export function readPageRequest(query: RawQuery): PageRequest {
  return {
    page: readCount(query, 'page', 1, MAX_PAGE),
    limit: readCount(query, 'limit', DEFAULT_LIMIT, MAX_LIMIT),
  }
}

export function readTokenQuery(query: RawQuery, now: Timestamp): TokenQuery {
  const narrowed = { ...readNarrowing(query), ...readAges(query, now) }
  const effective = readEffectiveStatus(query, now)
  const documented = {
    ...readPageRequest(query),
    subAccountId: readOnce(query, 'subAccountId'),
    status: effective?.status ?? readStatus(query),
    search: readSearch(query),
    sort: readSort(query),
  }
  const narrowing = { ...narrowed, ...effective?.narrowing }
  return Object.keys(narrowing).length === 0 ? documented : { ...documented, narrowing }
}

/** As they are sent: a minus in front of the field is the descending order. */
export const SORTS = SORT_FIELDS.flatMap((by) => [by, `-${by}`])
export const NOT_A_SORT = `sort must be ${SORTS.join(', ')}`

function readSort(query: RawQuery): Sort | undefined {
  const text = readOnce(query, 'sort')
  if (text === undefined) return undefined
  const by = SORT_FIELDS.find((field) => text === field || text === `-${field}`)
  if (by === undefined) throw new Failure('invalid-request', NOT_A_SORT)
  return { by, isDescending: text !== by }
}

/** The filters that select tokens by effective status; the same order of reasons as `effectiveState`. */
function readEffectiveStatus(query: RawQuery, now: Timestamp): Pick<TokenQuery, 'status' | 'narrowing'> | undefined {
  const text = readOnce(query, 'effectiveStatus')
  if (text === undefined) return undefined
  const effective = EFFECTIVE_STATUSES.find((known) => known === text)
  if (effective === undefined) {
    throw new Failure('invalid-request', `effectiveStatus must be ${EFFECTIVE_STATUSES.join(', ')}`)
  }
  if (query.status !== undefined) {
    throw new Failure('invalid-request', 'effectiveStatus cannot be combined with status')
  }
  switch (effective) {
    case 'inactive':
      return { status: 'inactive' }
    case 'expired':
      return { status: 'active', narrowing: { expiredAt: now } }
    default:
      return { status: 'active', narrowing: { unexpiredAt: now, suspended: effective === 'suspended' } }
  }
}

const RANGES = ['createdFrom', 'createdBefore', 'expiresFrom', 'expiresBefore'] as const

/** The parameters that say which tokens a list has. */
export const FILTERS = [
  ...(['subAccountId', 'status', 'search', 'tag', 'credentialEnd', 'used', 'idleDays', 'suspendedDays'] as const),
  ...RANGES,
  'effectiveStatus',
] as const

function readNarrowing(query: RawQuery): Narrowing {
  const used = readOnce(query, 'used')
  if (used !== undefined && used !== 'never') throw new Failure('invalid-request', 'used must be never')
  const times = RANGES.flatMap((name) => {
    const time = readTimeParameter(query, name)
    return time === undefined ? [] : [[name, time]]
  })
  const tags = readTags(query)
  const credentialEnd = readOnce(query, 'credentialEnd')
  if (credentialEnd !== undefined && !isCredentialEnd(credentialEnd)) {
    throw new Failure('invalid-request', NOT_A_CREDENTIAL_END)
  }
  return {
    ...(used === undefined ? {} : { neverUsed: true }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(credentialEnd === undefined ? {} : { credentialEnd }),
    ...Object.fromEntries(times),
  }
}

export const MAX_DAYS = 3_650
const DAY_MS = 24 * 60 * 60 * 1000

/** What has been as it is for so many days. */
function readAges(query: RawQuery, now: Timestamp): Narrowing {
  const [idleDays, suspendedDays] = ['idleDays', 'suspendedDays'].map((name) => readDays(query, name))
  return {
    ...(idleDays === undefined ? {} : { idleSince: now - idleDays * DAY_MS }),
    ...(suspendedDays === undefined ? {} : { suspendedBefore: now - suspendedDays * DAY_MS }),
  }
}

function readDays(query: RawQuery, name: string): number | undefined {
  const text = readOnce(query, name)
  return text === undefined ? undefined : readWhole(text, name, MAX_DAYS)
}

export const NOT_A_CREDENTIAL_END = 'credentialEnd must be the last four characters of a credential'

/** The one parameter that may be repeated. */
function readTags({ tag = [] }: RawQuery): readonly string[] {
  const tags = [...new Set([tag].flat())].map((each) => {
    const read = tagField(each, 'tag')
    if (read.state !== 'valid') throw new Failure('invalid-request', read.message)
    return read.value
  })
  if (tags.length > MAX_TAGS) throw new Failure('invalid-request', `tag must be sent at most ${MAX_TAGS} times`)
  return tags
}

export function readTimeParameter(query: RawQuery, name: string): Timestamp | undefined {
  const text = readOnce(query, name)
  const time = text === undefined ? undefined : parseTime(text)
  if (text !== undefined && time === undefined) throw new Failure('invalid-request', `${name} ${NOT_A_TIME}`)
  return time
}

export function readSearch(query: RawQuery): string | undefined {
  const search = normalizeName(readOnce(query, 'search') ?? '')
  if (countCharacters(search) > MAX_NAME_CHARACTERS) {
    throw new Failure('invalid-request', `search must be at most ${MAX_NAME_CHARACTERS} characters`)
  }
  return search === '' ? undefined : search
}

/** A search with a character that no name can contain matches nothing; some engines would not accept it. */
export function canMatch(search: string): boolean {
  return search.isWellFormed() && !STEERING_CHARACTERS.test(search)
}

function readStatus(query: RawQuery): Status | undefined {
  const text = readOnce(query, 'status')
  if (text === undefined) return undefined
  const status = STATUSES.find((known) => known === text)
  if (status === undefined) throw new Failure('invalid-request', 'status must be active or inactive')
  return status
}

const notACount = (name: string, max: number) => `${name} must be a whole number from 1 to ${max}`

/** For the API description. */
export const BAD_PAGE = notACount('page', MAX_PAGE)
export const BAD_LIMIT = notACount('limit', MAX_LIMIT)

function readCount(query: RawQuery, name: string, fallback: number, max: number): number {
  const text = readOnce(query, name)
  return text === undefined ? fallback : readWhole(text, name, max)
}

function readWhole(text: string, name: string, max: number): number {
  const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : 0
  if (value < 1 || value > max) {
    throw new Failure('invalid-request', notACount(name, max))
  }
  return value
}

/** A parameter sent twice is refused: two parsers could pick different values. */
export function readOnce(query: RawQuery, name: string): string | undefined {
  const value = query[name]
  if (value === undefined || typeof value === 'string') return value
  throw new Failure('invalid-request', `${name} must be sent only once`)
}
