// What verifiers send: the fields of their calls and of their questions.

import { NOT_AN_ADDRESS } from '../model/access.ts'
import { Failure } from '../model/errors.ts'
import { type FieldReader, nameField, readNew } from '../model/fields.ts'
import { LAST_TIME } from '../model/times.ts'
import { parseAddress } from '../verify/addresses.ts'
import { isObject } from '../verify/is-object.ts'
import { type Access, readScopes } from '../verify/policy.ts'
import { REFUSED, type ReportedVerification } from '../verify/recent-verifications.ts'
import { LEASE_SECONDS } from './lease.ts'

export type Counts = Readonly<Record<string, number>>

export interface LeaseCall {
  readonly lease?: string | undefined
  readonly position?: string | undefined
  readonly name?: string
  readonly version?: string
  readonly leaseSeconds?: number
  /** The verifier needs its lease no longer. */
  readonly end: boolean
  readonly reported: Reported
  /** How many parts of the report cannot be understood. They are left out: a report never costs a lease. */
  readonly dropped: number
}

/** What a verifier has decided by itself. */
export interface Reported {
  /** By token, how many milliseconds ago it was last used. */
  readonly uses: Counts
  /** How often each verdict was decided. */
  readonly verdicts: Counts
  readonly usage: ReportedUsage | undefined
}

export interface ReportedUsage {
  readonly source: string
  readonly reports: readonly VerifierReport[]
  /** By token. What is sent again changes nothing. */
  readonly recent?: Readonly<Record<string, readonly ReportedVerification[]>>
}

interface VerifierReport {
  readonly number: number
  /** By token, how often each verdict was decided. */
  readonly tokens: Readonly<Record<string, Counts>>
}

/** In a call. */
export const MOST_USES = 1_000
export const MOST_REPORTED = 2_000
export const MOST_REPORTS = 2
/** Of all tokens together. */
export const MOST_RECENT = 1_000
const MAX_SOURCE_CHARACTERS = 64
const MAX_COUNT = 1_000_000_000_000

const textField: FieldReader<string> = (value, field) =>
  typeof value === 'string' && value !== ''
    ? { state: 'valid', value }
    : { state: 'unusable', message: `${field} must be a string that is not empty` }

const secondsField: FieldReader<number> = (value, field) => {
  const { least, most } = LEASE_SECONDS
  const isValid = Number.isInteger(value) && (value as number) >= least && (value as number) <= most
  return isValid
    ? { state: 'valid', value: value as number }
    : { state: 'broken', message: `${field} must be a whole number from ${least} to ${most}` }
}

const isCount = (count: unknown) => Number.isInteger(count) && (count as number) >= 0 && (count as number) <= MAX_COUNT
const isTime = (at: unknown) => Number.isInteger(at) && (at as number) >= 0 && (at as number) <= LAST_TIME

function isReport(value: unknown): boolean {
  const { number, tokens } = (isObject(value) ? value : {}) as Partial<VerifierReport>
  if (!isCount(number) || !isObject(tokens)) return false
  const counts = Object.values(tokens)
  return counts.length <= MOST_REPORTED && counts.every((each) => isObject(each) && Object.values(each).every(isCount))
}

function isVerification(value: unknown): boolean {
  const { reason, address, agoMs, formerUntil = 0 } = (isObject(value) ? value : {}) as Partial<ReportedVerification>
  const isReason = reason === null || REFUSED.some((each) => each === reason)
  const isAddress = address === null || (typeof address === 'string' && parseAddress(address) !== undefined)
  return isReason && isAddress && isCount(agoMs) && isTime(formerUntil)
}

/** Reads a report part by part, and counts those that cannot be understood. */
class ReportReader {
  dropped = 0

  counts(value: unknown): Counts {
    return Object.fromEntries(this.#sift(this.#members(value), MOST_USES, ([, count]) => isCount(count))) as Counts
  }

  usage(value: unknown): ReportedUsage | undefined {
    const { source, reports = [], recent } = (isObject(value) ? value : {}) as Partial<ReportedUsage>
    const isNamed = typeof source === 'string' && source !== '' && source.length <= MAX_SOURCE_CHARACTERS
    if (value === undefined || !isNamed) {
      if (value !== undefined) this.dropped++
      return undefined
    }
    return { source, reports: this.#sift(this.#items(reports), MOST_REPORTS, isReport), recent: this.#recent(recent) }
  }

  #recent(value: unknown): NonNullable<ReportedUsage['recent']> {
    const all = this.#members(value).flatMap(([tokenId, list]) =>
      this.#items<ReportedVerification>(list).map((verification) => ({ tokenId, verification })),
    )
    const kept = this.#sift(all, MOST_RECENT, ({ verification }) => isVerification(verification))
    const byToken = Map.groupBy(kept, ({ tokenId }) => tokenId)
    return Object.fromEntries(Array.from(byToken, ([id, some]) => [id, some.map(({ verification }) => verification)]))
  }

  #members(value: unknown): [string, unknown][] {
    if (value !== undefined && !isObject(value)) this.dropped++
    return isObject(value) ? Object.entries(value) : []
  }

  #items<Item>(value: unknown): readonly Item[] {
    if (!Array.isArray(value)) this.dropped++
    return Array.isArray(value) ? value : []
  }

  #sift<Part>(parts: readonly Part[], most: number, isUsable: (part: Part) => boolean): Part[] {
    const kept = parts.filter(isUsable).slice(0, most)
    this.dropped += parts.length - kept.length
    return kept
  }
}

/** A lease that goes on is asked for by the lease and its position alone. */
export function readLeaseCall(body: unknown): LeaseCall {
  const { lease, position } = readNew<Pick<LeaseCall, 'lease' | 'position'>>(
    body,
    { lease: textField, position: textField },
    [],
  )
  if ((lease === undefined) !== (position === undefined)) {
    throw new Failure('invalid-request', 'lease and position must be sent together')
  }
  const about = { name: nameField, version: nameField, leaseSeconds: secondsField }
  const begun = lease === undefined ? readNew<Pick<LeaseCall, keyof typeof about>>(body, about, []) : {}
  const sent = (isObject(body) ? body : {}) as Partial<Record<keyof Reported | 'end', unknown>>
  const reader = new ReportReader()
  const [uses, verdicts, usage] = [reader.counts(sent.uses), reader.counts(sent.verdicts), reader.usage(sent.usage)]
  const { dropped } = reader
  return { lease, position, ...begun, end: sent.end === true, reported: { uses, verdicts, usage }, dropped }
}

const addressField: FieldReader<string> = (value) =>
  typeof value === 'string' && parseAddress(value) !== undefined
    ? { state: 'valid', value }
    : { state: 'unusable', message: NOT_AN_ADDRESS }

const scopeField: FieldReader<NonNullable<Access['scopes']>> = (value) => {
  const read = readScopes(value)
  return 'scopes' in read ? { state: 'valid', value: read.scopes } : { state: 'unusable', message: read.problem }
}

export interface Question {
  readonly credential: string
  readonly scope?: NonNullable<Access['scopes']>
  readonly address?: string
}

export function readQuestion(body: unknown): { readonly credential: string; readonly access: Access } {
  const fields = { credential: textField, scope: scopeField, address: addressField }
  const { credential, scope, address } = readNew<Question>(body, fields, ['credential'])
  return { credential, access: { ...(scope && { scopes: scope }), address } }
}
