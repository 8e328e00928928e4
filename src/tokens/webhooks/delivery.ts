// What a process does next for a webhook, and what the outcome of an attempt does to it. Pure. Whatever crashes, and however many
// processes believe that it is their turn, an event is passed only when it was delivered, skipped or given up, and with strict
// order none is sent before those in front of it are dealt with.
import type { Timestamp } from '../model/tables.ts'
import type { StoredDelivery, StoredWebhook } from './webhook.ts'

export type Outcome =
  | { readonly kind: 'delivered'; readonly responseStatus: number }
  | {
      readonly kind: 'failed'
      /** Null if there was no response. */
      readonly responseStatus: number | null
      readonly error: string
      /** What the receiver asks for. */
      readonly retryAfterMs?: number | undefined
    }

/** `pending`: the attempt takes long, and others may go on meanwhile. An outcome follows, unless the process ends. */
export type Progress = Outcome | { readonly kind: 'pending' }

/** Which event was sent. */
export interface Attempted {
  readonly seq: number
  readonly event: string
}

const FIRST_DELAYS_MS = [5_000, 30_000, 120_000, 300_000, 900_000, 1_800_000]
const LONGEST_DELAY_MS = 3_600_000
export const GIVE_UP_MS = 5 * 24 * 60 * 60 * 1000
/** No attempt takes longer. */
export const LONGEST_ATTEMPT_MS = 15_000
const GONE = 410
/** Of what a receiver says about its failure. */
const MAX_ERROR_CHARACTERS = 300

/** When to try again after so many attempts. A receiver may ask for a longer delay, up to an hour. */
export function delayAfter(attempts: number, retryAfterMs = 0): number {
  const planned = FIRST_DELAYS_MS[attempts - 1] ?? LONGEST_DELAY_MS
  return Math.min(Math.max(planned, retryAfterMs), LONGEST_DELAY_MS)
}

export type Step =
  /** Send an event that was tried before, or that a caller wants to be sent again. */
  | { readonly kind: 'retry'; readonly delivery: StoredDelivery }
  /** Send the first event after the position. */
  | { readonly kind: 'proceed' }
  | { readonly kind: 'rest' }

/**
 * `waiting`: its deliveries that have a next attempt, soonest first. Those up to the position were put aside; one after it is the
 * event that blocks a strict order. `isAsideNext`: new events and those put aside take turns.
 */
export function nextStep(
  webhook: Pick<StoredWebhook, 'status' | 'position'>,
  waiting: readonly StoredDelivery[],
  hasNews: boolean,
  at: Timestamp,
  isAsideNext: boolean,
): Step {
  if (webhook.status !== 'active') return REST
  const due = waiting.filter(({ nextAt }) => nextAt !== null && nextAt <= at)
  const aside = due.find(({ seq }) => seq <= webhook.position)
  const isBlocked = waiting.some(({ seq }) => seq > webhook.position)
  const first = due.find(({ seq }) => seq > webhook.position)
  const main: Step | undefined = isBlocked ? first && { kind: 'retry', delivery: first } : hasNews ? PROCEED : undefined
  if (aside !== undefined && (isAsideNext || main === undefined)) return { kind: 'retry', delivery: aside }
  return main ?? REST
}

const REST: Step = { kind: 'rest' }
const PROCEED: Step = { kind: 'proceed' }

export interface Settled {
  readonly webhook: StoredWebhook
  readonly delivery: StoredDelivery
  /**
   * The receiver works: what waits and has first failed after this time is tried at once. It may have failed because the receiver did
   * not work. What has seen a success of another event before keeps its own times.
   */
  readonly wakesSince: Timestamp | undefined
  readonly isDisabled: boolean
}

/** Undefined where another process, or a caller, has dealt with the event meanwhile. `before`: what is stored of its delivery. */
export function settle(
  webhook: StoredWebhook,
  before: StoredDelivery | undefined,
  attempted: Attempted,
  outcome: Progress,
  at: Timestamp,
): Settled | undefined {
  const { seq } = attempted
  if (before === undefined ? seq <= webhook.position : before.status !== 'waiting') return undefined
  const { attempts, firstAt } = before ?? { attempts: 0, firstAt: null }
  const tried = { webhookId: webhook.id, ...attempted, at }
  const position = Math.max(webhook.position, seq)
  // All before this event are dealt with, also those that the webhook does not get.
  const reached = Math.max(webhook.position, webhook.ordering === 'strict' ? seq - 1 : seq)
  const same = { wakesSince: undefined, isDisabled: false }
  if (outcome.kind === 'pending') {
    const { responseStatus = null, error = null } = before ?? {}
    const waiting = { status: 'waiting', firstAt: firstAt ?? at, nextAt: at + LONGEST_ATTEMPT_MS } as const
    const delivery = { ...tried, attempts, responseStatus, error, ...waiting }
    return { ...same, webhook: { ...webhook, position: reached }, delivery }
  }
  const answered = { ...tried, attempts: attempts + 1, responseStatus: outcome.responseStatus }
  if (outcome.kind === 'delivered') {
    const delivery: StoredDelivery = { ...answered, status: 'delivered', error: null, firstAt: null, nextAt: null }
    const wakesSince = webhook.lastSuccessAt ?? -1
    return { ...same, webhook: { ...webhook, position, lastSuccessAt: at }, delivery, wakesSince }
  }
  const failed = { ...answered, error: outcome.error.slice(0, MAX_ERROR_CHARACTERS), firstAt: firstAt ?? at }
  const isOver = at - failed.firstAt >= GIVE_UP_MS
  // Others were delivered since: the receiver works, and does not take this event.
  if (isOver && (webhook.lastSuccessAt ?? 0) > failed.firstAt) {
    const delivery: StoredDelivery = { ...failed, status: 'skipped', firstAt: null, nextAt: null }
    return { ...same, webhook: { ...webhook, position }, delivery }
  }
  const nextAt = at + delayAfter(failed.attempts, outcome.retryAfterMs)
  const delivery: StoredDelivery = { ...failed, status: 'waiting', nextAt }
  const disabledBecause = outcome.responseStatus === GONE ? ('gone' as const) : isOver ? ('failing' as const) : null
  const isDisabled = disabledBecause !== null && webhook.status === 'active'
  const after = { ...webhook, position: reached, ...(isDisabled && { status: 'inactive' as const, disabledBecause }) }
  return { ...same, webhook: after, delivery, isDisabled }
}

/** A caller wants the event to be sent again, or at once. */
export function redelivered(delivery: StoredDelivery, at: Timestamp): StoredDelivery {
  return { ...delivery, status: 'waiting', firstAt: null, nextAt: at }
}

/** Undefined for one that is not waiting. With the position after it, if it is the event that blocks a strict order. */
export function skipped(
  webhook: StoredWebhook,
  delivery: StoredDelivery,
): { readonly delivery: StoredDelivery; readonly position: number } | undefined {
  if (delivery.status !== 'waiting') return undefined
  const after: StoredDelivery = { ...delivery, status: 'skipped', firstAt: null, nextAt: null }
  return { delivery: after, position: Math.max(webhook.position, delivery.seq) }
}
