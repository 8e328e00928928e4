// A file to import: one JSON object per line.
import { createReadStream } from 'node:fs'
import { Failure, OperatorError } from '../../tokens/model/errors.ts'
import { type FieldReader, idField, readNew, repeatsField, timeField } from '../../tokens/model/fields.ts'
import type { Timestamp } from '../../tokens/model/token.ts'
import { TOKEN_FIELDS } from '../../tokens/model/update.ts'
import { type BulkToken, brokenCredentialRule } from '../../tokens/service/operator.ts'
import { isObject } from '../../tokens/verify/is-object.ts'

type ImportLine = Omit<BulkToken, 'accountId'>

/** Refuses a file of another format, such as CSV, before each of its lines is reported as bad. */
export async function requireObjects(file: string): Promise<void> {
  for await (const line of linesOf(file)) {
    const text = line.toString().trim()
    if (text.startsWith('{')) return
    if (text === '') continue
    throw new OperatorError(
      `${file} is not NDJSON: its first line is no JSON object. Each line must be one, such as ` +
        '{"subAccountId":"sub_…","name":"CI","credential":"…"}; nothing was imported. See docs/guides/moving-in.md.',
    )
  }
}

/** Not node:readline: it also splits lines at U+2028, which JSON strings may contain, and accepts invalid UTF-8. */
export async function* linesOf(file: string): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = []
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    let start = 0
    for (let end = chunk.indexOf('\n'); end >= 0; end = chunk.indexOf('\n', start)) {
      yield Buffer.concat([...pieces, chunk.subarray(start, end)])
      pieces = []
      start = end + 1
    }
    pieces.push(chunk.subarray(start))
  }
  yield Buffer.concat(pieces)
}

/** Accepts the import format, or a Token as the API returns it but without its id, with or without details. */
export function readLine(text: string): ImportLine {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Failure('invalid-request', 'not valid JSON')
  }
  if (!isObject(value)) throw new Failure('invalid-request', 'not a JSON object')
  if (repeatsField(text, value)) throw new Failure('invalid-request', 'a field is repeated')
  const { subAccount, token, details, ...line } = value as Record<string, unknown>
  if ('_id' in line) throw new Failure('invalid-request', '_id is not kept: every token gets a new one. Leave it out')
  const unknown = Object.keys(line).find((name) => !Object.hasOwn(LINE_FIELDS, name))
  if (unknown !== undefined) throw new Failure('invalid-request', `unknown field ${JSON.stringify(unknown)}`)
  const source = {
    subAccountId: (subAccount as { _id?: unknown } | undefined)?._id,
    credential: token,
    ...pickOf(details, ['expiresAt', 'metadata', 'tags', 'policy']),
    ...line,
  }
  return readNew<ImportLine>(source, LINE_FIELDS, ['subAccountId', 'name'])
}

function pickOf(source: unknown, names: readonly string[]): object {
  const entries = Object.entries(isObject(source) ? source : {})
  return Object.fromEntries(entries.filter(([name]) => names.includes(name)))
}

const credentialField: FieldReader<string> = (value, field) => {
  if (typeof value !== 'string') return { state: 'unusable', message: `${field} must be a string` }
  const rule = brokenCredentialRule(value)
  return rule === undefined ? { state: 'valid', value } : { state: 'broken', message: `${field} ${rule}` }
}

/** Ids contain the time of creation, from 1970 on, in twelve hexadecimal digits. */
const creationField: FieldReader<Timestamp> = (value, field) => {
  const time = timeField(value, field)
  if (time.state !== 'valid') return time
  if (time.value !== null && time.value >= 0) return { state: 'valid', value: time.value }
  return { state: 'unusable', message: `${field} must be a time after 1970` }
}

const LINE_FIELDS = {
  subAccountId: idField,
  ...TOKEN_FIELDS,
  credential: credentialField,
  createdAt: creationField,
}
