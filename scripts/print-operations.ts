// From an OpenAPI description to TypeScript: a type for every named schema and for the parameters of every operation, and
// the table by which the client sends them.

export interface Schema {
  readonly $ref?: string
  readonly description?: string
  readonly type?: string | readonly string[] | undefined
  readonly const?: Literal
  readonly enum?: readonly Literal[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly examples?: readonly unknown[]
}

type Literal = string | number | boolean | null

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

interface Body {
  readonly required?: boolean
  readonly headers?: Readonly<Record<string, { readonly schema: Schema }>>
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags?: readonly string[]
  /** Those of the components are not for clients of this kind. */
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[]
  readonly requestBody?: Body
  readonly responses: Readonly<Record<string, Body>>
}

const OF_PROBES = 'Service'

export interface ApiDescription {
  readonly info: { readonly version: string }
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

/** What the client makes of a successful answer: its `data`, a page of it, the whole body, or nothing. */
interface Answer {
  readonly kind: 'data' | 'page' | 'body' | 'none'
  readonly schema?: Schema
}

const SCALARS: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}
const JSON_TYPE = 'application/json'
const NOTHING = 'Readonly<Record<never, never>>'
const COMMENT_WIDTH = 110
/** A type of its own instead of `as const`, whose declaration would repeat the whole table. */
const PLACE = `/** @internal */
export interface Endpoint {
/** Of the request. */
readonly method: string
readonly path: string
/** The parameters that are headers. */
readonly headers: readonly string[]
/** The media type. */
readonly body?: string
/** What a call resolves to: the \`data\` of the answer, a page of it, the whole body, or nothing. */
readonly answer: 'data' | 'page' | 'body' | 'none'
}`

export function printOperations(description: ApiDescription): string {
  return new Printer(description).print()
}

class Printer {
  readonly #description: ApiDescription
  /** Declarations by the name of their type, each after those that it uses itself. */
  readonly #declared = new Map<string, string>()
  /** The members of each interface that is declared, by their names. */
  readonly #members = new Map<string, ReadonlyMap<string, string>>()
  readonly #codes = new Set<string>()

  constructor(description: ApiDescription) {
    this.#description = description
  }

  /** All operations but those for probes and scrapers, and streams. */
  print(): string {
    const types: string[] = []
    const table: string[] = []
    for (const [path, methods] of Object.entries(this.#description.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        if (operation.tags?.includes(OF_PROBES)) continue
        if (operation.responses['200']?.content?.['text/event-stream'] !== undefined) continue
        const { operationId, summary, description = '' } = operation
        const answer = this.#answerOf(operation)
        const data = answer.schema === undefined ? 'undefined' : this.#typeOf(answer.schema)
        types.push(
          `${comment(`${summary}. ${description}`)}${operationId}: { params: ${this.#paramsOf(operation)}; data: ${data} }`,
        )
        const endpoint = {
          method: method.toUpperCase(),
          path,
          headers: headersOf(operation),
          body: bodyTypeOf(operation),
        }
        table.push(`${operationId}: ${JSON.stringify({ ...endpoint, answer: answer.kind })},`)
        this.#collectCodes(operation)
      }
    }
    return [
      '// Made from /openapi.json by scripts/generate-client.ts: change the routes, then run `npm run generate-client`.',
      ...this.#declared.values(),
      `/** What \`X-Latchkey-Error\` names; later versions may add codes. */\nexport type ErrorCode = ${[...this.#codes].sort().map(literal).join(' | ') || 'never'}`,
      `export interface Operations {\n${types.join('\n')}\n}`,
      `/** Of the service that this client was made for. */\nexport const VERSION = ${literal(this.#description.info.version)}`,
      PLACE,
      `/** @internal */\nexport const operations: Readonly<Record<keyof Operations, Endpoint>> = {\n${table.join('\n')}\n}\n`,
    ].join('\n\n')
  }

  #answerOf({ operationId, responses }: Operation): Answer {
    const success = responses['202'] ?? responses['200'] ?? responses['201'] ?? responses['204']
    if (success === undefined) throw new Error(`${operationId} has no answer for success`)
    if (success.content === undefined) return { kind: 'none' }
    const schema = success.content[JSON_TYPE]?.schema
    if (schema === undefined) throw new Error(`${operationId} does not answer with JSON`)
    const data = this.#resolve(schema).properties?.data
    if (data === undefined) return { kind: 'body', schema }
    const dryRun = responses['202'] && this.#dataOf(responses['200'])
    if (dryRun !== undefined) return { kind: 'data', schema: { anyOf: [data, dryRun] } }
    return { kind: this.#resolve(data).properties?.hasNextPage === undefined ? 'data' : 'page', schema: data }
  }

  #dataOf(answer: Body | undefined): Schema | undefined {
    const schema = answer?.content?.[JSON_TYPE]?.schema
    return schema && this.#resolve(schema).properties?.data
  }

  /** The name of the type of an operation's parameters: path, query, headers and body together. */
  #paramsOf(operation: Operation): string {
    const { operationId, requestBody } = operation
    const parameters = parametersOf(operation)
    const properties: Record<string, Schema> = Object.fromEntries(
      parameters.map(({ name, schema, description }) => [
        name,
        { ...schema, ...(description !== undefined && { description }) },
      ]),
    )
    const required = parameters.filter((each) => each.required).map(({ name }) => name)
    const body = requestBody?.content?.[bodyTypeOf(operation) ?? '']?.schema
    if (body !== undefined) properties.body = body
    if (requestBody?.required) required.push('body')
    if (Object.keys(properties).length === 0) return NOTHING
    const name = `${operationId.slice(0, 1).toUpperCase()}${operationId.slice(1)}Params`
    this.#declare(name, { type: 'object', properties, required })
    return name
  }

  #collectCodes({ responses }: Operation): void {
    for (const { headers } of Object.values(responses)) {
      for (const code of headers?.['X-Latchkey-Error']?.schema.examples ?? []) this.#codes.add(String(code))
    }
  }

  #resolve(schema: Schema): Schema {
    if (schema.$ref === undefined) return schema
    const named = this.#description.components.schemas[nameIn(schema.$ref)]
    if (named === undefined) throw new Error(`no schema is at ${schema.$ref}`)
    return named
  }

  #declare(name: string, schema: Schema): void {
    // Taken before its type is printed: a schema may contain itself.
    this.#declared.set(name, '')
    const members = isClosed(schema) ? this.#membersOf(schema) : undefined
    const printed = members === undefined ? `type ${name} = ${this.#typeOf(schema)}` : this.#interface(name, members)
    this.#declared.delete(name)
    this.#declared.set(name, `${comment(schema.description)}export ${printed}`)
    if (members !== undefined) this.#members.set(name, members)
  }

  /** What an earlier interface says in the same words is taken from there: the declarations are two thirds of the package. */
  #interface(name: string, members: ReadonlyMap<string, string>): string {
    const isSame = ([key, text]: [string, string], other: ReadonlyMap<string, string>) => other.get(key) === text
    const shared = [...this.#members].map(
      ([other, theirs]) => [other, [...members].filter((member) => isSame(member, theirs))] as const,
    )
    const [other, same] = shared.reduce((best, each) => (each[1].length > best[1].length ? each : best), ['', []])
    if (same.length < 2) return `interface ${name} {\n${[...members.values()].join('\n')}\n}`
    const taken = new Set(same.map(([key]) => key))
    const own = [...members].filter(([key]) => !taken.has(key)).map(([, text]) => text)
    const isWhole = taken.size === this.#members.get(other)?.size
    const base = isWhole ? other : `Pick<${other}, ${[...taken].map(literal).join(' | ')}>`
    return `interface ${name} extends ${base} {\n${own.join('\n')}\n}`
  }

  /** Knows what the description uses; anything else stops the generator rather than becoming `unknown`. */
  #typeOf(schema: Schema): string {
    if (schema.$ref !== undefined) {
      const name = nameIn(schema.$ref)
      if (!this.#declared.has(name)) this.#declare(name, this.#resolve(schema))
      return name
    }
    const alternatives = schema.anyOf ?? schema.oneOf
    if (alternatives !== undefined && schema.properties !== undefined) return unknownSchema(schema)
    if (alternatives !== undefined) return alternatives.map((each) => this.#typeOf(each)).join(' | ')
    if (schema.const !== undefined) return literal(schema.const)
    if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ')
    // Any JSON value.
    if (Object.keys(schema).length === 0) return 'unknown'
    const types = [schema.type ?? []].flat()
    return types.map((type) => this.#typeNamed(type, schema)).join(' | ') || unknownSchema(schema)
  }

  #typeNamed(type: string, schema: Schema): string {
    const scalar = SCALARS[type]
    if (scalar !== undefined) return scalar
    if (type === 'array' && schema.items !== undefined) return `readonly (${this.#typeOf(schema.items)})[]`
    if (type === 'object') return this.#objectType(schema)
    return unknownSchema(schema)
  }

  #objectType(schema: Schema): string {
    const { additionalProperties: others = false } = schema
    const members = [...this.#membersOf(schema).values()]
    const open = `Readonly<Record<string, ${typeof others === 'object' ? this.#typeOf(others) : 'unknown'}>>`
    if (members.length === 0) return others === false ? NOTHING : open
    return `{\n${members.join('\n')}\n}${others === false ? '' : ` & ${open}`}`
  }

  #membersOf({ properties = {}, required = [] }: Schema): ReadonlyMap<string, string> {
    const members = Object.entries(properties).map(([name, schema]): [string, string] => {
      const type = this.#typeOf(schema)
      const value = required.includes(name) ? `: ${type}` : `?: ${type} | undefined`
      const described = schema.description ?? schema.anyOf?.[0]?.description
      return [name, `${comment(described)}readonly ${JSON.stringify(name)}${value}`]
    })
    return new Map(members)
  }
}

/** An object with these properties and no others. */
function isClosed({ type, properties, additionalProperties = false }: Schema): boolean {
  return (
    type === 'object' &&
    properties !== undefined &&
    additionalProperties === false &&
    Object.keys(properties).length > 0
  )
}

function parametersOf({ parameters = [] }: Operation): readonly Parameter[] {
  return parameters.filter((each) => 'name' in each)
}

function headersOf(operation: Operation): readonly string[] {
  return parametersOf(operation)
    .filter((each) => each.in === 'header')
    .map(({ name }) => name)
}

/** JSON where there is a choice. */
function bodyTypeOf({ requestBody }: Operation): string | undefined {
  const types = Object.keys(requestBody?.content ?? {})
  return types.includes(JSON_TYPE) ? JSON_TYPE : types[0]
}

function nameIn(reference: string): string {
  return reference.slice('#/components/schemas/'.length)
}

function literal(value: Literal): string {
  return JSON.stringify(value)
}

function unknownSchema(schema: Schema): never {
  throw new Error(`no type for ${JSON.stringify(schema)}`)
}

/** With the line break behind it; nothing for no text. The formatter indents it, but does not fill its lines. */
function comment(text = ''): string {
  const words = text.trim().replaceAll('*/', '*\\/').split(/\s+/)
  if (words[0] === '') return ''
  const lines = ['']
  for (const word of words) {
    if (`${lines.at(-1)} ${word}`.length > COMMENT_WIDTH) lines.push('')
    lines.push(`${lines.pop()} ${word}`)
  }
  return lines.length === 1 ? `/**${lines[0]} */\n` : `/**\n${lines.map((line) => ` *${line}\n`).join('')} */\n`
}
