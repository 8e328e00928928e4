// Routes of our own refuse body fields and query parameters that their description does not name: a caller who misspells
// `expiresAt` must not learn from a 201 that it was understood.
import type { FastifySchema } from 'fastify'
import { Failure } from '../../tokens/errors.ts'
import { isObject } from '../../tokens/model/fields.ts'
import type { Question } from '../routes/route.ts'

/** A name is repeated in the answer, but not at any length. */
const MAX_SHOWN = 100

type Check = (question: Pick<Question, 'query' | 'body'>) => void

/** The names that a route allows are the properties of its schemas. */
export function unknownNamesCheck({ querystring, body }: FastifySchema): Check {
  const [parameters, fields] = [propertiesOf(querystring), propertiesOf(body)]
  return (question) => {
    refuseUnknown('parameter', question.query, parameters)
    if (isObject(question.body)) refuseUnknown('field', question.body, fields)
  }
}

export function unknownName(kind: 'parameter' | 'field', name: string, allowed: readonly string[]): string {
  return `Unknown ${kind} "${name}"; ${allowed.length === 0 ? 'none is allowed here' : `allowed: ${allowed.join(', ')}`}`
}

function propertiesOf(schema: unknown): readonly string[] {
  return Object.keys((schema as { readonly properties?: object } | undefined)?.properties ?? {})
}

function refuseUnknown(kind: 'parameter' | 'field', sent: object, allowed: readonly string[]): void {
  const unknown = Object.keys(sent).find((name) => !allowed.includes(name))
  if (unknown === undefined) return
  const field = unknown.length > MAX_SHOWN ? `${unknown.slice(0, MAX_SHOWN)}…` : unknown
  const message = unknownName(kind, field, allowed)
  throw new Failure('invalid-request', message, [{ field, message }])
}
