// The history of changes, in rows chained per account: a row altered, removed or inserted breaks the chain.
import { Failure } from '../model/errors.ts'
import { type Json, readStoredJson, shownJson } from '../model/fields.ts'
import { type PageRequest, type RawQuery, readOnce, readPageRequest, readTimeParameter } from '../model/page.ts'
import type { Authority } from '../model/permissions.ts'
import type { RecordOf, Table } from '../model/table.ts'
import type { HISTORY, HISTORY_HEADS, IDEMPOTENCY_KEYS } from '../model/tables.ts'
import type { Timestamp } from '../model/token.ts'
import type { Stamped } from '../trust/stamp.ts'
import type { Stamps } from '../trust/vault.ts'
import { isObject } from '../verify/is-object.ts'
import { ACTIONS, type Action } from './actions.ts'

/** A request with an idempotency key, as it is stored. Only idempotency.ts reads what is in `requestDigest`. */
export type KeptRequest = RecordOf<typeof IDEMPOTENCY_KEYS>
export type Idempotency = Pick<KeptRequest, 'accountId' | 'key' | 'requestDigest'>

/** Who makes a change, from where, and when. */
export interface Origin {
  /** An account key's id, `operator` for the command line, `jwt:` or `oidc:` and the subject, or `leak:` and who has reported it. */
  readonly by: string
  /** What the account key was called at that time, or the person's e-mail address. */
  readonly byName?: string | null
  readonly at: Timestamp
  readonly requestId: string | null
  readonly address: string | null
  /** Checked inside the transaction: a change whose authority has ended by `at` is refused. Not stored. */
  readonly authority?: Authority | undefined
  /** Stored with the change. Checked inside the transaction: a key that the caller has used before is refused. */
  readonly once?: Idempotency | undefined
  /** Why the change is made, shown among the facts after it. */
  readonly reason?: string | undefined
  /** The bulk operation that makes the change, shown among the facts after it. */
  readonly operation?: string | undefined
}

/** The reason of tokens that came with a file. Their rows are no events: a webhook would be busy with them for hours. */
export const IMPORTED = 'imported'

/** Only the fields that changed, and never a credential. */
export type Facts = Readonly<Record<string, Fact>>
type Fact = Json

export interface HistoryEvent {
  readonly accountId: string
  readonly action: Action
  /** The id of what was changed. */
  readonly subject: string
  /** What it was called at that time, after the change. Rows written by earlier versions have none. */
  readonly subjectName: string | null
  readonly tokenId: string | null
  readonly from: Facts
  readonly to: Facts
}

/** What was changed: a token, sub-account, account key or account. */
interface Subject {
  readonly id: string
  readonly name: string
}

export function historyEvent(
  accountId: string,
  action: Action,
  { id: subject, name: subjectName }: Subject,
  from: Facts,
  to: Facts,
): HistoryEvent {
  const tokenId = action.startsWith('token.') ? subject : null
  return { accountId, action, subject, subjectName, tokenId, from, to }
}

/** What is stored with a change that has an idempotency key. */
export function keptRequest({ subject }: HistoryEvent, { once, by, at }: Origin): KeptRequest | undefined {
  return once && { ...once, by, subject, createdAt: at }
}

/** A history row as it is stored, read or about to be written. */
export type StoredHistoryRow = RecordOf<typeof HISTORY>

export function toHistoryRow({ fromFacts, toFacts, ...row }: StoredHistoryRow): Stamped<HistoryRow> {
  return { ...row, action: row.action as Action, from: readFacts(fromFacts), to: readFacts(toFacts) }
}

/** None where they were altered so that they cannot be read: the page shows the rest, and the check of the chain names the row. */
function readFacts(text: string): Facts {
  const facts = readStoredJson(text)
  return isObject(facts) ? (facts as Facts) : {}
}

/** The row that an event adds after the last row of its account's chain. */
export function nextRow(
  event: HistoryEvent,
  origin: Origin,
  { seq, last }: ChainEnd,
  stamps: Stamps,
): StoredHistoryRow {
  const { from, to, ...about } = event
  const { at, by, byName = null, requestId, address, reason, operation } = origin
  const facts = { fromFacts: JSON.stringify(from), toFacts: JSON.stringify({ ...to, reason, operation }) }
  const row = { ...about, seq: seq + 1, at, by, byName, requestId, address, ...facts }
  return { ...row, stamp: chainStamp(row, last, stamps) }
}

export interface HistoryRow extends HistoryEvent, Omit<Origin, 'authority' | 'once' | 'reason' | 'operation'> {
  readonly byName: string | null
  /** Counts the account's rows from 1, without gaps. */
  readonly seq: number
}

/** With the sub-account of the token that it is about, which its creation says, also after its deletion. */
export interface ListedHistoryRow extends HistoryRow {
  readonly subAccountId: string | null
}

/** What a change did to access: a revocation took it away at once, or at the end of an overlap. */
export const EFFECTS = ['revocation'] as const

/** Which rows of an account's history are wanted. The range includes its start and excludes its end. */
export interface HistoryFilter {
  readonly tokenId?: string | undefined
  /** With a token: also what was done to the policy or the suspension of its sub-account while the token was there. */
  readonly withSubAccount?: boolean
  readonly by?: string | undefined
  readonly action?: Action | undefined
  readonly effect?: (typeof EFFECTS)[number] | undefined
  /** What was done to it and to its tokens. */
  readonly subAccountId?: string | undefined
  readonly from?: Timestamp | undefined
  readonly before?: Timestamp | undefined
}

/**
 * With `afterSeq`, the oldest row is first. The page is 1 then, and with `beforeSeq`. With both, the newest row is first, and without
 * a filter there are at least `limit` rows between them, or `afterSeq` is 0.
 */
export type HistoryQuery = PageRequest &
  HistoryFilter & {
    readonly subAccounts?: readonly string[]
    readonly afterSeq?: number
    readonly beforeSeq?: number
  }

/** With the sub-account that it is about, or whose token it is about, as it is called now. */
export interface FeedRow extends HistoryRow {
  readonly subAccount: { readonly id: string; readonly name: string } | null
}

/** Which rows a reader of the history as a feed gets. */
export interface FeedFilter {
  /** Only what was done to these and their tokens; null for everything. */
  readonly subAccounts: readonly string[] | null
  /** Only these; null for all. */
  readonly actions: readonly Action[] | null
}

/** `cursor` has the position of an entry as the caller knows it. */
export type HistoryRequest = PageRequest & HistoryFilter & { readonly cursor?: Cursor | undefined }
export interface Cursor {
  readonly name: 'after' | 'beforePosition'
  readonly position: string
}

function readCursor(query: RawQuery): Cursor | undefined {
  const [after, before] = [readOnce(query, 'after'), readOnce(query, 'beforePosition')]
  const [name, position] = after === undefined ? (['beforePosition', before] as const) : (['after', after] as const)
  if (position === undefined) return undefined
  const other = query.page !== undefined ? 'page' : after !== undefined && before !== undefined ? 'beforePosition' : ''
  if (other !== '') throw new Failure('invalid-request', `${name} cannot be combined with ${other}`)
  return { name, position }
}

function readOneOf<Known extends string>(query: RawQuery, name: string, known: readonly Known[]): Known | undefined {
  const text = readOnce(query, name)
  const found = known.find((each) => each === text)
  if (text === undefined || found !== undefined) return found
  throw new Failure('invalid-request', `${name} must be ${known.length > 1 ? 'one of ' : ''}${known.join(', ')}`)
}

export const NOT_A_POSITION = 'must be the position of an entry'

export function readHistoryQuery(query: RawQuery): HistoryRequest {
  return {
    ...readPageRequest(query),
    by: readOnce(query, 'by'),
    action: readOneOf(query, 'action', ACTIONS),
    effect: readOneOf(query, 'effect', EFFECTS),
    subAccountId: readOnce(query, 'subAccountId'),
    from: readTimeParameter(query, 'from'),
    before: readTimeParameter(query, 'before'),
    cursor: readCursor(query),
  }
}

/**
 * The stamp of a row as it is stored, to the letter: another text can be JSON for the same facts, and the database may read it
 * differently. `previous` is the stamp of the account's row before it, empty for the first.
 */
export function chainStamp(row: Omit<StoredHistoryRow, 'stamp'>, previous: Uint8Array, stamps: Stamps): Uint8Array {
  const { accountId, seq, at, by, byName, action, subject, subjectName, tokenId, requestId, address } = row
  const facts = `[${row.fromFacts},${row.toFacts}]`
  // Only where there are names: rows written before there were any keep their stamps.
  const names = byName === null && subjectName === null ? [] : [byName, subjectName]
  return stamps.stampHistory([
    ...[previous, accountId, seq, at, by, action, subject, tokenId, facts, requestId, address],
    ...names,
  ])
}

/** The stamp of the account's last row, stored separately: without it, removing the last rows would not be noticed. */
export function headStamp(accountId: string, seq: number, last: Uint8Array, stamps: Stamps): Uint8Array {
  return stamps.stampHistory(['head', accountId, seq, last])
}

export type ChainLink =
  | { readonly kind: 'row'; readonly row: StoredHistoryRow }
  | ({ readonly kind: 'head' } & RecordOf<typeof HISTORY_HEADS>)

/** How far a chain goes: the number of its last row, and that row's stamp. */
export interface ChainEnd {
  readonly seq: number
  readonly last: Uint8Array
}

export const NO_ROWS: ChainEnd = { seq: 0, last: new Uint8Array() }

/** Where a change continues a chain: after its head, or after its last row if the head was altered or is missing. */
export interface Continuation extends ChainEnd {
  /** The stamp of such a head, empty if it is missing. The next head gets it too: no change makes it genuine. */
  readonly wrongStamp?: Uint8Array
}

export function isGenuineHead(
  { accountId, seq, last, stamp }: RecordOf<typeof HISTORY_HEADS>,
  stamps: Stamps,
): boolean {
  return equal(stamp, headStamp(accountId, seq, last, stamps))
}

/** Checks the chains of all accounts, link by link. The head of a chain comes before its rows. */
export class ChainCheck {
  readonly heads = new Map<string, ChainEnd>()
  readonly #ends = new Map<string, ChainEnd>()
  readonly #stamps: Stamps
  readonly #problems: string[] = []

  constructor(stamps: Stamps) {
    this.#stamps = stamps
  }

  add(link: ChainLink): void {
    if (link.kind === 'head') this.#addHead(link)
    else this.#addRow(link.row)
  }

  #addHead(head: ChainLink & { kind: 'head' }): void {
    const { accountId, seq, last } = head
    this.heads.set(accountId, { seq, last })
    if (!isGenuineHead(head, this.#stamps)) this.#report(accountId, 'the head is altered')
  }

  /** Continues from the row after a break, so that one break is reported once. */
  #addRow(row: StoredHistoryRow): void {
    const { accountId, seq, stamp } = row
    const [end, head] = [this.#ends.get(accountId) ?? NO_ROWS, this.heads.get(accountId)]
    this.#ends.set(accountId, { seq, last: stamp })
    if (seq !== end.seq + 1) this.#report(accountId, `rows ${end.seq + 1} to ${seq - 1} are missing`)
    else if (!isAsStamped(row, end.last, this.#stamps)) {
      this.#report(accountId, `row ${seq} is altered, or the one before it was replaced`)
    }
    if (head?.seq === seq && !equal(head.last, stamp)) this.#report(accountId, `row ${seq} does not match the head`)
  }

  /** What is wrong with what was added. Rows after a head are not an error: they were written since it was read. */
  finish(): readonly string[] {
    for (const [accountId, head] of this.heads) {
      const { seq } = this.#ends.get(accountId) ?? NO_ROWS
      if (seq < head.seq) this.#report(accountId, `rows ${seq + 1} to ${head.seq} are missing`)
    }
    return this.#problems
  }

  #report(accountId: string, problem: string): void {
    this.#problems.push(`${accountId}: ${problem}`)
  }
}

/** The facts are stamped with a comma between them: where the first ones end is certain only if they are JSON. */
function isAsStamped(row: StoredHistoryRow, previous: Uint8Array, stamps: Stamps): boolean {
  return readStoredJson(row.fromFacts) !== undefined && equal(row.stamp, chainStamp(row, previous, stamps))
}

function equal(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0
}

/** What the history shows of a change: the fields that differ, before and after it. */
export function difference<Stored extends Table>(table: Stored, before: RecordOf<Stored>, after: RecordOf<Stored>) {
  const from: Record<string, Fact> = {}
  const to: Record<string, Fact> = {}
  for (const field of table.history ?? []) {
    if (before[field] === after[field]) continue
    from[field] = factOf(table, field, before[field])
    to[field] = factOf(table, field, after[field])
  }
  return { from, to }
}

/** What the history shows of a new record: those of the table's added fields that are set. */
export function addedFacts(table: Table, record: object): Facts {
  const { added = [], history = [] } = table
  const shown = Object.entries(record).filter(
    ([name, value]) => value !== null && added.includes(name) && history.includes(name),
  )
  return Object.fromEntries(shown.map(([name, value]) => [name, factOf(table, name, value)]))
}

function factOf({ fields }: Table, name: string, value: unknown): Fact {
  return fields[name]?.isJson ? shownJson(value as string | null) : (value as Fact)
}
