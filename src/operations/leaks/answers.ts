// An account switches off what stands in a text. What others report is in http/plain/leak-reports.ts.
import { Failure } from '../../tokens/model/errors.ts'
import { type FieldReader, readNew } from '../../tokens/model/fields.ts'
import { type RawQuery, readOnce } from '../../tokens/model/page.ts'
import { flagField } from '../../tokens/model/permissions.ts'
import { readIdempotencyKey } from '../conditions.ts'
import type { Input, Service } from '../operation.ts'
import { leakToWire } from './document.ts'

export const NOT_A_FLAG = 'dryRun must be true or false'

export async function disableLeaked({ registry: { leaks } }: Service, input: Input) {
  const { caller, body, query, headers, origin } = input
  const [{ text, dryRun = false }, key] = [readLeakedText(body), readIdempotencyKey(headers)]
  const isDryRun = readDryRun(query) || dryRun
  const report = await leaks.texts.hold(caller.accountId, text.length, () =>
    leaks.endInText(caller, [text], isDryRun, origin, key),
  )
  const data = leakToWire(report)
  return { data, message: `Found ${data.found.length} leaked token(s), disabled ${data.disabled}` }
}

const textField: FieldReader<string> = (value, field) =>
  typeof value === 'string' ? { state: 'valid', value } : { state: 'unusable', message: `${field} must be a string` }

function readLeakedText(body: unknown): { readonly text: Uint8Array; readonly dryRun?: boolean } {
  if (body instanceof Uint8Array) return { text: body }
  const fields = readNew<{ text: string; dryRun?: boolean }>(body, { text: textField, dryRun: flagField }, ['text'])
  return { ...fields, text: Buffer.from(fields.text) }
}

function readDryRun(query: RawQuery): boolean {
  const value = readOnce(query, 'dryRun')
  if (value === undefined || value === 'false') return false
  if (value === 'true') return true
  throw new Failure('invalid-request', NOT_A_FLAG)
}
