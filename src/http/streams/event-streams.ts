// Server-Sent Events: every open stream of this process, what each has sent, and when it ends. A stream is read from the feed as
// fast as its client takes it, so that a slow one buffers one part of the history at most.
import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { PassThrough, type Readable } from 'node:stream'
import { entryToWire } from '../../operations/history/document.ts'
import type { AccountFeed } from '../../tokens/history/account-feed.ts'
import type { FeedFilter } from '../../tokens/history/history.ts'
import { Failure } from '../../tokens/model/errors.ts'
import { type Caller, requireRight } from '../../tokens/model/permissions.ts'
import { requireSameRights } from '../access/caller.ts'
import { StreamCount } from '../protocol/stream-count.ts'

const MOST = { ofAll: 5_000, ofAccount: 1_000, what: 'event streams' }
/** Proxies close connections on which nothing is sent for a minute or less. */
export const BEAT_EVERY_MS = 15_000
/** How soon a client connects again. */
const RETRY_MS = 2_000

/** Sent instead of what was asked for, if the history does not go that far: it was restored, or the rights have changed. */
export const RESET = 'feed.reset'

export interface EventRequest {
  readonly caller: Caller
  readonly actions: FeedFilter['actions']
  /** The row after which to begin; undefined for now, null for a position that is not one of this caller. */
  readonly after: number | null | undefined
  /** Rejects when the caller is no longer let in. */
  readonly recheck: () => Promise<Caller>
}

interface SentPart {
  readonly text: string
  readonly upTo: number
}

export class EventStreams {
  readonly #feed: AccountFeed
  readonly #streams = new Set<EventStream>()
  readonly #count = new StreamCount(MOST)
  /** Streams outlive the requests that open them, and their deadlines. */
  readonly #outsideOfRequests = AsyncLocalStorage.snapshot()
  /** Parts that are being read: streams that are equally far share one read. */
  readonly #reading = new Map<string, Promise<SentPart>>()

  constructor(feed: AccountFeed) {
    this.#feed = feed
  }

  get size(): number {
    return this.#streams.size
  }

  async open(request: EventRequest): Promise<Readable> {
    const { caller, after } = request
    const { accountId } = caller
    const leave = this.#count.enter(accountId)
    try {
      const head = await this.#feed.headOf(accountId)
      const isThere = after === undefined || (after !== null && after <= head)
      const stream = new EventStream(request, isThere ? (after ?? head) : head, (filter, from, to) =>
        this.#read(caller, filter, from, to),
      )
      const unwatch = this.#feed.watch(accountId, (news) => stream.advance(news))
      stream.body.once('close', () => {
        unwatch()
        this.#streams.delete(stream)
        leave()
      })
      this.#streams.add(stream)
      if (!isThere) stream.body.write(frame(RESET, resetPosition(caller, head), {}))
      this.#outsideOfRequests(() => stream.advance(head))
      return stream.body
    } catch (error) {
      leave()
      throw error
    }
  }

  #read(caller: Caller, filter: FeedFilter, after: number, head: number): Promise<SentPart> {
    const key = JSON.stringify([caller.accountId, filter, after, head])
    const reading = this.#reading.get(key) ?? this.#readPart(caller, filter, after, head)
    this.#reading.set(key, reading)
    void reading.catch(() => {}).finally(() => this.#reading.delete(key))
    return reading
  }

  async #readPart(caller: Caller, filter: FeedFilter, after: number, head: number): Promise<SentPart> {
    const { rows, upTo } = await this.#feed.read(caller.accountId, filter, after, head)
    const frames = rows.map((row) => {
      const position = this.#feed.positionOf(caller, row.seq)
      return frame(row.action, position, entryToWire(row, position))
    })
    return { text: frames.join(''), upTo }
  }

  /** Call every `BEAT_EVERY_MS`. */
  async beat(): Promise<void> {
    await Promise.all(Array.from(this.#streams, (stream) => stream.beat()))
  }

  close(): void {
    for (const stream of this.#streams) stream.end('the server stops')
  }
}

type ReadPart = (filter: FeedFilter, after: number, head: number) => Promise<SentPart>

class EventStream {
  readonly body = new PassThrough()
  readonly #request: EventRequest
  readonly #filter: FeedFilter
  readonly #readPart: ReadPart
  #position: number
  #head = 0
  #isSending = false

  constructor(request: EventRequest, position: number, readPart: ReadPart) {
    const { caller, actions } = request
    this.#request = request
    this.#filter = { actions, subAccounts: caller.permissions.subAccounts }
    this.#position = position
    this.#readPart = readPart
    // The client may go at any time.
    this.body.on('error', () => {})
    this.body.write(`retry: ${RETRY_MS}\n\n`)
  }

  advance(head: number): void {
    this.#head = Math.max(this.#head, head)
    if (!this.#isSending) void this.#send().catch((error) => this.end(reasonOf(error)))
  }

  /** Nothing is sent before the caller was let in again: a revocation that was answered holds here too. */
  async #send(): Promise<void> {
    this.#isSending = true
    while (this.#position < this.#head && this.body.writable) {
      await this.#requireRights()
      const { text, upTo } = await this.#readPart(this.#filter, this.#position, this.#head)
      this.#position = upTo
      await this.#write(text)
    }
    this.#isSending = false
  }

  async #write(text: string): Promise<void> {
    if (text === '' || !this.body.writable || this.body.write(text)) return
    await Promise.race([once(this.body, 'drain'), once(this.body, 'close')])
  }

  async #requireRights(): Promise<void> {
    const { caller, recheck } = this.#request
    const now = await recheck()
    requireRight(now.permissions, 'read')
    requireSameRights(caller, now)
  }

  /** A client that reads nothing gets no comment: its connection is closed, since nothing is sent. */
  async beat(): Promise<void> {
    try {
      await this.#requireRights()
      if (this.body.writable && !this.body.writableNeedDrain) this.body.write(':\n\n')
    } catch (error) {
      this.end(reasonOf(error))
    }
  }

  /** What a slow client has not read is dropped: it resumes after the last event that it got. */
  end(reason: string): void {
    if (this.body.writableNeedDrain) this.body.destroy()
    else this.body.end(`: ${reason}\n\n`)
  }
}

/** As a response would say it. */
const reasonOf = (error: unknown) => (error instanceof Failure ? error.message : 'Internal server error')

/** None for those who see some of the rows only: it would change with each that they do not see. */
const resetPosition = ({ permissions }: Caller, head: number) => (permissions.subAccounts === null ? head : undefined)

function frame(event: string, id: number | string | undefined, data: object): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`
}
