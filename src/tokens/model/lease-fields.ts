// What verifiers send: the fields of their calls and of their questions.
import { Failure } from '../errors.ts'
import { parseAddress } from '../verify/addresses.ts'
import { isObject } from '../verify/is-object.ts'
import { type Access, readScopes } from '../verify/policy.ts'
import { REFUSED, type ReportedVerification } from '../verify/recent-verifications.ts'
import { NOT_AN_ADDRESS } from './access.ts'
import { type FieldReader, nameField, readNew } from './fields.ts'
import { LEASE_SECONDS } from './lease.ts'

export type Counts = Readonly<Record<string, number>>

export interface LeaseCall {
  readonly lease?: string
  readonly position?: string
  readonly name?: string
  readonly version?: string
  readonly leaseSeconds?: number
  /** The verifier needs its lease no longer. */
  readonly end?: boolean
  /** By token, how many milliseconds ago it was last used. */
  readonly uses?: Counts
  /** How often each verdict was decided. */
  readonly verdicts?: Counts
  readonly usage?: ReportedUsage
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

const flagField: FieldReader<boolean> = (value, field) =>
  typeof value === 'boolean'
    ? { state: 'valid', value }
    : { state: 'unusable', message: `${field} must be true or false` }

const isCount = (count: unknown) => Number.isInteger(count) && (count as number) >= 0 && (count as number) <= MAX_COUNT

const countsField: FieldReader<Counts> = (value, field) => {
  const counts = isObject(value) ? Object.values(value) : []
  if (!isObject(value) || !counts.every(isCount)) {
    return { state: 'unusable', message: `${field} must be a JSON object of whole numbers` }
  }
  if (counts.length > MOST_USES) return { state: 'broken', message: `${field} must have at most ${MOST_USES} members` }
  return { state: 'valid', value: value as Counts }
}

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
  return isReason && isAddress && isCount(agoMs) && isCount(formerUntil)
}

function areRecent(value: unknown): boolean {
  const lists = isObject(value) ? Object.values(value) : [undefined]
  if (!lists.every((list) => Array.isArray(list) && list.every(isVerification))) return false
  return lists.flat().length <= MOST_RECENT
}

const usageField: FieldReader<ReportedUsage> = (value, field) => {
  const { source, reports, recent = {} } = (isObject(value) ? value : {}) as Partial<ReportedUsage>
  const isNamed = typeof source === 'string' && source !== '' && source.length <= MAX_SOURCE_CHARACTERS
  const areReports = Array.isArray(reports) && reports.length <= MOST_REPORTS && reports.every(isReport)
  if (!isNamed || !areReports || !areRecent(recent)) {
    const most = `at most ${MOST_REPORTS} reports of at most ${MOST_REPORTED} tokens each and ${MOST_RECENT} recent verifications`
    return { state: 'unusable', message: `${field} must have a source and ${most}, as described` }
  }
  return { state: 'valid', value: value as ReportedUsage }
}

export function readLeaseCall(body: unknown): LeaseCall {
  const call = readNew<LeaseCall>(
    body,
    {
      lease: textField,
      position: textField,
      name: nameField,
      version: nameField,
      leaseSeconds: secondsField,
      end: flagField,
      uses: countsField,
      verdicts: countsField,
      usage: usageField,
    },
    [],
  )
  if ((call.lease === undefined) !== (call.position === undefined)) {
    throw new Failure('invalid-request', 'lease and position must be sent together')
  }
  return call
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
