// What is stored of a request with an idempotency key, and how a retry is recognised. A key belongs to the caller who sent it:
// nobody else learns of it or can take it.
import { createHash } from 'node:crypto'
import type { Idempotency, KeptRequest, Origin } from '../history/history.ts'
import { Failure } from '../model/errors.ts'
import type { Caller } from '../model/permissions.ts'
import type { TokenRecord } from '../model/token.ts'
import { type NewToken, newTokenFields } from '../model/update.ts'
import type { RequestStore } from '../service/ports.ts'
import type { Parts } from '../trust/parts.ts'
import { STAMP_BYTES, type Stamps } from '../trust/vault.ts'

type Operation =
  | ('creation' | 'rotation' | 'reveal' | 'sub-account' | 'key' | 'leak' | 'webhook' | 'bulk' | 'bulk-undo')
  | `webhook-${'rotation' | 'redeliver' | 'skip'}`

/** A request with an idempotency key. */
export interface AskedOnce {
  readonly caller: Caller
  readonly key: string
  /** Which operation it is; what was stored by one is never the answer to another. */
  readonly operation: Operation
  /** Of the fields that were sent. */
  readonly digest: string
}

/** Undefined without a key. */
export function askedOnce(
  caller: Caller,
  key: string | undefined,
  operation: Operation,
  fields: readonly unknown[],
): AskedOnce | undefined {
  if (key === undefined) return undefined
  return { caller, key, operation, digest: createHash('sha256').update(JSON.stringify(fields)).digest('hex') }
}

/** Fields that are not set are left out, so that a field added later changes no digest that is stored. */
export function creationFields(token: NewToken): readonly unknown[] {
  const { subAccountId, name, status, expiresAt, ...added } = newTokenFields(token)
  const set = Object.entries(added).filter(([, value]) => value !== null)
  return [subAccountId, name, status, expiresAt, ...set]
}

/**
 * Makes a change. If it was asked for before with the same idempotency key, nothing is changed, and `again` answers what the first
 * request was answered with.
 */
export async function once<Result>(
  { store, stamps }: Pick<Parts<RequestStore>, 'store' | 'stamps'>,
  asked: AskedOnce | undefined,
  origin: Origin,
  answer: Answer,
  change: (origin: Origin) => Promise<Result>,
  again: (former: KeptRequest, asked: AskedOnce) => Promise<Result>,
): Promise<Result> {
  if (asked === undefined) return change(origin)
  try {
    return await change({ ...origin, once: requestStamp(asked, answer, stamps) })
  } catch (error) {
    if (!(error instanceof Failure && error.code === 'idempotency-conflict')) throw error
    const former = await findFormer({ store, stamps }, asked, origin.by)
    if (former === undefined) throw error
    return again(former, asked)
  }
}

/** What is stored with the change that a request makes. */
export function requestStamp(asked: AskedOnce, answer: Answer, stamps: Stamps): Idempotency {
  const { accountId } = asked.caller
  return { accountId, key: asked.key, requestDigest: stampRequest(asked, answer, stamps) }
}

/** The same request, made before. Rejects if the key was used for another one. */
export async function findFormer(
  { store, stamps }: Pick<Parts<RequestStore>, 'store' | 'stamps'>,
  asked: AskedOnce,
  by: string,
): Promise<KeptRequest | undefined> {
  const former = await store.findRequest(asked.caller.accountId, by, asked.key)
  if (former !== undefined && !isSameRequest(asked, former, stamps)) throw new Failure('idempotency-conflict')
  return former
}

/** What the request has made or changed. */
type Subject = Pick<TokenRecord, 'id' | 'createdAt'>
type Answer = Subject & Partial<Pick<TokenRecord, 'version' | 'digest'>>

/**
 * Two stamps: one of the request and its subject, and one that includes the caller and the credential in the answer. Without
 * them, somebody who can write to the database could have any credential shown.
 */
function stampRequest(asked: AskedOnce, answer: Answer, stamps: Stamps): string {
  return [requestFields(asked, answer), answerFields(asked, answer)]
    .map((fields) => stamps.stampRow(fields).toString('hex'))
    .join('')
}

function isSameRequest(asked: AskedOnce, former: KeptRequest, stamps: Stamps): boolean {
  const { subject: id, createdAt, requestDigest } = former
  const stamp = Buffer.from(requestDigest, 'hex').subarray(0, STAMP_BYTES)
  return stamps.isRowStamp(stamp, requestFields(asked, { id, createdAt }))
}

/** Whether this is what the first request was answered with. */
export function isSameAnswer(asked: AskedOnce, former: KeptRequest, answer: Answer, stamps: Stamps): boolean {
  const stamp = Buffer.from(former.requestDigest, 'hex').subarray(STAMP_BYTES)
  return stamps.isRowStamp(stamp, answerFields(asked, answer))
}

function requestFields({ caller, key, operation, digest }: AskedOnce, { id, createdAt }: Subject) {
  return [operation, caller.accountId, key, digest, id, createdAt]
}

function answerFields(asked: AskedOnce, answer: Answer) {
  return [...requestFields(asked, answer), asked.caller.by, answer.version ?? null, answer.digest ?? null]
}
