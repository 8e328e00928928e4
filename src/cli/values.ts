// Values given on the command line, held to the same rules as those that come over HTTP.
import { InvalidArgumentError } from 'commander'
import { OperatorError } from '../tokens/errors.ts'
import { emailField, type FieldReader, nameField, statusField } from '../tokens/fields.ts'
import { brokenCredentialRule } from '../tokens/operator.ts'
import { parseTime, UNITS_MS } from '../tokens/times.ts'

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

/** Refused in our own words: commander would repeat what was given, and it may be somebody's secret. */
export function readNewCredential(text: string): string {
  const rule = brokenCredentialRule(text)
  if (rule !== undefined) throw new OperatorError(`The value of --credential ${rule}.`)
  return text
}

/** Milliseconds. */
export function readDuration(text: string): number {
  const [, amount, unit] = /^([0-9]{1,6})([smhd])$/.exec(text) ?? []
  const length = UNITS_MS[unit ?? '']
  if (length === undefined) throw new InvalidArgumentError('It is a number and a unit, such as 90d, 12h, 30m or 45s.')
  return Number(amount) * length
}

export function readTime(text: string): number {
  const time = parseTime(text)
  if (time === undefined) throw new InvalidArgumentError('It is an ISO 8601 time, such as 2030-01-31T12:00:00Z.')
  return time
}

export function readCount(text: string): number {
  if (/^[0-9]{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It is a whole number.')
}
