// Leaked credentials: an account switches off what stands in a text. What others report is in leak-report-routes.ts.
import { Type } from 'typebox'
import { leakToWire } from '../../operations/leaks/document.ts'
import { Failure, reasonOf } from '../../tokens/errors.ts'
import { IN_UTF_16 } from '../../tokens/leaks/candidates.ts'
import { type FieldReader, readNew } from '../../tokens/model/fields.ts'
import { readOnce } from '../../tokens/model/page.ts'
import { flagField } from '../../tokens/model/permissions.ts'
import { JSON_TYPE, TEXT_TYPE } from '../protocol/body.ts'
import { readIdempotencyKey } from '../protocol/conditions.ts'
import { type AccountRoute, IDEMPOTENCY_KEY, type RouteInput } from './route.ts'
import * as schemas from './schemas.ts'

const MAX_TEXT_BYTES = 10 * 1024 * 1024

/** Of all texts that are searched at the same time; one account can take half of it. */
const MAX_TEXTS_BYTES = 4 * MAX_TEXT_BYTES
const TOO_MANY = 'Too many texts are searched at the same time; try again'

const { _id, name, subAccount, status } = schemas.Token.properties
const LeakedToken = Type.Object(
  {
    ...{ _id, name, subAccount, status },
    wasActive: Type.Boolean({ description: 'Whether the credential was accepted until now', examples: [true] }),
  },
  { title: 'LeakedToken' },
)
const LeakReport = Type.Object(
  {
    found: Type.Array(LeakedToken, { description: 'The tokens whose credentials stand in the text, each once' }),
    disabled: Type.Integer({ description: 'How many of them were switched off', examples: [1] }),
  },
  { title: 'LeakReport' },
)

const textField: FieldReader<string> = (value, field) =>
  typeof value === 'string' ? { state: 'valid', value } : { state: 'unusable', message: `${field} must be a string` }

const NOT_A_FLAG = 'dryRun must be true or false'

export function leakRoute(): AccountRoute {
  const texts = new TextsInMemory()
  return {
    ...described,
    async answer(registry, { caller, body, query, headers, origin }) {
      const [{ text, dryRun = false }, key] = [readLeakedText(body), readIdempotencyKey(headers)]
      const isDryRun = readDryRun(query) || dryRun
      const report = await texts.hold(caller.accountId, text.length, () =>
        registry.leaks.endInText(caller, [text], isDryRun, origin, key),
      )
      const data = leakToWire(report)
      return { data, message: `Found ${data.found.length} leaked token(s), disabled ${data.disabled}` }
    },
  }
}

/** Limits the memory of texts: a search takes longer than it takes to send another one. */
class TextsInMemory {
  readonly #bytes = new Map<string, number>()

  async hold<Result>(accountId: string, size: number, work: () => Promise<Result>): Promise<Result> {
    const ofAccount = this.#bytes.get(accountId) ?? 0
    const all = this.#bytes.values().reduce((sum, bytes) => sum + bytes, 0)
    if (all + size > MAX_TEXTS_BYTES || ofAccount + size > MAX_TEXTS_BYTES / 2) {
      throw new Failure('unavailable', TOO_MANY)
    }
    this.#bytes.set(accountId, ofAccount + size)
    try {
      return await work()
    } finally {
      const left = (this.#bytes.get(accountId) ?? 0) - size
      if (left > 0) this.#bytes.set(accountId, left)
      else this.#bytes.delete(accountId)
    }
  }
}

const described: Omit<AccountRoute, 'answer'> = {
  method: 'POST',
  url: '/api/v1/apiClient/leak',
  operationId: 'disableLeaked',
  summary: 'Switch off the tokens whose credentials stand in a text',
  description:
    'Any text: a log, a diff, the report of a scanner. Credentials of our own format are found as they are, percent-encoded and in ' +
    'base64, imported ones as whole words; so are former ones that still work. With the type `text/plain` the body is the text itself. ' +
    'No part of it is stored or logged. A dry run needs only the right to read.',
  tag: 'Leaks',
  right: 'read',
  consumes: [JSON_TYPE, TEXT_TYPE],
  bodyLimitBytes: MAX_TEXT_BYTES,
  headers: Type.Object(IDEMPOTENCY_KEY),
  querystring: Type.Object({
    dryRun: Type.Optional(Type.Boolean({ description: 'The same as in the body, for a body that is the text itself' })),
  }),
  body: Type.Object(
    {
      text: Type.String({ description: 'What is searched' }),
      dryRun: Type.Optional(Type.Boolean({ default: false, description: 'Find only, and change nothing' })),
    },
    { title: 'LeakedText' },
  ),
  data: LeakReport,
  success: { message: 'Found 1 leaked token(s), disabled 1' },
  failures: {
    400: ['text is required', NOT_A_FLAG, IN_UTF_16],
    403: ['This key is not allowed to change tokens and sub-accounts'],
    409: [reasonOf('idempotency-conflict')],
    503: [TOO_MANY],
  },
}

function readLeakedText(body: unknown): { readonly text: Uint8Array; readonly dryRun?: boolean } {
  if (body instanceof Uint8Array) return { text: body }
  const fields = readNew<{ text: string; dryRun?: boolean }>(body, { text: textField, dryRun: flagField }, ['text'])
  return { ...fields, text: Buffer.from(fields.text) }
}

function readDryRun(query: RouteInput['query']): boolean {
  const value = readOnce(query, 'dryRun')
  if (value === undefined || value === 'false') return false
  if (value === 'true') return true
  throw new Failure('invalid-request', NOT_A_FLAG)
}
