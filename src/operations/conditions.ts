// Conditional requests (a token's ETag is its version, a sub-account's is made of its fields), and idempotency keys.

import type { Expected } from '../tokens/changes/plan.ts'
import { Failure } from '../tokens/model/errors.ts'

export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>

export function etagOf(tag: number | string): string {
  return `"${tag}"`
}

/** The tags without their quotes; undefined without the header, or for `*`. A weak tag matches none (RFC 9110, 8.8.3.2). */
export function readIfMatch(headers: RequestHeaders): readonly string[] | undefined {
  const header = headers['if-match']
  if (header === undefined) return undefined
  if (typeof header !== 'string') throw new Failure('invalid-request', 'If-Match must be sent only once')
  if (header.trim() === '*') return undefined
  return header.split(',').flatMap((tag) => /^\s*"(.*)"\s*$/.exec(tag)?.[1] ?? [])
}

export function readVersions(headers: RequestHeaders): Expected {
  const tags = readIfMatch(headers)
  return tags && { versions: tags.filter((tag) => /^(0|[1-9][0-9]{0,14})$/.test(tag)).map(Number) }
}

/** Whether GET responds 304 (RFC 9110, 13.1.2; weak comparison). */
export function isNotModified(headers: RequestHeaders, etag: string): boolean {
  const header = headers['if-none-match']
  if (typeof header !== 'string') return false
  const tags = header.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes('*') || tags.includes(etag)
}

export function readIdempotencyKey(headers: RequestHeaders): string | undefined {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key === 'string' && /^[\x20-\x7e]{1,255}$/.test(key)) return key
  throw new Failure('invalid-request', 'Idempotency-Key must be 1 to 255 printable characters')
}
