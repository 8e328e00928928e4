// The rules of creating and changing tokens and sub-accounts. Pure: a record and a change in, a record out.
import { createHash } from 'node:crypto'
import { isObject } from '../verify/is-object.ts'
import { brokenPolicyRule, type PolicyOwner } from '../verify/policy.ts'
import { Failure } from './errors.ts'
import {
  emailField,
  type FieldReader,
  idField,
  type JsonObject,
  metadataField,
  nameField,
  objectField,
  oneOf,
  readChange,
  readNew,
  readPatch,
  shownJson,
  statusField,
  tagsField,
  timeField,
} from './fields.ts'
import { mergePatch } from './merge-patch.ts'
import { SUB_ACCOUNTS } from './tables.ts'
import type { ListedToken, Status, SubAccount, Timestamp, TokenRecord } from './token.ts'

export interface TokenUpdate {
  readonly name?: string
  readonly status?: Status
  readonly expiresAt?: Timestamp | null
  /** A merge patch, as `policy` is; null removes all of it. */
  readonly metadata?: JsonObject | null
  readonly tags?: readonly string[] | null
  readonly policy?: JsonObject | null
}

/** All that callers can set, in the order in which it is checked. */
export const TOKEN_FIELDS = {
  name: nameField,
  status: statusField,
  expiresAt: timeField,
  metadata: metadataField,
  tags: tagsField,
  policy: objectField,
}

/** What the documented PUT changes. */
export function readTokenUpdate(body: unknown): TokenUpdate {
  return readChange<Pick<TokenUpdate, 'name' | 'status'>>(body, { name: nameField, status: statusField })
}

/** What PATCH changes. */
export function readTokenPatch(body: unknown): TokenUpdate {
  return readPatch<TokenUpdate>(body, TOKEN_FIELDS)
}

/** The record after the update; the same object when the update changes nothing. */
export function applyUpdate<Token extends ListedToken>(record: Token, update: TokenUpdate): Token {
  const changed = changedFields(record, { ...update, ...patchJson(record, update, 'token') })
  return changed === undefined ? record : { ...record, ...changed, version: record.version + 1 }
}

/** As it is stored. */
export const MAX_METADATA_BYTES = 4_096

type JsonFields = Pick<TokenUpdate, 'metadata' | 'tags' | 'policy'>
type StoredJson = { readonly [Name in keyof JsonFields]?: string | null }

/** The fields that are stored as JSON, after a change of those that it names. */
function patchJson(before: StoredJson, change: JsonFields, owner: PolicyOwner): StoredJson {
  const { metadata, tags, policy } = change
  return {
    ...(metadata === undefined ? {} : { metadata: patchMetadata(before.metadata, metadata) }),
    ...(tags === undefined ? {} : { tags: tags && JSON.stringify(tags) }),
    ...(policy === undefined ? {} : { policy: patchPolicy(before.policy ?? null, policy, owner) }),
  }
}

/** New ones are stored as they are. */
function patchMetadata(before: string | null | undefined, patch: JsonObject | null): string | null {
  const text = patch && JSON.stringify(before === undefined ? patch : patched(before, patch))
  if (text === null || Buffer.byteLength(text) <= MAX_METADATA_BYTES) return text
  const message = `metadata must be at most ${MAX_METADATA_BYTES} bytes of JSON`
  throw new Failure('invalid-request', message, [{ field: 'metadata', message }])
}

/** A policy that restricts nothing is none. */
function patchPolicy(before: string | null, patch: JsonObject | null, owner: PolicyOwner): string | null {
  const policy = patch && patched(before, patch)
  if (policy === null || Object.keys(policy).length === 0) return null
  const problem = brokenPolicyRule(policy, owner)
  if (problem !== undefined) throw new Failure('invalid-request', problem.message, [problem])
  return JSON.stringify(policy)
}

const patched = (before: string | null, patch: JsonObject) => mergePatch(shownJson(before), patch) as JsonObject

/** The fields of an update that differ from the record; undefined if there are none. */
function changedFields(record: object, update: object): object | undefined {
  const before = record as Readonly<Record<string, unknown>>
  const changed = Object.entries(update).filter(([field, value]) => value !== undefined && before[field] !== value)
  return changed.length === 0 ? undefined : Object.fromEntries(changed)
}

export interface NewToken extends TokenUpdate {
  readonly subAccountId: string
  readonly name: string
}

/** A new token's fields with their defaults. */
export function newTokenFields(token: NewToken) {
  const { subAccountId, name, status = 'active', expiresAt = null } = token
  return { subAccountId, name, status, expiresAt, ...NO_JSON, tags: null, ...patchJson({}, token, 'token') }
}

const NO_JSON = { metadata: null, policy: null }

export function readNewToken(body: unknown): NewToken {
  return readNew<NewToken>(body, { subAccountId: idField, ...TOKEN_FIELDS }, ['subAccountId', 'name'])
}

/** How long the key of a creation is remembered. */
export const IDEMPOTENCY_MEMORY_MS = 24 * 60 * 60 * 1000
/** How many older keys are removed with each new one. */
export const FORGOTTEN_AT_ONCE = 100

export const MAX_OVERLAP_SECONDS = 30 * 24 * 60 * 60

/** For how many seconds the former credential still works; 0 by default. */
export function readOverlap(body: unknown): number {
  // Read as an empty object, another body would end the former credential at once, against what its sender meant.
  if (body !== undefined && !isObject(body)) throw new Failure('invalid-request', 'The body must be a JSON object')
  const { overlapSeconds = 0 } = readNew<{ overlapSeconds?: number }>(body, { overlapSeconds: overlapField }, [])
  return overlapSeconds
}

const overlapField: FieldReader<number> = (value, field) => {
  const seconds = Number.isInteger(value) ? (value as number) : -1
  if (seconds >= 0 && seconds <= MAX_OVERLAP_SECONDS) return { state: 'valid', value: seconds }
  return { state: 'unusable', message: `${field} must be a whole number from 0 to ${MAX_OVERLAP_SECONDS}` }
}

export interface Rotation {
  readonly sealed: Uint8Array
  readonly digest: Uint8Array
  readonly masked?: string
  /** Until when the former credential still works; it stops at once if this is not later than the rotation. */
  readonly formerUntil: Timestamp
}

/**
 * `retired` is the former credential, if it still works for a while. Without an overlap all former credentials stop, those of
 * earlier rotations too, so that a rotation ends a leak: the ones that retire up to `outlived` are deleted.
 */
export function applyRotation<Token extends TokenRecord>(record: Token, rotation: Rotation, at: Timestamp) {
  const { sealed, digest, masked = null, formerUntil } = rotation
  const overlaps = formerUntil > at
  // So that who reads the history can tell which credential it was.
  const shown = overlaps && record.masked !== null ? { formerCredential: record.masked } : {}
  return {
    after: { ...record, sealed, digest, masked, version: record.version + 1 },
    retired: overlaps ? { digest: record.digest, tokenId: record.id, retiresAt: formerUntil } : undefined,
    outlived: overlaps ? at : Number.MAX_SAFE_INTEGER,
    facts: { formerCredentialUntil: overlaps ? formerUntil : null, ...shown },
  }
}

export const SUB_ACCOUNT_STATUSES = ['active', 'suspended'] as const
export type SubAccountStatus = (typeof SUB_ACCOUNT_STATUSES)[number]

export interface SubAccountUpdate {
  readonly name?: string
  readonly email?: string
  readonly companyName?: string
  readonly status?: SubAccountStatus
  /** A merge patch, as `metadata` is; null removes all of it. */
  readonly policy?: JsonObject | null
  readonly metadata?: JsonObject | null
}

const SUB_ACCOUNT_FIELDS = {
  name: nameField,
  email: emailField,
  companyName: nameField,
  status: oneOf(SUB_ACCOUNT_STATUSES),
}

export function readSubAccountPatch(body: unknown): SubAccountUpdate {
  return readPatch<SubAccountUpdate>(body, { ...SUB_ACCOUNT_FIELDS, policy: objectField, metadata: metadataField })
}

/** Sub-accounts have no version. This differs as soon as a field does that the history shows, and is their ETag. */
export function fingerprintOf(subAccount: SubAccount): string {
  const fields = SUB_ACCOUNTS.history.map((name) => subAccount[name])
  return createHash('sha256').update(JSON.stringify(fields)).digest('base64url')
}

export const STALE_SUB_ACCOUNT = 'The sub-account has changed since the version named in If-Match'

/** Suspending again keeps the time of the first suspension. */
export function applySubAccountUpdate<Row extends SubAccount>(
  record: Row,
  update: SubAccountUpdate,
  at: Timestamp,
): Row {
  const { status, ...rest } = update
  const fields = { ...rest, ...patchJson(record, rest, 'sub-account') }
  const suspendedAt = status === 'active' ? null : (record.suspendedAt ?? at)
  const changed = changedFields(record, status === undefined ? fields : { ...fields, suspendedAt })
  return changed === undefined ? record : { ...record, ...changed }
}

/** As JSON, after a merge patch. */
export const policyAfter = ({ policy }: SubAccount, patch: JsonObject | null): string | null =>
  patchPolicy(policy, patch, 'sub-account')

export function readPolicyChange(body: unknown): JsonObject | null {
  return readNew<{ readonly policy: JsonObject | null }>(body, { policy: objectField }, ['policy']).policy
}

export interface NewSubAccount extends Pick<SubAccount, 'name' | 'email' | 'companyName'> {
  readonly policy?: JsonObject | null
  readonly metadata?: JsonObject | null
}

/** A new sub-account's fields with their defaults. */
export function newSubAccountFields(subAccount: NewSubAccount) {
  const { name, email, companyName } = subAccount
  return { name, email, companyName, suspendedAt: null, ...NO_JSON, ...patchJson({}, subAccount, 'sub-account') }
}

export function readNewSubAccount(body: unknown): NewSubAccount {
  const { status: _, ...fields } = SUB_ACCOUNT_FIELDS
  return readNew<NewSubAccount>(body, { ...fields, policy: objectField, metadata: metadataField }, [
    'name',
    'email',
    'companyName',
  ])
}
