// What a step of a bulk operation comes to, for both engines: the operation and the part after it, and the changes of tokens. Pure.

import { planTokenChange, type TokenPlan } from '../changes/plan.ts'
import { type HistoryEvent, historyEvent, type Origin } from '../history/history.ts'
import { Failure } from '../model/errors.ts'
import type { Timestamp, TokenRecord } from '../model/token.ts'
import { isGenuine, restamp, type Stamped } from '../trust/stamp.ts'
import type { Stamps } from '../trust/vault.ts'
import {
  advanced,
  type Changed,
  type ChosenTokens,
  changedIn,
  changeOf,
  chosenIn,
  ended,
  filterOf,
  MAX_BULK_TOKENS,
  MAX_RUNNING,
  nextPart,
  type Ordered,
  orderedOf,
  replacedBy,
  restoringOf,
  type StoredBulk,
  type StoredPart,
} from './bulk.ts'
import { BULK_OPERATIONS, BULK_PARTS } from './tables.ts'

/** As the history shows why a token was restored. */
const UNDONE = 'undone'

export type NewBulk = Omit<StoredBulk, 'total' | 'parts'>

/** `chosen` is undefined for a filter that names a sub-account which is not the account's. */
export function requireExpected(chosen: ChosenTokens | undefined, expectedTotal: number | undefined): ChosenTokens {
  if (chosen === undefined) throw new Failure('sub-account-forbidden')
  const { total } = chosen
  if (total > MAX_BULK_TOKENS) {
    throw new Failure('invalid-request', `The filter matches more than ${MAX_BULK_TOKENS} tokens; narrow it`)
  }
  if (expectedTotal !== undefined && expectedTotal !== total) throw otherTotal(total, expectedTotal)
  return chosen
}

export function requireRoom(running: number): void {
  if (running >= MAX_RUNNING) throw new Failure('too-many-bulk')
}

export function planBulk(
  operation: NewBulk,
  chosen: ChosenTokens,
  running: number,
): { readonly operation: StoredBulk; readonly parts: readonly StoredPart[] } {
  requireRoom(running)
  const { id: operationId, accountId, createdAt } = operation
  const parts = chosen.parts.map((tokens, number) => {
    return { operationId, number, accountId, createdAt, tokens, changes: null }
  })
  const ordered = { ...operation, total: chosen.total, parts: parts.length }
  return { operation: chosen.total === 0 ? ended(ordered, null, createdAt) : ordered, parts }
}

export function otherTotal(total: number, expected: number): Failure {
  const matches = total === 1 ? '1 token' : `${total} tokens`
  return new Failure('bulk-total-differs', `The filter matches ${matches} now, not ${expected}`)
}

export function bulkCreated(operation: StoredBulk): HistoryEvent {
  const { accountId, action, total } = operation
  return historyEvent(accountId, 'bulk.create', nameOf(operation), {}, { action, filter: filterOf(operation), total })
}

export function bulkUndone(operation: StoredBulk): HistoryEvent {
  const { accountId, action, done } = operation
  return historyEvent(accountId, 'bulk.undo', nameOf(operation), {}, { action, done })
}

const nameOf = ({ id, action }: StoredBulk) => ({ id, name: action })

/** As it is stored with the operation. */
export function orderedBy({ by, byName = null, requestId, address, authority }: Origin): string {
  const ordered: Ordered = { by, byName, requestId, address, authority: authority ?? null }
  return JSON.stringify(ordered)
}

/** In the name of who has ordered it. The change is refused once their authority has ended. */
export function originOf(operation: StoredBulk, at: Timestamp): Origin {
  const { authority, ...ordered } = orderedOf(operation)
  const reason = operation.direction === 'undo' ? UNDONE : (operation.reason ?? undefined)
  return { ...ordered, at, ...(authority && { authority }), reason, operation: operation.id }
}

/** The ids of the tokens whose turn it is. */
export function idsOf({ direction }: StoredBulk, part: StoredPart): readonly string[] {
  return (direction === 'do' ? chosenIn(part) : changedIn(part)).map(([id]) => id)
}

/** What a step starts from. `tokens` are those of `idsOf`; one that is gone is undefined. */
export interface FoundStep {
  readonly part: Stamped<StoredPart>
  readonly tokens: readonly (Stamped<TokenRecord> | undefined)[]
  /** Those that the filter still matches. */
  readonly matching: ReadonlySet<string>
}

export interface StepPlan {
  readonly operation: Stamped<StoredBulk>
  readonly part: Stamped<StoredPart>
  readonly plans: readonly TokenPlan[]
}

/** Whether the operation is as it was when its part was read: nobody else has made this step since. */
export function isUntouched(
  asked: Stamped<StoredBulk>,
  found: Stamped<StoredBulk> | undefined,
  stamps: Stamps,
): boolean {
  if (found === undefined || Buffer.compare(asked.stamp, found.stamp) !== 0) return false
  return isGenuine(BULK_OPERATIONS, found, stamps)
}

export function planStep(operation: Stamped<StoredBulk>, found: FoundStep, at: Timestamp, stamps: Stamps): StepPlan {
  const { part, tokens } = found
  if (nextPart(operation) !== part.number) throw new Error('it is another part’s turn')
  const origin = originOf(operation, at)
  const plans = (operation.direction === 'do' ? planForward : planBack)(operation, found, origin, stamps)
  // A token that was off already is ordered to be off, which nobody undoes.
  const changing = plans.filter(({ event }) => event !== undefined)
  const others = tokens.length - changing.length
  const after = restamp(BULK_OPERATIONS, operation, advanced(operation, changing.length, others), stamps)
  if (operation.direction === 'undo') return { operation: after, part, plans }
  const changes: Changed[] = changing.map(({ before, after: { id, version } }) => [
    id,
    version,
    replacedBy(operation, before),
  ])
  return {
    operation: after,
    part: restamp(BULK_PARTS, part, { ...part, changes: JSON.stringify(changes) }, stamps),
    plans,
  }
}

/**
 * A token is changed if it matched when the operation was accepted, and still does. What somebody has changed since is not enabled: a
 * token that was disabled meanwhile stays so.
 */
function planForward(
  operation: StoredBulk,
  { part, tokens, matching }: FoundStep,
  origin: Origin,
  stamps: Stamps,
): TokenPlan[] {
  return chosenIn(part).flatMap(([id, version], n) => {
    const token = tokens[n]
    if (token === undefined || !matching.has(id)) return []
    if (operation.action === 'enable' && token.version !== version) return []
    const change = changeOf(operation, token)
    return (change && planTokenChange(token, change, origin, stamps)) ?? []
  })
}

/** Every change of a token, also one that is not shown, gives it another version. */
function planBack(operation: StoredBulk, { part, tokens }: FoundStep, origin: Origin, stamps: Stamps): TokenPlan[] {
  return changedIn(part).flatMap((changed, n) => {
    const [, version] = changed
    const token = tokens[n]
    if (token?.version !== version) return []
    return planTokenChange(token, restoringOf(operation, changed), origin, stamps) ?? []
  })
}
