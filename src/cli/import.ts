// Imports tokens from a file, one JSON object per line. The whole file is checked before anything is written. Writing uses
// short transactions, so that a running server keeps responding, and a second run continues where the first ended.
import { createReadStream, statSync } from 'node:fs'
import { Failure, OperatorError, reasonOf } from '../tokens/errors.ts'
import { decodeText, type FieldReader, idField, readNew, repeatsField, timeField } from '../tokens/model/fields.ts'
import type { Account, Timestamp } from '../tokens/model/token.ts'
import { newTokenFields, TOKEN_FIELDS } from '../tokens/model/update.ts'
import { type BulkToken, brokenCredentialRule, type Operator } from '../tokens/operator.ts'
import { Recent } from '../tokens/recent.ts'
import { isObject } from '../tokens/verify/is-object.ts'
import type { Output } from './output.ts'
import { startBytes, startProgress } from './progress.ts'
import { SeenTexts } from './seen-texts.ts'
import { Waiting } from './waiting.ts'

const BATCH = 200
/** Sub-accounts whose accounts are remembered. */
const MAX_OWNERS = 20_000

type ImportLine = Omit<BulkToken, 'accountId'>

interface ImportCounts {
  lines: number
  imported: number
  /** Lines that an earlier run has imported. */
  unchanged: number
  bad: number
}

type Checked = { readonly token: BulkToken } | { readonly problem: string } | 'unchanged' | 'blank'

interface Line {
  readonly number: number
  readonly bytes: number
  readonly checked: Checked
}

interface GoodLine {
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
  const { lines, bad, unchanged: alreadyThere } = await checkAll(operator, file, found.size, output)
  if (bad.size > 0 && !skipBad) {
    throw new OperatorError(
      `${bad.size} of ${lines} lines are bad, so nothing was imported. Fix them, or add --skip-bad.`,
    )
  }
  const wanted = lines - bad.size - alreadyThere
  const progress = startProgress(output, 'Tokens', wanted)
  let imported = 0
  const onImported = (count: number) => {
    imported += count
    progress.advance(count)
  }
  try {
    const unchanged = await write(operator, file, bad, onImported)
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

/** Reports every bad line. Nothing is written. */
async function checkAll(operator: Operator, file: string, bytes: number, output: Output) {
  const bad = new Set<number>()
  let [lines, unchanged] = [0, 0]
  const isRepeated = makeRepeatCheck()
  const progress = startBytes(output, 'Checking', bytes)
  const visit = (batch: readonly Line[]) => {
    progress.advance(batch.reduce((sum, line) => sum + line.bytes, 0))
    for (const { number, checked } of batch) {
      if (checked === 'blank') continue
      lines++
      if (checked === 'unchanged') unchanged++
      else {
        const problem = 'problem' in checked ? checked.problem : isRepeated(checked.token)
        if (problem === undefined) continue
        bad.add(number)
        // The bar would stand on the same line.
        progress.done()
        output.stderr(`line ${number}: ${problem}`)
      }
    }
  }
  await forEachBatch(operator, file, true, visit).finally(() => progress.done())
  return { lines, bad, unchanged }
}

/** Returns how many lines were imported by an earlier run, or by somebody else meanwhile. */
async function write(
  operator: Operator,
  file: string,
  bad: ReadonlySet<number>,
  onImported: (count: number) => void,
): Promise<number> {
  let unchanged = 0
  const waiting = new Waiting()
  try {
    // A credential that was taken meanwhile is refused by the store.
    await forEachBatch(operator, file, false, async (batch) => {
      const good: GoodLine[] = []
      for (const { number, checked } of batch) {
        if (checked === 'unchanged') unchanged++
        else if (checked === 'blank' || bad.has(number)) continue
        else if ('token' in checked) good.push({ number, token: checked.token })
        else {
          await waiting.all()
          await writeBatch(operator, good, onImported)
          throw lostRace(number, checked.problem)
        }
      }
      const writing = writeBatch(operator, good, onImported)
      await waiting.add(
        writing.then((there) => {
          unchanged += there
        }),
      )
    })
    await waiting.all()
  } finally {
    await waiting.ended()
  }
  return unchanged
}

/** Failures that one line can cause. After any other failure it is unknown what was written, so nothing is retried. */
const LINE_FAILURES = new Set<Failure['code']>(['duplicate-name', 'duplicate-credential', 'sub-account-forbidden'])

/** Returns how many lines somebody else has brought in since they were checked. */
async function writeBatch(
  operator: Operator,
  batch: readonly GoodLine[],
  onImported: (count: number) => void,
): Promise<number> {
  try {
    await operator.createTokens(batch.map(({ token }) => token))
    onImported(batch.length)
    return 0
  } catch (error) {
    if (!isOfLine(error)) throw error
  }
  let unchanged = 0
  for (const { number, token } of batch) {
    try {
      await operator.createTokens([token])
      onImported(1)
    } catch (error) {
      if (!isOfLine(error)) throw error
      if ((await compareWithStore(operator, [token]))[0] !== 'unchanged') throw lostRace(number, error.message)
      unchanged++
    }
  }
  return unchanged
}

function isOfLine(error: unknown): error is Failure {
  return error instanceof Failure && LINE_FAILURES.has(error.code)
}

/** For a line that was valid when it was checked, before another writer took its name or credential. */
function lostRace(number: number, problem: string): OperatorError {
  return new OperatorError(
    `line ${number}: ${problem}. The lines before it are imported; fix it and run the import again.`,
  )
}

/** The lines of a batch are checked together. */
async function forEachBatch(
  operator: Operator,
  file: string,
  looksForCredentials: boolean,
  visit: (batch: readonly Line[]) => Promise<void> | void,
): Promise<void> {
  const check = makeChecker(operator, looksForCredentials)
  let first = 1
  let batch: Buffer[] = []
  const flush = async () => {
    const checked = await check(batch)
    await visit(batch.map((line, n) => ({ number: first + n, bytes: line.length + 1, checked: checked[n] ?? 'blank' })))
    first += batch.length
    batch = []
  }
  for await (const line of linesOf(file)) {
    batch.push(line)
    if (batch.length === BATCH) await flush()
  }
  await flush()
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

/** Checks each line by itself, and against the store. */
function makeChecker(operator: Operator, looksForCredentials: boolean) {
  const owners = new Recent<string, Promise<Account | undefined>>(MAX_OWNERS)
  const findOwner = async (subAccountId: string) => {
    const accountId = await operator.findOwner(subAccountId)
    return accountId === undefined ? undefined : operator.getAccount(accountId)
  }
  const ownerOf = (subAccountId: string) => {
    const known = owners.get(subAccountId) ?? findOwner(subAccountId)
    owners.set(subAccountId, known)
    return known
  }

  const checkAlone = async (bytes: Buffer): Promise<Checked> => {
    try {
      const text = decodeText(bytes)
      if (text === undefined) return { problem: 'not valid UTF-8' }
      if (text.trim() === '') return 'blank'
      const line = readLine(text)
      // Rejects invalid metadata or an invalid policy for this line, instead of for the whole batch.
      newTokenFields(line)
      const account = await ownerOf(line.subAccountId)
      if (account === undefined) return { problem: `sub-account ${line.subAccountId} does not exist` }
      if (account.credentials === 'once' && line.credential === undefined) {
        return { problem: `credential is required: ${account.id} stores none, and an import shows no new ones` }
      }
      return { token: { ...line, accountId: account.id } }
    } catch (error) {
      if (error instanceof Failure && error.code === 'invalid-request') return { problem: error.message }
      throw error
    }
  }

  return async (lines: readonly Buffer[]): Promise<Checked[]> => {
    const checked = await Promise.all(lines.map(checkAlone))
    const tokenOf = (each: Checked) => (typeof each === 'object' && 'token' in each ? each.token : undefined)
    const tokens = checked.map(tokenOf).filter((token) => token !== undefined)
    const found = await compareWithStore(operator, tokens, looksForCredentials)
    const taken = new Map<BulkToken | undefined, Checked | undefined>(tokens.map((token, n) => [token, found[n]]))
    return checked.map((each) => taken.get(tokenOf(each)) ?? each)
  }
}

/**
 * Undefined if neither the name nor, where it is looked for, the credential is taken. Names first: a token that is found by its
 * name is then found by its credential too, even if another process has just created it.
 */
async function compareWithStore(operator: Operator, tokens: readonly BulkToken[], looksForCredentials = true) {
  const sameNames = await operator.findByNames(tokens.map(({ subAccountId, name }) => ({ subAccountId, name })))
  return Promise.all(
    tokens.map(async ({ credential }, n): Promise<'unchanged' | { readonly problem: string } | undefined> => {
      const sameName = sameNames[n]
      const isLookedFor = credential !== undefined && (looksForCredentials || sameName !== undefined)
      const sameCredential = isLookedFor ? await operator.findByCredential(credential) : undefined
      if (sameName !== undefined && sameName.id === sameCredential?.id) return 'unchanged'
      if (sameName !== undefined) return { problem: reasonOf('duplicate-name') }
      return sameCredential && { problem: reasonOf('duplicate-credential') }
    }),
  )
}

/** Compares a line with the good lines before it. */
function makeRepeatCheck(): (token: BulkToken) => string | undefined {
  const names = new SeenTexts()
  const credentials = new SeenTexts()
  return ({ subAccountId, name, credential }) => {
    const place = `${subAccountId} ${name}`
    if (names.has(place)) return 'an earlier line has the same name for this sub-account'
    if (credential !== undefined && !credentials.add(credential)) return 'an earlier line has the same credential'
    names.add(place)
    return undefined
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
  const { subAccount, token, details, _id, ...line } = value as Record<string, unknown>
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
