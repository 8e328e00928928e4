// Reads the values of options and of standard input, by the same rules as over HTTP.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { isPlainHttp, serverUrl } from '../../config.ts'
import { OperatorError } from '../../tokens/model/errors.ts'
import { emailField, type FieldReader, nameField, statusField } from '../../tokens/model/fields.ts'
import { parseTime, UNITS_MS } from '../../tokens/model/times.ts'
import { STATUSES, type Timestamp } from '../../tokens/model/token.ts'
import { brokenCredentialRule } from '../../tokens/service/operator.ts'
import { UsageError } from './exit-codes.ts'
import type { Output, Streams } from './output.ts'

const valid =
  <Value>(read: FieldReader<Value>) =>
  (text: string): Value => {
    const result = read(text, 'It')
    if (result.state !== 'valid') throw new InvalidArgumentError(`${result.message}.`)
    return result.value
  }

export const readName = valid(nameField)
export const readEmail = valid(emailField)
export const readStatus = valid(statusField)

/** No InvalidArgumentError: commander would print the value, which may be a secret. */
export function readNewCredential(text: string, source = 'The value of --credential'): string {
  const rule = brokenCredentialRule(text)
  if (rule !== undefined) throw new OperatorError(`${source} ${rule}.`)
  return text
}

/** No InvalidArgumentError: commander would print the address, which may hold a password. */
export function readServer(text: string): string {
  try {
    return serverUrl(text, '--server')
  } catch (error) {
    throw error instanceof OperatorError ? new UsageError(error.message) : error
  }
}

export function warnOfPlainHttp(output: Output, server: string): void {
  if (!isPlainHttp(server)) return
  output.stderr(`Warning: without https:// anybody between this machine and ${server} can read the account key.`)
}

export async function readCredentialInput(streams: Streams): Promise<string> {
  return readNewCredential(await readSecretInput(streams, 'credential'), 'The credential on standard input')
}

/** More than the longest credential or JWT, so that a longer one is refused rather than cut. */
const MAX_SECRET_INPUT = 16_384

/** From standard input only: other users can see the arguments of a command, and shells remember them. */
export async function readSecretInput({ stdin, stderr }: Streams, what: string): Promise<string> {
  if (stdin?.isTTY) stderr.write(`Paste the ${what}, press Enter, then Ctrl-D.\n`)
  let text = ''
  for await (const chunk of stdin ?? []) {
    text += chunk
    if (text.length > MAX_SECRET_INPUT) break
  }
  return text.trim()
}

/** True for yes. Null where nobody can be asked. */
export async function confirm({ stdin, stderr }: Streams, question: string): Promise<boolean | null> {
  if (stdin?.isTTY !== true) return null
  stderr.write(`${question} [y/N] `)
  for await (const chunk of stdin) return /^y(es)?$/i.test(String(chunk).trim())
  return false
}

export interface Expiry {
  readonly expiresIn?: number
  readonly expiresAt?: Timestamp
}

/** Its own parser says what is allowed in the words of the API. */
export function statusOption(description: string): Option {
  return new Option('--status <status>', description).choices([...STATUSES]).argParser(readStatus)
}

export function addExpiry(command: Command): Command {
  return command
    .option('--expires-in <time>', 'how long it works, such as 90d, 12h, 30m', readDuration)
    .option('--expires-at <time>', 'ISO 8601, such as 2030-01-31T12:00:00Z', readTime)
}

export function readExpiry({ expiresIn, expiresAt }: Expiry, now: Timestamp): Timestamp | null {
  if (expiresIn === undefined) return expiresAt ?? null
  if (expiresAt !== undefined) throw new UsageError('--expires-in and --expires-at exclude each other')
  return now + expiresIn
}

export interface PatchOptions {
  readonly metadata?: unknown
  readonly policy?: unknown
  readonly clear?: readonly string[]
}

/** For fields that are JSON, and for those that can be cleared. */
export function addPatch(command: Command, clearable: readonly string[]): Command {
  return command
    .usage('<id> [options]')
    .option('--metadata <json>', 'a merge patch of its metadata, such as {"team":"billing"}', readJson)
    .option('--policy <json>', 'a merge patch of its policy, such as {"scopes":["orders:read"],"rate":null}', readJson)
    .addOption(new Option('--clear <field...>', 'fields to clear').choices([...clearable]))
}

/** A merge patch of what was given: the same rules then hold as for PATCH. */
export function readPatchOptions(fields: object, { metadata, policy, clear = [] }: PatchOptions): object {
  const given = Object.entries({ ...fields, metadata, policy }).filter(([, value]) => value !== undefined)
  const both = clear.find((field) => given.some(([name]) => name === field))
  if (both !== undefined) throw new UsageError(`${both} is both set and cleared`)
  return Object.fromEntries([...given, ...clear.map((field) => [field, null])])
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidArgumentError('It is JSON, such as {"scopes":["orders:read"]}; quote it for the shell.')
  }
}

/** Milliseconds. */
export function readDuration(text: string): number {
  const [, amount, unit] = /^([0-9]{1,6})([smhd])$/.exec(text) ?? []
  const length = UNITS_MS[unit ?? '']
  if (length === undefined) throw new InvalidArgumentError('It is a number and a unit, such as 90d, 12h, 30m or 45s.')
  return Number(amount) * length
}

function readTime(text: string): number {
  const time = parseTime(text)
  if (time === undefined) throw new InvalidArgumentError('It is an ISO 8601 time, such as 2030-01-31T12:00:00Z.')
  return time
}

export function readCount(text: string): number {
  if (/^[0-9]{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It is a whole number.')
}
