// The history of an account from a position on: which accounts have news, and the rows that a reader may see. Event streams and
// webhooks read it.
import { Failure } from '../model/errors.ts'
import type { Caller } from '../model/permissions.ts'
import type { Parts } from '../trust/parts.ts'
import type { Stamps } from '../trust/vault.ts'
import { type Cursor, type FeedFilter, type FeedRow, NOT_A_POSITION } from './history.ts'
import type { AccountFeedStore } from './ports.ts'

/** Before the first entry of the history, for every caller. */
const START = '0'

/** Rows that one read returns, and how many it looks at: filters leave rows out, and what was imported is no event. */
const READ_AT_ONCE = 100
const LOOKED_AT_ONCE = 10_000

export interface FeedPart {
  readonly rows: readonly FeedRow[]
  /** Up to where the history was read: the next part begins after this row. */
  readonly upTo: number
}

/** Called when the history of an account has grown. */
export type OnNews = (head: number) => void

export class AccountFeed {
  readonly #store: AccountFeedStore
  readonly #stamps: Stamps
  readonly #watched = new Map<string, Set<OnNews>>()
  readonly #heads = new Map<string, number>()

  constructor({ store, stamps }: Pick<Parts<AccountFeedStore>, 'store' | 'stamps'>) {
    this.#store = store
    this.#stamps = stamps
  }

  /** The position of a row as the caller may know it: how many rows are in between is not for those who see only some of them. */
  positionOf({ accountId, permissions }: Caller, seq: number): number | string {
    return permissions.subAccounts === null ? seq : this.#stamps.position(accountId, seq)
  }

  /** Undefined for what is no position that this caller can have got. */
  findSeq({ accountId, permissions }: Caller, position: string): number | undefined {
    const isNumber = /^(0|[1-9][0-9]{0,14})$/.test(position)
    if (isNumber && (permissions.subAccounts === null || position === START)) return Number(position)
    return this.#stamps.seqOf(accountId, position)
  }

  getSeq(caller: Caller, { name, position }: Cursor): number {
    const seq = this.findSeq(caller, position)
    if (seq === undefined) throw new Failure('invalid-request', `${name} ${NOT_A_POSITION}`)
    return seq
  }

  /** How far the history of an account goes. */
  async headOf(accountId: string): Promise<number> {
    return (await this.#store.readHeads([accountId])).get(accountId) ?? 0
  }

  /** `head` is how far the history goes, as the reader knows it. */
  async read(
    accountId: string,
    filter: FeedFilter,
    after: number,
    head: number,
    limit = READ_AT_ONCE,
  ): Promise<FeedPart> {
    const upTo = Math.min(head, after + LOOKED_AT_ONCE)
    const rows = upTo <= after ? [] : await this.#store.readFeed(accountId, { after, upTo, limit }, filter)
    const last = rows.at(-1)
    return { rows, upTo: last !== undefined && rows.length === limit ? last.seq : upTo }
  }

  /** Until the function that is returned is called. */
  watch(accountId: string, onNews: OnNews): () => void {
    const watching = this.#watched.get(accountId) ?? new Set()
    this.#watched.set(accountId, watching.add(onNews))
    return () => {
      watching.delete(onNews)
      if (watching.size > 0 || this.#watched.get(accountId) !== watching) return
      this.#watched.delete(accountId)
      this.#heads.delete(accountId)
    }
  }

  /** Looks for news of all accounts that are watched, in one read. */
  async refresh(): Promise<void> {
    if (this.#watched.size === 0) return
    const heads = await this.#store.readHeads([...this.#watched.keys()])
    for (const [accountId, head] of heads) {
      const watching = this.#watched.get(accountId)
      if (watching === undefined || this.#heads.get(accountId) === head) continue
      this.#heads.set(accountId, head)
      for (const onNews of watching) onNews(head)
    }
  }
}
