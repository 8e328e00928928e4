// Routes beyond the service document refuse unknown body fields and query parameters: a caller who misspells `expiresAt`
// must not get a 201.
import { Failure } from '../tokens/model/errors.ts'
import type { RawQuery } from '../tokens/model/page.ts'
import { isObject } from '../tokens/verify/is-object.ts'

/** Longer names are cut off in the response. */
const MAX_SHOWN = 100

type Check = (input: { readonly query: RawQuery; readonly body: unknown }) => void

interface Schema {
  readonly properties: object
}

interface Described {
  readonly method?: string
  readonly querystring?: Schema
  readonly body?: Schema
}

/** Allowed are the properties of the route's schemas. Every read takes `credentials=masked`, also where none is shown. */
export function unknownNamesCheck({ method, querystring, body }: Described): Check {
  const parameters = Object.keys(querystring?.properties ?? {})
  const fields = Object.keys(body?.properties ?? {})
  return (input) => {
    const isMasked = method === 'GET' && input.query.credentials === 'masked'
    refuseUnknown('parameter', input.query, isMasked ? [...parameters, 'credentials'] : parameters)
    if (isObject(input.body) && !(input.body instanceof Uint8Array)) refuseUnknown('field', input.body, fields)
  }
}

export function unknownName(kind: 'parameter' | 'field', name: string, allowed: readonly string[]): string {
  return `Unknown ${kind} "${name}"; ${allowed.length === 0 ? 'none is allowed here' : `allowed: ${allowed.join(', ')}`}`
}

function refuseUnknown(kind: 'parameter' | 'field', sent: object, allowed: readonly string[]): void {
  const unknown = Object.keys(sent).find((name) => !allowed.includes(name))
  if (unknown === undefined) return
  const field = unknown.length > MAX_SHOWN ? `${unknown.slice(0, MAX_SHOWN)}…` : unknown
  const message = unknownName(kind, field, allowed)
  throw new Failure('invalid-request', message, [{ field, message }])
}
