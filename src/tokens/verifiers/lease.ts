// When a change that verification depends on may be answered, with verifiers that decide from what they remember. Pure.
//
// A verifier remembers verdicts while it holds a lease, which it prolongs by calls. Each answer to such a call has what was changed
// since the position that the call names, and a new position. The verifier forgets that, and its next call confirms that it has. A
// change has committed before it looks for verifiers, and is answered when each of them has confirmed it, or when no lease from
// before can be left: any call that commits after the change reads what was changed after that, so the answer that prolongs the
// lease has the change in it.
import { ALL_ACCOUNTS } from '../model/permissions.ts'
import type { RecordOf } from '../model/table.ts'
import type { Timestamp, VERIFIERS } from '../model/tables.ts'
import { newId } from '../model/token.ts'

export type Verifier = RecordOf<typeof VERIFIERS>

export const LEASE_SECONDS = { least: 2, usual: 10, most: 60 } as const

/** Added to a term: for clocks that run at different speeds. A verifier uses less than the whole term, too. */
export const MARGIN_MS = 200

/** As the revocation journal has it: a verifier may decide by what it remembers from now on. */
export interface BegunLease {
  readonly kind: 'lease'
  readonly id: string
  readonly accountId: string
  readonly at: Timestamp
  readonly termMs: number
}

/** A lease of which all that is known is that it may be held: it has confirmed nothing, and is waited for until it has run out. */
export function unknownLease({ id, accountId, at, termMs }: Omit<BegunLease, 'kind'>): Verifier {
  const nobody = { keyId: '', name: 'known from before the store was restored', version: null, acked: '' }
  return { ...nobody, id, accountId, state: 'held', since: at, confirmedAt: at, renewal: 0, termMs }
}

/** Stands for all verifiers that may hold a lease, where even the journal of a store is lost. */
export function anyLease(at: Timestamp): Omit<BegunLease, 'kind'> {
  return { id: newId('vfr', at), accountId: ALL_ACCOUNTS, at, termMs: LEASE_SECONDS.most * 1_000 }
}

/** More changes than this are not listed: everything is forgotten instead. */
export const MOST_NEWS = 1_000

/** Of an account: all changes of it look at them. */
export const MOST_VERIFIERS = 1_000

/** How long the id of an evicted verifier is remembered after its last lease. */
export const EVICTED_MS = 86_400_000

/** What happened, as much as is needed to know whom it concerns. */
export interface Change {
  readonly accountId: string
  readonly seq: number
  /** As in the history. */
  readonly action: string
  readonly subject: string
}

export type Forget = 'all' | readonly ({ readonly tokenId: string } | { readonly subAccountId: string })[]

/** `changes` is undefined if they are not known. */
export function toForget(changes: readonly Change[] | undefined): Forget {
  if (changes === undefined || changes.length > MOST_NEWS) return 'all'
  const subjects = new Map(changes.map(({ subject, action }) => [subject, action]))
  return Array.from(subjects, ([id, action]) => (action.startsWith('token.') ? { tokenId: id } : { subAccountId: id }))
}

/**
 * Whether all that a position has seen includes the decision with this mark. Both are `life/place`: of another life of the store, nothing is known.
 * A place is a number of the history, or a snapshot of PostgreSQL (`xmin:xmax:xip,…`) with the id of a transaction as mark.
 */
export function covers(position: string, mark: string): boolean {
  const [[life, place = ''], [lifeOfMark, at = '']] = [position.split('/'), mark.split('/')]
  if (life !== lifeOfMark) return false
  const [xmin = '', xmax, running = ''] = place.split(':')
  if (xmax === undefined) return Number.parseInt(place, 10) >= Number.parseInt(at, 10)
  const id = BigInt(at)
  return id < BigInt(xmin) || (id < BigInt(xmax) && !running.split(',').includes(at))
}

/** Since when a process has seen the same renewal of each verifier, by its monotonic clock. */
export class Sightings {
  readonly #first = new Map<string, { readonly renewal: number; readonly at: number }>()

  /** Returns when no lease from before `now` is left: what was granted later knows of changes before `now`. */
  endOf({ id, renewal, termMs }: Verifier, now: number): number {
    const known = this.#first.get(id)
    const first = known?.renewal === renewal ? known : { renewal, at: now }
    this.#first.set(id, first)
    return first.at + termMs + MARGIN_MS
  }

  /** Those that are no longer there need not be remembered. */
  keepOnly(verifiers: readonly Verifier[]): void {
    const ids = new Set(verifiers.map(({ id }) => id))
    for (const id of this.#first.keys()) if (!ids.has(id)) this.#first.delete(id)
  }
}

/** Why a change need not wait for a verifier any longer, or that it must. */
export type Standing = 'confirmed' | 'ran-out' | 'waits'

/** `verifier` is as it was read last, undefined if it is no longer there: it has ended its lease, or others have seen it run out. */
export function standingOf(verifier: Verifier | undefined, mark: string, endsAt: number, now: number): Standing {
  if (verifier === undefined) return 'ran-out'
  if (covers(verifier.acked, mark)) return 'confirmed'
  return now >= endsAt ? 'ran-out' : 'waits'
}
