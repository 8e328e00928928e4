// What is stored of a request with an idempotency key, and how a retry is recognised. A key belongs to the caller who sent it:
// nobody else learns of it or can take it.
import { createHash } from 'node:crypto'
import type { Caller } from './model/permissions.ts'
import type { TokenRecord } from './model/token.ts'
import { type NewToken, newTokenFields } from './model/update.ts'
import type { FormerRequest } from './ports.ts'
import { STAMP_BYTES, type Stamps } from './trust/vault.ts'

/** A request with an idempotency key. */
export interface AskedOnce {
  readonly caller: Caller
  readonly key: string
  /** Which operation it is; what was stored by one is never the answer to another. */
  readonly operation: 'creation'
  /** Of the fields that were sent. */
  readonly digest: string
}

export function creationOnce(caller: Caller, key: string, token: NewToken): AskedOnce {
  return { caller, key, operation: 'creation', digest: digestOf(token) }
}

/** Fields that are not set are left out, so that a field added later changes no digest that is stored. */
function digestOf(token: NewToken): string {
  const { subAccountId, name, status, expiresAt, ...added } = newTokenFields(token)
  const set = Object.entries(added).filter(([, value]) => value !== null)
  return createHash('sha256')
    .update(JSON.stringify([subAccountId, name, status, expiresAt, ...set]))
    .digest('hex')
}

/** What the request has made or changed. */
type Subject = Pick<TokenRecord, 'id' | 'createdAt'>
type Answer = Subject & Pick<TokenRecord, 'version' | 'digest'>

/**
 * Two stamps: one of the request and its subject, and one that includes the caller and the credential in the answer. Without
 * them, somebody who can write to the database could have any credential shown.
 */
export function stampRequest(asked: AskedOnce, answer: Answer, stamps: Stamps): string {
  return [requestFields(asked, answer), answerFields(asked, answer)]
    .map((fields) => stamps.stampRow(fields).toString('hex'))
    .join('')
}

export function isSameRequest(asked: AskedOnce, former: FormerRequest, stamps: Stamps): boolean {
  const { subject: id, createdAt, requestDigest } = former
  const stamp = Buffer.from(requestDigest, 'hex').subarray(0, STAMP_BYTES)
  return stamps.isRowStamp(stamp, requestFields(asked, { id, createdAt }))
}

/** Whether this is what the first request was answered with. */
export function isSameAnswer(asked: AskedOnce, former: FormerRequest, answer: Answer, stamps: Stamps): boolean {
  const stamp = Buffer.from(former.requestDigest, 'hex').subarray(STAMP_BYTES)
  return stamps.isRowStamp(stamp, answerFields(asked, answer))
}

function requestFields({ caller, key, operation, digest }: AskedOnce, { id, createdAt }: Subject) {
  return [operation, caller.accountId, key, digest, id, createdAt]
}

function answerFields(asked: AskedOnce, answer: Answer) {
  return [...requestFields(asked, answer), asked.caller.by, answer.version, answer.digest]
}
