// Reads the known fields of a JSON body, and says what is wrong with each. Unknown fields are ignored here; routes that refuse
// them check before.

import { isObject } from '../verify/is-object.ts'
import { Failure, type FieldProblem } from './errors.ts'
import { NOT_A_TIME, parseTime } from './times.ts'
import { brokenNameRule, countCharacters, normalizeName, STATUSES, type Status, type Timestamp } from './token.ts'

/**
 * `absent` was not sent; `unusable` has a wrong type or a value outside the allowed ones; `broken` is of the right
 * kind but breaks a rule, and the answer names that rule.
 */
export type Field<Value> =
  | { readonly state: 'valid'; readonly value: Value }
  | { readonly state: 'absent' | 'unusable' | 'broken'; readonly message: string }

export type FieldReader<Value> = (value: unknown, field: string) => Field<Value>

type Readers<Shape> = { readonly [Name in keyof Shape]-?: FieldReader<Exclude<Shape[Name], undefined>> }

export const NOTHING_TO_UPDATE = 'No valid fields to update'

/**
 * The rules of an update: at least one valid field, and none that is wrong. A request for two changes never succeeds
 * with only one of them made.
 */
export function readChange<Shape extends object>(body: unknown, readers: Readers<Shape>): Shape {
  const { values, problems, broken, unusable } = readFields(body, readers)
  if (broken !== undefined) throw new Failure('invalid-request', broken.message, problems)
  if (Object.keys(values).length === 0) throw new Failure('invalid-request', NOTHING_TO_UPDATE, problems)
  if (unusable !== undefined) throw new Failure('invalid-request', unusable.message, problems)
  return values as Shape
}

/** The rules of a merge patch: at least one field, and none that is wrong. */
export function readPatch<Shape extends object>(body: unknown, readers: Readers<Shape>): Shape {
  if (!isObject(body)) throw new Failure('invalid-request', 'The body must be a JSON object')
  const values = readNew<Shape>(body, readers, [])
  if (Object.keys(values).length === 0) throw new Failure('invalid-request', NOTHING_TO_UPDATE)
  return values
}

/** The rules of a creation: every required field valid, and no other one wrong. */
export function readNew<Shape extends object>(
  body: unknown,
  readers: Readers<Shape>,
  required: readonly (keyof Shape & string)[],
): Shape {
  const { values, problems: all, broken, unusable, absent } = readFields(body, readers)
  const missing = required.find((field) => absent.has(field))
  const wrong = broken ?? unusable
  // An optional field that was not sent is not a problem.
  const problems = all.filter(({ field }) => !absent.has(field) || required.some((name) => name === field))
  if (wrong !== undefined) throw new Failure('invalid-request', wrong.message, problems)
  if (missing !== undefined) throw new Failure('invalid-request', `${missing} is required`, problems)
  return values as Shape
}

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [name: string]: Json }

/** The value of a stored text; undefined if it was altered and is no JSON. */
export function readStoredJson(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The same for display: null also if it cannot be read. */
export function shownJson(text: string | null): Json {
  return text === null ? null : (readStoredJson(text) ?? null)
}

function readFields<Shape extends object>(body: unknown, readers: Readers<Shape>) {
  const source = isObject(body) ? body : {}
  const values: Partial<Shape> = {}
  const problems: FieldProblem[] = []
  const absent = new Set<string>()
  let broken: FieldProblem | undefined
  let unusable: FieldProblem | undefined
  for (const [field, read] of Object.entries(readers) as [keyof Shape & string, FieldReader<never>][]) {
    const sent = Object.hasOwn(source, field) ? (source as Record<string, unknown>)[field] : undefined
    const result =
      sent === undefined ? ({ state: 'absent', message: `${field} was not sent` } as const) : read(sent, field)
    if (result.state === 'valid') {
      values[field] = result.value
      continue
    }
    const problem = { field, message: result.message }
    problems.push(problem)
    if (result.state === 'absent') absent.add(field)
    if (result.state === 'broken') broken ??= problem
    if (result.state === 'unusable') unusable ??= problem
  }
  return { values, problems, absent, broken, unusable }
}

const strict = new TextDecoder('utf-8', { fatal: true })

/** Without a byte order mark; undefined for bytes that are not UTF-8. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes)
  } catch {
    return undefined
  }
}

/**
 * True when an object in the text names a field twice: two parsers could take different values. JSON.parse keeps
 * only the last one, so the text then has more fields than the value.
 */
export function repeatsField(text: string, value: unknown): boolean {
  return countColons(text) !== countFields(value)
}

function countFields(value: unknown): number {
  let count = 0
  const left = [value]
  while (left.length > 0) {
    const next = left.pop()
    if (next === null || typeof next !== 'object') continue
    const inner = Object.values(next)
    if (!Array.isArray(next)) count += inner.length
    for (const each of inner) left.push(each)
  }
  return count
}

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a]

/** Colons outside of strings: in valid JSON there is one per field. No regular expression: a long string would exhaust its stack. */
function countColons(text: string): number {
  let count = 0
  let isInString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) isInString = !isInString
    else if (isInString && code === BACKSLASH) at++
    else if (!isInString && code === COLON) count++
  }
  return count
}

export const nameField: FieldReader<string> = (value, field) => {
  if (typeof value !== 'string') return { state: 'unusable', message: `${field} must be a string` }
  const name = normalizeName(value)
  if (name === '') return { state: 'unusable', message: `${field} must not be empty` }
  const rule = brokenNameRule(name)
  return rule === undefined ? { state: 'valid', value: name } : { state: 'broken', message: `${field} ${rule}` }
}

export const statusField: FieldReader<Status> = oneOf(STATUSES)

export function oneOf<Value extends string>(allowed: readonly Value[]): FieldReader<Value> {
  return (value, field) => {
    const found = allowed.find((known) => known === value)
    return found === undefined
      ? { state: 'unusable', message: `${field} must be ${allowed.join(' or ')}` }
      : { state: 'valid', value: found }
  }
}

export const idField: FieldReader<string> = (value, field) =>
  typeof value === 'string' ? { state: 'valid', value } : { state: 'unusable', message: `${field} must be a string` }

export const emailField: FieldReader<string> = (value, field) => {
  const name = nameField(value, field)
  if (name.state !== 'valid' || /^[^\s@]+@[^\s@]+$/.test(name.value)) return name
  return { state: 'broken', message: `${field} must be an e-mail address` }
}

/** Longer than what can be stored: a patch also names what it removes. */
const MAX_PATCH_CHARACTERS = 16_384

/** A merge patch of a JSON object; `null` for none. */
export const objectField: FieldReader<JsonObject | null> = (value, field) => {
  if (value === null) return { state: 'valid', value: null }
  if (!isObject(value)) return { state: 'unusable', message: `${field} must be a JSON object` }
  if (isLong(value)) return { state: 'broken', message: `${field} is too large` }
  return { state: 'valid', value: value as JsonObject }
}

/** Metadata is kept as it is sent: a number beyond 2^53, such as an id of 64 bits, may have been rounded, and is refused. */
export const metadataField: FieldReader<JsonObject | null> = (value, field) => {
  const read = objectField(value, field)
  if (read.state !== 'valid' || !hasLargeNumber(read.value)) return read
  return { state: 'broken', message: `${field} has a number that is too large; send it as a string` }
}

/** In any notation: the value does not show how it was written. No recursion: it may be nested deeply. */
function hasLargeNumber(value: unknown): boolean {
  const pending = [value]
  for (let each = pending.pop(); each !== undefined; each = pending.pop()) {
    if (typeof each === 'object' && each !== null) pending.push(...Object.values(each))
    if (typeof each === 'number' && Math.abs(each) > Number.MAX_SAFE_INTEGER) return true
  }
  return false
}

export const MAX_TAGS = 10
export const MAX_TAG_CHARACTERS = 50

/** `null` for none, as an empty array. */
export const tagsField: FieldReader<readonly string[] | null> = (value, field) => {
  if (value === null) return { state: 'valid', value: null }
  if (!Array.isArray(value)) return { state: 'unusable', message: `${field} must be an array of strings` }
  if (value.length > MAX_TAGS) return { state: 'broken', message: `${field} must be at most ${MAX_TAGS}` }
  const tags = value.map((tag) => tagField(tag, `each of ${field}`))
  const wrong = tags.find((tag) => tag.state !== 'valid')
  if (wrong !== undefined) return wrong
  const names = tags.map((tag) => (tag as { value: string }).value)
  if (new Set(names).size < names.length) return { state: 'broken', message: `${field} must not repeat one` }
  return { state: 'valid', value: names.length === 0 ? null : names }
}

/** The rules of a name, but shorter. */
export const tagField: FieldReader<string> = (value, field) => {
  const name = nameField(value, field)
  if (name.state !== 'valid' || countCharacters(name.value) <= MAX_TAG_CHARACTERS) return name
  return { state: 'broken', message: `${field} must be at most ${MAX_TAG_CHARACTERS} characters` }
}

/** An object nested too deeply to be serialized counts as long. */
function isLong(value: object): boolean {
  try {
    return JSON.stringify(value).length > MAX_PATCH_CHARACTERS
  } catch {
    return true
  }
}

/** `null` means never. */
export const timeField: FieldReader<Timestamp | null> = (value, field) => {
  if (value === null) return { state: 'valid', value: null }
  const time = typeof value === 'string' ? parseTime(value) : undefined
  if (time !== undefined) return { state: 'valid', value: time }
  return { state: 'unusable', message: `${field} ${NOT_A_TIME}` }
}
