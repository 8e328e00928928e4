// What a verifier remembers, and when it may answer from it: the deciding part of the protocol of docs/reference/verifier-protocol.md. It reads no clock
// and sends nothing: times and answers are arguments, so that a test can explore every order of them.
import { parseAddress } from '../../src/tokens/verify/addresses.ts'
import type { ReadyEntry } from '../../src/tokens/verify/entry.ts'
import {
  isOnRecord,
  mergeRecent,
  type RecentVerification,
  type RecentVerifications,
  type ReportedVerification,
} from '../../src/tokens/verify/recent-verifications.ts'

/** In milliseconds. The first runs evenly but stands still while the machine is suspended; the second goes on, but can be set. */
export interface Times {
  readonly monotonic: number
  readonly wall: number
}

/** What has changed: all that is remembered of it is wrong. */
export interface Change {
  readonly tokenId?: string
  readonly subAccountId?: string
  readonly accountId?: string
}

export interface LeaseAnswer {
  readonly lease: string
  readonly position: string
  readonly termMs: number
  readonly forget: 'all' | readonly Change[]
  /** False or absent of older versions, which would refuse it. */
  readonly takesUsage?: boolean
}

export interface LeaseCall {
  readonly lease?: string
  /** Everything up to here is forgotten. */
  readonly position?: string
  /** The milliseconds since the last use, by token. */
  readonly uses?: Readonly<Record<string, number>>
  /** How many verdicts came from memory, by reason. */
  readonly verdicts?: Readonly<Record<string, number>>
  readonly usage?: {
    readonly reports: readonly UsageReport[]
    /** By token: the last verifications from memory. */
    readonly recent?: Readonly<Record<string, readonly ReportedVerification[]>>
  }
}

/** The service adds what is sent again under the same number only once. */
export interface UsageReport {
  readonly number: number
  /** How many verdicts of each token came from memory, by reason. */
  readonly tokens: Readonly<Record<string, Readonly<Record<string, number>>>>
}

interface Lease extends Pick<LeaseAnswer, 'position' | 'termMs'> {
  readonly id: string
  /** When the call was sent that the service has answered last: its term began no earlier. */
  readonly sentAt: Times
}

export interface Remembered {
  readonly entry: ReadyEntry
  /** When the question was sent: the end of the entry counts from here. */
  readonly sentAt: Times
  /** The last verifications from memory, which need not be reported again within a minute. Their times are monotonic. */
  recent: RecentVerifications
}

/** To the service, not answered yet. */
export interface Question {
  readonly sentAt: Times
  /** What has changed since it was sent: its answer may be older. */
  changes: 'all' | Change[]
}

export interface Memory {
  readonly maxEntries: number
  lease: Lease | undefined
  /** By the operator: it gets no further lease. */
  isEvicted: boolean
  /** By the hash of the credential, oldest first. */
  readonly entries: Map<string, Remembered>
  /** The hashes of a token's credentials: the current one, and former ones that still work. */
  readonly hashes: Map<string, readonly string[]>
  readonly questions: Set<Question>
  /** Not reported yet: the monotonic time of the last use, by token. */
  readonly uses: Map<string, number>
  readonly verdicts: Map<string, number>
  readonly usage: Map<string, Record<string, number>>
  readonly recent: Map<string, RecentVerifications>
  takesUsage: boolean
  /** A call was refused with what it reported: until one is answered, nothing is reported. */
  wasRefused: boolean
  reports: number
  /** Sent and not answered, and when for the first time: each may have been added, and must be sent again as it is. */
  unanswered: { readonly report: UsageReport; readonly sentAt: number }[]
}

export function newMemory(maxEntries: number): Memory {
  const maps = { entries: new Map(), hashes: new Map(), questions: new Set<Question>(), uses: new Map() }
  const unreported = { verdicts: new Map(), usage: new Map(), recent: new Map() }
  const reporting = { takesUsage: false, wasRefused: false, reports: 0, unanswered: [] }
  return { maxEntries, lease: undefined, isEvicted: false, ...maps, ...unreported, ...reporting }
}

/** A tenth, for clocks that run at different speeds. Of a term at least a moment, for the time that a verdict takes to be used. */
const MARGIN = 0.1
const marginOf = (termMs: number): number => Math.max(termMs * MARGIN, 200)

/** Call it with times that were read after the verdict was computed. */
export function holdsLease({ lease }: Memory, now: Times): boolean {
  if (lease === undefined) return false
  const { termMs, sentAt } = lease
  const margin = marginOf(termMs)
  const [elapsed, elapsedByWall] = [now.monotonic - sentAt.monotonic, now.wall - sentAt.wall]
  // A wall clock that was set back no longer shows how long the machine was suspended.
  return elapsed < termMs - margin && elapsedByWall < termMs - margin && elapsedByWall > elapsed - margin
}

/** By a tenth too early where clocks agree: they may be as slow as the lease allows. */
export function hasEnded({ entry: { endsInMs }, sentAt }: Remembered, now: Times): boolean {
  if (endsInMs === null) return false
  return Math.max(now.monotonic - sentAt.monotonic, now.wall - sentAt.wall) >= endsInMs - endsInMs * MARGIN
}

/** So many fit into the body of a call, with ids of 32 characters. The others are reported by the next call. */
const MAX_USES = 1_000

/** The next call. What it reports is no longer waiting: a call that fails must be handed to `leaseFailed`. */
export function leaseCall(memory: Memory, now: Times): LeaseCall {
  const { lease, uses, verdicts } = memory
  const held = lease !== undefined && { lease: lease.id, position: lease.position }
  if (memory.wasRefused) return { ...held }
  const reported = [...uses].slice(0, MAX_USES)
  const call: LeaseCall = {
    ...held,
    ...(reported.length > 0 && {
      uses: Object.fromEntries(reported.map(([tokenId, at]) => [tokenId, Math.round(now.monotonic - at)])),
    }),
    ...(verdicts.size > 0 && { verdicts: Object.fromEntries(verdicts) }),
    ...(memory.takesUsage && usageCall(memory, now)),
  }
  for (const [tokenId] of reported) uses.delete(tokenId)
  verdicts.clear()
  return call
}

/** The others are reported by the next call. */
const MAX_REPORTED = 2_000
/** In a call: one that was not answered, and another one. */
const MAX_REPORTS = 2
/** Longer than this the service need not remember what it has added: better lost than added twice. */
const REPEATED_MS = 1_200_000

function usageCall(memory: Memory, now: Times): Pick<LeaseCall, 'usage'> {
  memory.unanswered = memory.unanswered.filter(({ sentAt }) => now.monotonic - sentAt <= REPEATED_MS)
  if (memory.unanswered.length < MAX_REPORTS && memory.usage.size > 0) {
    // Without the methods of iterators, which Node.js 20 lacks.
    const tokens = [...memory.usage].slice(0, MAX_REPORTED)
    for (const [tokenId] of tokens) memory.usage.delete(tokenId)
    const report = { number: ++memory.reports, tokens: Object.fromEntries(tokens) }
    memory.unanswered.push({ report, sentAt: now.monotonic })
  }
  const reports = memory.unanswered.map(({ report }) => report)
  const recent = memory.recent.size > 0 && { recent: takeRecent(memory, now) }
  return reports.length > 0 || recent ? { usage: { reports, ...recent } } : {}
}

/** In a call. The others are reported by the next one. */
const MAX_RECENT = 1_000

function takeRecent({ recent }: Memory, now: Times): Record<string, readonly ReportedVerification[]> {
  const reported: Record<string, readonly ReportedVerification[]> = {}
  let left = MAX_RECENT
  for (const [tokenId, verifications] of recent) {
    left -= verifications.length
    if (left < 0) break
    reported[tokenId] = verifications.map(({ at, ...rest }) => ({ ...rest, agoMs: Math.round(now.monotonic - at) }))
    recent.delete(tokenId)
  }
  return reported
}

/** Forgets first: the next call says that everything up to the new position is forgotten. */
export function leaseAnswered(memory: Memory, sentAt: Times, answer: LeaseAnswer): void {
  const { lease, position, termMs, forget, takesUsage = false } = answer
  if (memory.takesUsage) memory.unanswered = []
  memory.takesUsage = takesUsage
  memory.wasRefused = false
  if (forget === 'all' || memory.lease?.id !== lease) forgetAll(memory)
  else forgetSome(memory, forget)
  memory.lease = { id: lease, position, termMs, sentAt }
}

/** A call that is repeated as it is would be refused so again. */
const REFUSALS: readonly unknown[] = ['invalid-request', 'body-too-large', 'internal-error']
const LOST: readonly unknown[] = ['lease-lost', 'verifier-evicted']

/**
 * `code` of the service, if it has answered. A call that is refused costs what it reports; where it has reported nothing, the lease. Any
 * other failure leaves the lease to run out, and the call is repeated.
 */
export function leaseFailed(memory: Memory, call: LeaseCall, sentAt: Times, code: string | undefined): void {
  const isRefused = REFUSALS.includes(code)
  if (isRefused) memory.unanswered = []
  else reportAgain(memory, call, sentAt)
  const isLost = LOST.includes(code) || (isRefused && memory.wasRefused)
  memory.wasRefused = !isLost && (isRefused || memory.wasRefused)
  if (!isLost) return
  endLease(memory)
  memory.isEvicted = code === 'verifier-evicted'
}

function reportAgain(memory: Memory, call: LeaseCall, sentAt: Times): void {
  for (const [tokenId, agoMs] of Object.entries(call.uses ?? {})) {
    if (!memory.uses.has(tokenId)) memory.uses.set(tokenId, sentAt.monotonic - agoMs)
  }
  for (const [reason, count] of Object.entries(call.verdicts ?? {})) countVerdict(memory, reason, count)
  for (const [tokenId, reported] of Object.entries(call.usage?.recent ?? {})) {
    for (const { agoMs, ...rest } of reported) awaitReport(memory, tokenId, { ...rest, at: sentAt.monotonic - agoMs })
  }
}

export function endLease(memory: Memory): void {
  memory.lease = undefined
  forgetAll(memory)
}

function forgetAll({ entries, hashes, questions }: Memory): void {
  entries.clear()
  hashes.clear()
  for (const question of questions) question.changes = 'all'
}

function forgetSome(memory: Memory, changes: readonly Change[]): void {
  if (changes.length === 0) return
  const [subAccounts, accounts] = [new Set<string>(), new Set<string>()]
  for (const { tokenId, subAccountId, accountId } of changes) {
    for (const hash of memory.hashes.get(tokenId ?? '') ?? []) drop(memory, hash)
    if (subAccountId !== undefined) subAccounts.add(subAccountId)
    if (accountId !== undefined) accounts.add(accountId)
  }
  // Tokens are found by their index. The others are changed less often: all entries are looked through.
  for (const [hash, { entry }] of subAccounts.size + accounts.size > 0 ? memory.entries : []) {
    if (subAccounts.has(entry.subAccountId) || accounts.has(entry.accountId)) drop(memory, hash)
  }
  for (const question of memory.questions) if (question.changes !== 'all') question.changes.push(...changes)
}

export function asked(memory: Memory, sentAt: Times): Question {
  const question: Question = { sentAt, changes: [] }
  memory.questions.add(question)
  return question
}

/** `entry`: undefined where there is no answer; null for one that may not be remembered, which ends what was. True if it is remembered. */
export function answered(
  memory: Memory,
  question: Question,
  hash: string,
  entry: ReadyEntry | null | undefined,
): boolean {
  const { lease, entries, hashes, maxEntries } = memory
  memory.questions.delete(question)
  if (entry === null) drop(memory, hash)
  if (!entry || lease === undefined || mayBeOlder(question, entry)) return false
  drop(memory, hash)
  const [oldest] = entries.keys()
  if (oldest !== undefined && entries.size >= maxEntries) drop(memory, oldest)
  entries.set(hash, { entry, sentAt: question.sentAt, recent: [] })
  hashes.set(entry.tokenId, [...(hashes.get(entry.tokenId) ?? []), hash])
  return true
}

/** Than a change that the verifier has confirmed to have forgotten. */
function mayBeOlder({ changes }: Question, { tokenId, subAccountId, accountId }: ReadyEntry): boolean {
  return (
    changes === 'all' ||
    changes.some(
      (change) => change.tokenId === tokenId || change.subAccountId === subAccountId || change.accountId === accountId,
    )
  )
}

function drop({ entries, hashes }: Memory, hash: string): void {
  const tokenId = entries.get(hash)?.entry.tokenId
  if (tokenId === undefined) return
  entries.delete(hash)
  const others = hashes.get(tokenId)?.filter((each) => each !== hash) ?? []
  if (others.length > 0) hashes.set(tokenId, others)
  else hashes.delete(tokenId)
}

/** A verdict from memory. Reports of use wait in memory only, so they have a bound. */
export function countVerdict({ verdicts }: Memory, reason: string, count = 1): void {
  verdicts.set(reason, (verdicts.get(reason) ?? 0) + count)
}

/** Of a token, for its usage. */
export function countUsage({ usage, maxEntries }: Memory, tokenId: string, reason: string): void {
  const counts = usage.get(tokenId)
  if (counts !== undefined) counts[reason] = (counts[reason] ?? 0) + 1
  else if (usage.size < maxEntries) usage.set(tokenId, { [reason]: 1 })
}

/** A verdict from memory, with where it was asked from. */
export function noteRecent(memory: Memory, remembered: Remembered, verification: RecentVerification): void {
  if (isOnRecord(remembered.recent, verification)) return
  remembered.recent = mergeRecent(remembered.recent, [verification])
  awaitReport(memory, remembered.entry.tokenId, verification)
}

/** Applications may give any text as an address. */
function awaitReport({ recent, maxEntries }: Memory, tokenId: string, verification: RecentVerification): void {
  const { address } = verification
  const noted = { ...verification, address: address !== null && parseAddress(address) !== undefined ? address : null }
  const waiting = recent.get(tokenId)
  if (waiting !== undefined || recent.size < maxEntries) recent.set(tokenId, mergeRecent(waiting ?? [], [noted]))
}

export function markUse({ uses, maxEntries }: Memory, tokenId: string, now: Times): void {
  if (uses.size < maxEntries || uses.has(tokenId)) uses.set(tokenId, now.monotonic)
}
