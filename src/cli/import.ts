// Imports tokens from a file, one JSON object per line. The whole file is checked before anything is written. Writing uses
// short transactions, so that a running server keeps responding, and a second run continues where the first ended.
import { createReadStream, statSync } from 'node:fs'
import { Failure, OperatorError, reasonOf } from '../tokens/errors.ts'
import {
  decodeText,
  type FieldReader,
  idField,
  isObject,
  nameField,
  objectField,
  readNew,
  repeatsField,
  statusField,
  tagsField,
  timeField,
} from '../tokens/model/fields.ts'
import type { Timestamp } from '../tokens/model/token.ts'
import { newTokenFields } from '../tokens/model/update.ts'
import { type BulkToken, brokenCredentialRule, type Operator } from '../tokens/operator.ts'
import type { Output } from './output.ts'
import { startProgress } from './progress.ts'

const BATCH = 500

type ImportLine = Omit<BulkToken, 'accountId'>

export interface ImportCounts {
  lines: number
  imported: number
  /** Lines that an earlier run has imported. */
  unchanged: number
  bad: number
}

type Checked = { readonly token: BulkToken } | { readonly problem: string } | 'unchanged' | 'blank'

interface Line {
  readonly number: number
  readonly token: BulkToken
}

export async function importTokens(
  operator: Operator,
  file: string,
  skipBad: boolean,
  output: Output,
): Promise<ImportCounts> {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) throw new OperatorError(`${file} does not exist`)
  if (!found.isFile()) throw new OperatorError(`${file} is not a file that can be read twice. Write it to one first.`)
  const bad = new Set<number>()
  let [lines, unchanged] = [0, 0]
  await forEachLine(operator, file, async (number, checked) => {
    if (checked === 'blank') return
    lines++
    if (checked === 'unchanged') unchanged++
    else if ('problem' in checked) {
      bad.add(number)
      output.stderr(`line ${number}: ${checked.problem}`)
    }
  })
  if (bad.size > 0 && !skipBad) {
    throw new OperatorError(
      `${bad.size} of ${lines} lines are bad, so nothing was imported. Fix them, or add --skip-bad.`,
    )
  }
  const wanted = lines - bad.size - unchanged
  const progress = startProgress(output, 'Tokens', wanted)
  let imported = 0
  const onImported = (count: number) => {
    imported += count
    progress.advance(count)
  }
  try {
    unchanged = await write(operator, file, bad, onImported)
    return { lines, bad: bad.size, imported, unchanged }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new OperatorError(
      `The import ended after ${imported} of ${wanted} tokens, which are kept; run it again to continue. ${error.message}.`,
    )
  } finally {
    progress.done()
  }
}

/** Returns how many lines were imported by an earlier run. */
async function write(
  operator: Operator,
  file: string,
  bad: ReadonlySet<number>,
  onImported: (count: number) => void,
): Promise<number> {
  let unchanged = 0
  let batch: Line[] = []
  const flush = async () => {
    await writeBatch(operator, batch)
    onImported(batch.length)
    batch = []
  }
  await forEachLine(operator, file, async (number, checked) => {
    if (checked === 'unchanged') unchanged++
    else if (checked === 'blank' || bad.has(number)) return
    else if ('token' in checked) batch.push({ number, token: checked.token })
    else {
      await flush()
      throw lostRace(number, checked.problem)
    }
    if (batch.length === BATCH) await flush()
  })
  await flush()
  return unchanged
}

/** Failures that one line can cause. After any other failure it is unknown what was written, so nothing is retried. */
const LINE_FAILURES = new Set<Failure['code']>(['duplicate-name', 'duplicate-credential', 'sub-account-forbidden'])

async function writeBatch(operator: Operator, batch: readonly Line[]): Promise<void> {
  try {
    await operator.createTokens(batch.map(({ token }) => token))
  } catch (error) {
    if (!(error instanceof Failure) || !LINE_FAILURES.has(error.code)) throw error
    for (const { number, token } of batch) {
      await operator.createTokens([token]).catch((cause: Error) => {
        throw lostRace(number, cause.message)
      })
    }
  }
}

/** For a line that was valid when it was checked, before another writer took its name or credential. */
function lostRace(number: number, problem: string): OperatorError {
  return new OperatorError(
    `line ${number}: ${problem}. The lines before it are imported; fix it and run the import again.`,
  )
}

async function forEachLine(
  operator: Operator,
  file: string,
  visit: (number: number, checked: Checked) => Promise<void>,
): Promise<void> {
  const check = makeChecker(operator)
  let number = 0
  for await (const line of linesOf(file)) await visit(++number, await check(line))
}

/** Not node:readline: it also splits lines at U+2028, which JSON strings may contain, and accepts invalid UTF-8. */
async function* linesOf(file: string): AsyncGenerator<Buffer> {
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

/** Checks each line by itself, against the lines before it, and against the store. */
function makeChecker(operator: Operator): (line: Buffer) => Promise<Checked> {
  const owners = new Map<string, string | undefined>()
  const names = new Set<string>()
  const credentials = new Set<string>()

  return async (bytes) => {
    try {
      const text = decodeText(bytes)
      if (text === undefined) return { problem: 'not valid UTF-8' }
      if (text.trim() === '') return 'blank'
      const line = readLine(text)
      const { subAccountId, name, credential } = line
      // Refuses what is too long, or no policy, for this line instead of for the whole batch.
      newTokenFields(line)
      if (!owners.has(subAccountId)) owners.set(subAccountId, await operator.findOwner(subAccountId))
      const accountId = owners.get(subAccountId)
      if (accountId === undefined) return { problem: `sub-account ${subAccountId} does not exist` }

      const sameName = await operator.findByName(subAccountId, name)
      const sameCredential = credential === undefined ? undefined : await operator.findByCredential(credential)
      if (sameName !== undefined && sameName.id === sameCredential?.id) return 'unchanged'
      if (sameName !== undefined) return { problem: reasonOf('duplicate-name') }
      if (sameCredential !== undefined) return { problem: reasonOf('duplicate-credential') }

      const place = `${subAccountId} ${name}`
      if (names.has(place)) return { problem: 'an earlier line has the same name for this sub-account' }
      if (credential !== undefined && credentials.has(credential)) {
        return { problem: 'an earlier line has the same credential' }
      }
      names.add(place)
      if (credential !== undefined) credentials.add(credential)
      return { token: { ...line, accountId } }
    } catch (error) {
      if (error instanceof Failure && error.code === 'invalid-request') return { problem: error.message }
      throw error
    }
  }
}

/** Accepts the import format, or a Token as the API returns it, with or without details. */
function readLine(text: string): ImportLine {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Failure('invalid-request', 'not valid JSON')
  }
  if (!isObject(value)) throw new Failure('invalid-request', 'not a JSON object')
  if (repeatsField(text, value)) throw new Failure('invalid-request', 'a field is repeated')
  const { subAccount, token, details, ...line } = value as Record<string, unknown>
  const source = {
    subAccountId: (subAccount as { _id?: unknown } | undefined)?._id,
    credential: token,
    ...pickOf(details, ['expiresAt', 'metadata', 'tags', 'policy']),
    ...line,
  }
  return readNew<ImportLine>(
    source,
    {
      subAccountId: idField,
      name: nameField,
      credential: credentialField,
      status: statusField,
      createdAt: creationField,
      expiresAt: timeField,
      metadata: objectField,
      tags: tagsField,
      policy: objectField,
    },
    ['subAccountId', 'name'],
  )
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
