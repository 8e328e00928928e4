// Brings in tokens from a file, one JSON object a line. The whole file is checked before anything is written; what is
// then written goes in short transactions, so that a running server keeps answering, and a second run carries on.
import { createReadStream, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { Failure, OperatorError } from '../tokens/errors.ts'
import {
  type FieldReader,
  idField,
  nameField,
  readNew,
  repeatsField,
  statusField,
  timeField,
} from '../tokens/fields.ts'
import { type BulkToken, brokenCredentialRule, type Operator } from '../tokens/operator.ts'
import type { Status, Timestamp } from '../tokens/token.ts'
import type { Output } from './output.ts'
import { startProgress } from './progress.ts'

const BATCH = 500

interface ImportLine {
  readonly subAccountId: string
  readonly name: string
  readonly credential?: string
  readonly status?: Status
  readonly createdAt?: Timestamp
  readonly expiresAt?: Timestamp | null
}

export interface ImportCounts {
  lines: number
  imported: number
  /** Lines whose token is there already, from an earlier run. */
  unchanged: number
  bad: number
}

type Checked = { readonly token: BulkToken } | { readonly problem: string } | 'unchanged' | 'blank'

export async function importTokens(
  operator: Operator,
  file: string,
  skipBad: boolean,
  output: Output,
): Promise<ImportCounts> {
  if (!existsSync(file)) throw new OperatorError(`${file} does not exist`)
  const counts: ImportCounts = { lines: 0, imported: 0, unchanged: 0, bad: 0 }
  await forEachLine(operator, file, async (number, checked) => {
    if (checked === 'blank') return
    counts.lines++
    if (checked === 'unchanged') counts.unchanged++
    else if ('problem' in checked) {
      counts.bad++
      output.problem(`line ${number}: ${checked.problem}`)
    }
  })
  if (counts.bad > 0 && !skipBad) {
    throw new OperatorError(
      `${counts.bad} of ${counts.lines} lines are bad, so nothing was imported. Mend them, or add --skip-bad.`,
    )
  }
  await write(operator, file, counts, output)
  return counts
}

async function write(operator: Operator, file: string, counts: ImportCounts, output: Output): Promise<void> {
  const progress = startProgress(output, 'Tokens', counts.lines - counts.bad - counts.unchanged)
  let batch: { number: number; token: BulkToken }[] = []
  const flush = async () => {
    await writeBatch(operator, batch)
    counts.imported += batch.length
    progress.advance(batch.length)
    batch = []
  }
  try {
    await forEachLine(operator, file, async (number, checked) => {
      if (typeof checked === 'string' || 'problem' in checked) return
      batch.push({ number, token: checked.token })
      if (batch.length === BATCH) await flush()
    })
    await flush()
  } finally {
    progress.done()
  }
}

/** A line that was good when it was checked can have lost a race with another writer since: it is found and named. */
async function writeBatch(operator: Operator, batch: readonly { number: number; token: BulkToken }[]): Promise<void> {
  try {
    await operator.createTokens(batch.map(({ token }) => token))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    for (const { number, token } of batch) {
      await operator.createTokens([token]).catch((cause: Error) => {
        throw new OperatorError(
          `line ${number}: ${cause.message}. The lines before it are imported; mend it and run the import again.`,
        )
      })
    }
  }
}

async function forEachLine(
  operator: Operator,
  file: string,
  visit: (number: number, checked: Checked) => Promise<void>,
): Promise<void> {
  const check = makeChecker(operator)
  let number = 0
  for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
    await visit(++number, await check(text))
  }
}

/** Checks a line by itself, against the lines before it, and against the store. */
function makeChecker(operator: Operator): (text: string) => Promise<Checked> {
  const owners = new Map<string, string | undefined>()
  const names = new Set<string>()
  const credentials = new Set<string>()

  return async (text) => {
    if (text.trim() === '') return 'blank'
    try {
      const line = readLine(text)
      const { subAccountId, name, credential } = line
      if (!owners.has(subAccountId)) owners.set(subAccountId, await operator.findOwner(subAccountId))
      const accountId = owners.get(subAccountId)
      if (accountId === undefined) return { problem: `sub-account ${subAccountId} does not exist` }

      const sameName = await operator.findByName(subAccountId, name)
      const sameCredential = credential === undefined ? undefined : await operator.findByCredential(credential)
      if (sameName !== undefined && sameName.id === sameCredential?.id) return 'unchanged'
      if (sameName !== undefined) return { problem: 'Token name already exists for this sub-account' }
      if (sameCredential !== undefined) return { problem: 'This credential already belongs to a token' }

      const place = `${subAccountId} ${name}`
      if (names.has(place)) return { problem: 'the name stands in an earlier line for this sub-account' }
      if (credential !== undefined && credentials.has(credential)) {
        return { problem: 'the credential stands in an earlier line' }
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

/** A line in our own words, or a Token as the API returns it. */
function readLine(text: string): ImportLine {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Failure('invalid-request', 'not valid JSON')
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new Failure('invalid-request', 'not a JSON object')
  }
  if (repeatsField(text, value)) throw new Failure('invalid-request', 'a field is named twice')
  const { subAccount, token, ...line } = value as Record<string, unknown>
  const source = { subAccountId: (subAccount as { _id?: unknown } | undefined)?._id, credential: token, ...line }
  return readNew<ImportLine>(
    source,
    {
      subAccountId: idField,
      name: nameField,
      credential: credentialField,
      status: statusField,
      createdAt: creationField,
      expiresAt: timeField,
    },
    ['subAccountId', 'name'],
  )
}

const credentialField: FieldReader<string> = (value, field) => {
  if (typeof value !== 'string') return { state: 'unusable', message: `${field} must be a string` }
  const rule = brokenCredentialRule(value)
  return rule === undefined ? { state: 'valid', value } : { state: 'broken', message: `${field} ${rule}` }
}

/** Ids hold the time of creation in twelve hexadecimal digits, from 1970 on. */
const creationField: FieldReader<Timestamp> = (value, field) => {
  const time = timeField(value, field)
  if (time.state !== 'valid') return time
  if (time.value !== null && time.value >= 0) return { state: 'valid', value: time.value }
  return { state: 'unusable', message: `${field} must be a time after 1970` }
}
