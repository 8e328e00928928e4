// Remembers what was read from the store, and whether it still holds. Nothing is believed by its age: whoever wants
// something looks at the store first, and what has changed since it was read is read again.

import type { TokenQuery } from './model/page.ts'
import { Recent } from './recent.ts'
import type { HistoryEvent } from './record/history.ts'

/** What has changed in the store, by whichever process. */
export interface Changes {
  /** Asks the store, and tells the time by its own clock, which moves whenever something has changed. */
  look(): number
  /** A look that is made after this call, one for all who ask within a turn of the event loop. */
  looked(): Promise<unknown>
  /** As of the last look. */
  readonly time: number
  /** Where changes of this id, or of this aspect of an account, are noted. Others may be noted there too. */
  placeOf(id: string): number
  /** As far as the last look saw: whether nothing that is noted at this place has changed after that time. */
  unchangedSince(time: number, place: number): boolean
}

/** What lists depend on besides their rows: an account's set of tokens, their statuses and names, its suspensions. */
type Aspect = 'members' | 'statuses' | 'names' | 'suspensions'

const aspectOf = (accountId: string, aspect: Aspect): string => `${accountId} ${aspect}`

const NONE: readonly Aspect[] = []
const OF_TOKENS: readonly Aspect[] = ['members', 'statuses', 'names']
const ALL: readonly Aspect[] = [...OF_TOKENS, 'suspensions']

const TOUCHES: Readonly<Record<HistoryEvent['action'], (to: HistoryEvent['to']) => readonly Aspect[]>> = {
  'account.create': () => NONE,
  'account.rename': () => NONE,
  'key.create': () => NONE,
  'key.revoke': () => NONE,
  'sub-account.create': () => NONE,
  'sub-account.update': (to) => ('suspendedAt' in to ? ['suspensions'] : NONE),
  'token.create': () => OF_TOKENS,
  'token.update': (to) => [
    ...('status' in to ? (['statuses'] as const) : []),
    ...('name' in to ? (['names'] as const) : []),
  ],
  'token.rotate': () => NONE,
  'token.delete': () => OF_TOKENS,
}

/** The ids and aspects that an event has changed. */
export function changedBy({
  accountId,
  action,
  subject,
  tokenId,
  to,
}: Omit<HistoryEvent, 'from' | 'subjectName'>): string[] {
  const aspects = TOUCHES[action](to).map((aspect) => aspectOf(accountId, aspect))
  return [subject, ...(tokenId === null || tokenId === subject ? [] : [tokenId]), ...aspects]
}

/** What decides which tokens a list holds and how many there are. */
export function aspectsAsked(accountId: string, { status, search, narrowing }: TokenQuery): string[] {
  const asked: Readonly<Record<Aspect, boolean>> = {
    members: true,
    statuses: status !== undefined,
    names: search !== undefined,
    suspensions: narrowing?.suspended !== undefined,
  }
  return ALL.filter((aspect) => asked[aspect]).map((aspect) => aspectOf(accountId, aspect))
}

interface Entry<Value> {
  readonly value: Value
  /** Where the changes are noted that would make it another value. */
  readonly places: readonly number[]
  /** It is what would have been read then. */
  heldAt: number
}

/** Names of which nothing else is kept, by their hashes. One that shares another's hash is taken for met before. */
const MET_ONCE = 2 ** 15

export class Known<Value> {
  readonly #changes: Changes
  readonly #entries: Recent<string, Entry<Value>>
  readonly #metOnce = new Uint32Array(MET_ONCE)

  /** Holds at most twice `limit` entries. */
  constructor(changes: Changes, limit: number) {
    this.#changes = changes
    this.#entries = new Recent(limit)
  }

  /** What is known and still so. Asks the store only where there is something to ask about. */
  async find(name: string): Promise<Value | undefined> {
    const entry = this.#entries.get(name)
    if (entry === undefined) return undefined
    await this.#changes.looked()
    return this.#still(entry)
  }

  /** The same as of the last look: for somebody who has looked since the question was asked. */
  get(name: string): Value | undefined {
    const entry = this.#entries.get(name)
    return entry && this.#still(entry)
  }

  #still(entry: Entry<Value>): Value | undefined {
    const { value, places, heldAt } = entry
    const { time } = this.#changes
    if (heldAt === time) return value
    for (const place of places) if (!this.#changes.unchangedSince(heldAt, place)) return undefined
    entry.heldAt = time
    return value
  }

  /**
   * `madeOf` names what makes it another value by changing: a token, its sub-account, an aspect of the account. `readAt`
   * is the time of a look before it was read: what changed while it was read counts.
   */
  set(name: string, value: Value, madeOf: readonly string[], readAt: number): void {
    const places = madeOf.map((id) => this.#changes.placeOf(id))
    this.#entries.set(name, { value, places, heldAt: readAt })
  }

  /** The same from the second time on: most of what is asked for is asked for once, and would be dear to keep and to drop. */
  setIfMetBefore(name: string, value: Value, madeOf: readonly string[], readAt: number): void {
    const hash = hashOf(name)
    const place = hash % MET_ONCE
    if (this.#metOnce[place] === hash) this.set(name, value, madeOf, readAt)
    else this.#metOnce[place] = hash
  }
}

/** FNV-1a of 32 bits. Not collision-resistant: only for where a chosen collision gains nothing. */
export function hashOf(name: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 16)) >>> 0
}
