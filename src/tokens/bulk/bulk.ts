// Bulk operations: what callers can ask for, and how an operation goes on, part by part, forward and back. Pure.
import { Failure } from '../model/errors.ts'
import { type FieldReader, type JsonObject, nameField, oneOf, readNew, readStoredJson } from '../model/fields.ts'
import { FILTERS, MAX_LIMIT, type RawQuery, readTokenQuery, scopedQuery, type TokenQuery } from '../model/page.ts'
import { type Authority, flagField } from '../model/permissions.ts'
import type { RecordOf } from '../model/table.ts'
import { countCharacters, type Timestamp, type TokenRecord } from '../model/token.ts'
import { isObject } from '../verify/is-object.ts'
import type { BULK_OPERATIONS, BULK_PARTS } from './tables.ts'

export const BULK_ACTIONS = ['disable', 'enable', 'delete', 'expire'] as const
export type BulkAction = (typeof BULK_ACTIONS)[number]
export type StoredBulk = RecordOf<typeof BULK_OPERATIONS>
export type StoredPart = RecordOf<typeof BULK_PARTS>

/** They are read at once, and stored with the operation in one transaction. */
export const MAX_BULK_TOKENS = 250_000
export const MAX_RUNNING = 10
/** Changed in one transaction. */
export const PART_TOKENS = 100
/** For how long an operation can be undone. What it changed is known for as long. */
export const UNDO_MS = 30 * 24 * 60 * 60 * 1000
export const MAX_REASON_CHARACTERS = 200
/** As many as a page of the list has. */
export const MAX_BULK_IDS = MAX_LIMIT

export interface BulkRequest {
  readonly action: BulkAction
  /** The parameters of the list, and `ids`. */
  readonly filter: RawQuery
  readonly dryRun?: boolean
  readonly expectedTotal?: number
  readonly reason?: string
}

const BULK_FILTERS = [...FILTERS, 'ids'] as const

const filterField: FieldReader<RawQuery> = (value, field) => {
  if (!isObject(value)) return { state: 'unusable', message: `${field} must be a JSON object` }
  const unknown = Object.keys(value).find((name) => !BULK_FILTERS.some((known) => known === name))
  if (unknown !== undefined) {
    return { state: 'broken', message: `${field} has "${unknown.slice(0, 100)}"; allowed: ${BULK_FILTERS.join(', ')}` }
  }
  const texts = Object.entries(value).map(([name, each]) => [name, asParameter(each)] as const)
  const wrong = texts.find(([, text]) => text === undefined)
  if (wrong !== undefined) return { state: 'broken', message: `${wrong[0]} must be a string or a number` }
  return { state: 'valid', value: Object.fromEntries(texts) }
}

/** As it would be in an address; only `tag` and `ids` take several, and are checked with the others. */
function asParameter(value: unknown): string | readonly unknown[] | undefined {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' || Array.isArray(value) ? value : undefined
}

const countField: FieldReader<number> = (value, field) =>
  Number.isSafeInteger(value) && (value as number) >= 0
    ? { state: 'valid', value: value as number }
    : { state: 'unusable', message: `${field} must be a whole number` }

/** The rules of a name, but shorter. */
const reasonField: FieldReader<string> = (value, field) => {
  const text = nameField(value, field)
  if (text.state !== 'valid' || countCharacters(text.value) <= MAX_REASON_CHARACTERS) return text
  return { state: 'broken', message: `${field} must be at most ${MAX_REASON_CHARACTERS} characters` }
}

const FIELDS = {
  action: oneOf(BULK_ACTIONS),
  filter: filterField,
  dryRun: flagField,
  expectedTotal: countField,
  reason: reasonField,
}

const NOT_IDS = `ids must be at most ${MAX_BULK_IDS} ids of tokens`
const isTokenId = (id: unknown): id is string => typeof id === 'string' && /^tok_[0-9a-f]{28}$/.test(id)

export function readBulkQuery({ ids = [], ...filter }: RawQuery, now: Timestamp): TokenQuery {
  const query = readTokenQuery(filter, now)
  const named = [...new Set([ids].flat())]
  if (named.length === 0) return query
  if (named.length > MAX_BULK_IDS || !named.every(isTokenId)) throw new Failure('invalid-request', NOT_IDS)
  return { ...query, narrowing: { ...query.narrowing, ids: named } }
}

/** With a filter whose values are valid too, and each of which filters. */
export function readBulkRequest(body: unknown, now: Timestamp): BulkRequest {
  const request = readNew<BulkRequest>(body, FIELDS, ['action', 'filter'])
  readBulkQuery(request.filter, now)
  const idle = Object.entries(request.filter).find(([name, value]) => filtersNothing({ [name]: value }, now))
  if (idle !== undefined) {
    throw new Failure('invalid-request', `filter.${idle[0]} filters nothing; leave it out ({} means all tokens)`)
  }
  return request
}

/** Such as a blank search, which a list ignores. Here it would mean all tokens. */
const filtersNothing = (filter: RawQuery, now: Timestamp) =>
  JSON.stringify(readBulkQuery(filter, now)) === JSON.stringify(readBulkQuery({}, now))

/** Callers who see the same sub-accounts see each other's operations. */
export function scopeOf(subAccounts: readonly string[] | null): string | null {
  return subAccounts && JSON.stringify([...subAccounts].sort())
}

/** What the operation is about, at any time what it was at first. */
export function queryOf({ filter, scope, createdAt }: StoredBulk): TokenQuery {
  const query = readBulkQuery(readStoredJson(filter) as RawQuery, createdAt)
  const subAccounts = scope === null ? null : (readStoredJson(scope) as readonly string[])
  const scoped = scopedQuery(query, { subAccounts })
  if (scoped === undefined) throw new Failure('sub-account-forbidden')
  return scoped
}

/** Of a new operation. */
export const NOTHING_DONE = {
  ...({ status: 'running', direction: 'do', position: 0, done: 0, skipped: 0, restored: 0, kept: 0 } as const),
  ...{ endedAt: null, error: null },
}

/** Who has ordered what is done now. */
export interface Ordered {
  readonly by: string
  readonly byName: string | null
  readonly requestId: string | null
  readonly address: string | null
  readonly authority: Authority | null
}

export const orderedOf = ({ ordered }: StoredBulk) => readStoredJson(ordered) as unknown as Ordered

/** Id, and the version when the operation was accepted. */
export type Chosen = readonly [id: string, version: number]
/** Id, the version after the change, and the value that it has replaced. */
export type Changed = readonly [id: string, version: number, before: TokenRecord['status'] | Timestamp | null]

/** What an operation is about. */
export interface ChosenTokens {
  /** Of all that match, or one more than an operation can have. */
  readonly total: number
  /** As they are stored: each is the text of an array of `Chosen`. None if there are too many. */
  readonly parts: readonly string[]
}

/** In the order in which they are changed. */
export function inParts(matching: readonly Chosen[]): ChosenTokens {
  const total = matching.length
  const count = total > MAX_BULK_TOKENS ? 0 : Math.ceil(total / PART_TOKENS)
  const part = (number: number) => JSON.stringify(matching.slice(number * PART_TOKENS, (number + 1) * PART_TOKENS))
  return { total, parts: Array.from({ length: count }, (_, number) => part(number)) }
}

export const chosenIn = ({ tokens }: StoredPart) => readStoredJson(tokens) as unknown as readonly Chosen[]
export const changedIn = ({ changes }: StoredPart) =>
  (changes === null ? [] : readStoredJson(changes)) as unknown as readonly Changed[]

/** The part whose turn it is; undefined when none is left. */
export function nextPart({ status, direction, position, parts }: StoredBulk): number | undefined {
  if (status !== 'running') return undefined
  if (direction === 'do') return position < parts ? position : undefined
  return position > 0 ? position - 1 : undefined
}

/** The operation after the part whose turn it was, of which so many tokens were changed, or restored. */
export function advanced<Operation extends StoredBulk>(
  operation: Operation,
  changed: number,
  others: number,
): Operation {
  const { direction, position, done, skipped, restored, kept } = operation
  return direction === 'do'
    ? { ...operation, position: position + 1, done: done + changed, skipped: skipped + others }
    : { ...operation, position: position - 1, restored: restored + changed, kept: kept + others }
}

/** When no part is left, or why it cannot go on. */
export function ended<Operation extends StoredBulk>(
  operation: Operation,
  error: StoredBulk['error'],
  at: Timestamp,
): Operation {
  const completed = operation.direction === 'do' ? 'done' : 'undone'
  return { ...operation, status: error === null ? completed : 'failed', error, endedAt: at }
}

/** One that runs stops where it is, and goes back from there; so does one that has failed, forward or back. */
export function undoing<Operation extends StoredBulk>(operation: Operation, ordered: string, at: Timestamp): Operation {
  const { action, status, direction, createdAt } = operation
  if (action === 'delete') throw new Failure('bulk-not-undoable', 'What was deleted cannot be restored')
  if (status === 'undone') throw new Failure('bulk-not-undoable', 'This operation is undone already')
  if (status === 'running' && direction === 'undo') {
    throw new Failure('bulk-not-undoable', 'This operation is being undone already')
  }
  if (createdAt <= at - UNDO_MS) throw new Failure('bulk-not-undoable', 'An operation can be undone for 30 days')
  const order = { ordered, endedAt: null, error: null }
  return { ...operation, ...order, status: 'running', direction: 'undo' }
}

/**
 * The change of one token; undefined if it is so already. One that is off is ordered off all the same: an undo of what has switched it
 * off before must find another version.
 */
export function changeOf({ action, createdAt }: StoredBulk, token: Pick<TokenRecord, 'status' | 'expiresAt'>) {
  switch (action) {
    case 'disable':
      return setTo({ status: 'inactive' })
    case 'enable':
      return token.status === 'inactive' ? setTo({ status: 'active' }) : undefined
    case 'expire':
      return token.expiresAt === null || token.expiresAt > createdAt ? setTo({ expiresAt: createdAt }) : undefined
    case 'delete':
      return { kind: 'delete' } as const
  }
}

/** What `changed` had before. */
export function restoringOf({ action }: StoredBulk, [, , before]: Changed) {
  return action === 'expire'
    ? setTo({ expiresAt: before as Timestamp | null })
    : setTo({ status: before as TokenRecord['status'] })
}

const setTo = (update: Partial<Pick<TokenRecord, 'status' | 'expiresAt'>>) => ({ kind: 'update', update }) as const

/** What the action replaces. */
export const replacedBy = ({ action }: StoredBulk, token: Pick<TokenRecord, 'status' | 'expiresAt'>) =>
  action === 'expire' ? token.expiresAt : token.status

export const filterOf = ({ filter }: StoredBulk) => readStoredJson(filter) as JsonObject
