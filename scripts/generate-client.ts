// Writes client/operations.ts from the service's own description. `--check` writes nothing, and fails where the file
// is not what it would write.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../src/config.ts'
import { startServer } from '../src/process/serving.ts'

interface Schema {
  readonly $ref?: string
  readonly description?: string
  readonly type?: string | readonly string[] | undefined
  readonly enum?: readonly (string | null)[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema
}

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}

interface Body {
  readonly required?: boolean
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Body
  readonly responses: Readonly<Record<string, Body>>
}

interface ApiDescription {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const SCALARS: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}

/** The formatter's, so that the file needs no second pass. */
const LINE_WIDTH = 120

export const GENERATED = join(import.meta.dirname, '..', 'client', 'operations.ts')

export async function generateClient(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-client-'))
  const running = await startServer(readConfig({ PORT: '0', LATCHKEY_DATA_DIR: folder }))
  try {
    const response = await fetch(`${running.url}/openapi.json`)
    return new Printer((await response.json()) as ApiDescription).print()
  } finally {
    await running.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

class Printer {
  readonly #description: ApiDescription
  /** The types of the named schemas that the operations use, each after those that it uses itself. */
  readonly #named = new Map<string, string>()

  constructor(description: ApiDescription) {
    this.#description = description
  }

  /** The operations that take an account key and answer in the envelope; those for probes and gateways are left out. */
  print(): string {
    const types: string[] = []
    const table: string[] = []
    for (const [path, methods] of Object.entries(this.#description.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const data = this.#dataOf(operation)
        if (data === undefined) continue
        const { operationId, summary, parameters = [] } = operation
        const headers = parameters.filter((each) => each.in === 'header').map(({ name }) => name)
        types.push(
          `  /** ${summary} */`,
          `  ${operationId}: {`,
          `    params: ${this.#paramsType(operation)}`,
          `    data: ${this.#typeOf(data, 2)}`,
          '  }',
        )
        const place = `method: '${method.toUpperCase()}', path: '${path}', headers: ${JSON.stringify(headers)}`
        table.push(`  ${operationId}: { ${place.replaceAll('"', "'")} },`)
      }
    }
    return [
      '// Made from /openapi.json by scripts/generate-client.ts: change the routes, then run `npm run generate-client`.',
      ...[...this.#named].map(([name, body]) => `\nexport interface ${name} ${body}`),
      `\nexport interface Operations {\n${types.join('\n')}\n}`,
      `\nexport const operations = {\n${table.join('\n')}\n} as const satisfies Record<keyof Operations, object>\n`,
    ].join('\n')
  }

  #dataOf({ security, responses }: Operation): Schema | undefined {
    if (!security?.some((each) => 'accountKey' in each)) return undefined
    const success = responses['200'] ?? responses['201']
    const schema = success?.content?.['application/json']?.schema
    return schema && this.#resolve(schema).properties?.data
  }

  #resolve(schema: Schema): Schema {
    if (schema.$ref === undefined) return schema
    const named = this.#description.components.schemas[nameIn(schema.$ref)]
    if (named === undefined) throw new Error(`no schema is at ${schema.$ref}`)
    return named
  }

  #paramsType({ parameters = [], requestBody }: Operation): string {
    const properties = Object.fromEntries(
      parameters.map(({ name, schema, description = '' }) => [name, { ...schema, description }]),
    )
    const required = parameters.filter((each) => each.required).map(({ name }) => name)
    const body = requestBody?.content?.['application/json']?.schema
    if (body !== undefined) properties.body = { ...body, description: '' }
    if (requestBody?.required) required.push('body')
    return this.#typeOf({ type: 'object', properties, required }, 2)
  }

  /** Knows what the description uses; anything else stops the generator rather than becoming `unknown`. */
  #typeOf(schema: Schema, depth: number): string {
    if (schema.$ref) return this.#namedType(schema)
    if (schema.anyOf) return schema.anyOf.map((each) => this.#typeOf(each, depth)).join(' | ')
    if (schema.enum) return schema.enum.map((value) => (value === null ? 'null' : `'${value}'`)).join(' | ')
    const [type, ...others] = [schema.type ?? []].flat()
    if (others.length > 0)
      return [type, ...others].map((each) => this.#typeOf({ ...schema, type: each }, depth)).join(' | ')
    const scalar = SCALARS[type ?? '']
    if (scalar !== undefined) return scalar
    if (type === 'array' && schema.items) return `readonly ${wrap(this.#typeOf(schema.items, depth))}[]`
    if (type !== 'object') throw new Error(`no type for ${JSON.stringify(schema)}`)
    if (schema.additionalProperties)
      return `Readonly<Record<string, ${this.#typeOf(schema.additionalProperties, depth)}>>`
    return this.#objectType(schema, depth)
  }

  #namedType(schema: Schema): string {
    const name = nameIn(schema.$ref ?? '')
    if (!this.#named.has(name)) {
      const body = this.#objectType(this.#resolve(schema), 0)
      this.#named.set(name, body)
    }
    return name
  }

  #objectType({ properties = {}, required = [] }: Schema, depth: number): string {
    const indent = '  '.repeat(depth + 1)
    const lines = Object.entries(properties).flatMap(([name, schema]) => {
      const key = /^\w+$/.test(name) ? name : `'${name}'`
      const type = this.#typeOf(schema, depth + 1)
      const comment = this.#resolve(schema).description ?? schema.anyOf?.[0]?.description
      const line = `${indent}readonly ${key}${required.includes(name) ? `: ${type}` : `?: ${type} | undefined`}`
      const broken = line.length > LINE_WIDTH && schema.enum !== undefined
      return [
        ...(comment ? [`${indent}/** ${comment} */`] : []),
        broken ? line.replace(": '", ": | '").replaceAll(' | ', `\n${indent}  | `) : line,
      ]
    })
    return lines.length === 0 ? 'Readonly<Record<never, never>>' : `{\n${lines.join('\n')}\n${'  '.repeat(depth)}}`
  }
}

function nameIn(reference: string): string {
  return reference.slice('#/components/schemas/'.length)
}

function wrap(type: string): string {
  return type.includes(' | ') ? `(${type})` : type
}

if (import.meta.main) {
  const text = await generateClient()
  if (!process.argv.includes('--check')) writeFileSync(GENERATED, text)
  else if (readFileSync(GENERATED, 'utf8') !== text) {
    console.error('client/operations.ts is not what /openapi.json says: run `npm run generate-client`')
    process.exitCode = 1
  }
}
