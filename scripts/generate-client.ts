// Writes client/operations.ts from the service's own description. `--check` writes nothing, and fails where the file
// is not what it would write.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../src/config.ts'
import { startServer } from '../src/serving.ts'

interface Schema {
  readonly title?: string
  readonly description?: string
  readonly type?: string
  readonly enum?: readonly string[]
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
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

/** As the formatter has it, so that the file needs no second pass. */
const LINE_WIDTH = 120

export const GENERATED = join(import.meta.dirname, '..', 'client', 'operations.ts')

export async function generateClient(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-client-'))
  const running = await startServer(readConfig({ PORT: '0', LATCHKEY_DATA_DIR: folder }))
  try {
    const response = await fetch(`${running.url}/openapi.json`)
    return print((await response.json()) as ApiDescription)
  } finally {
    await running.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What a caller with an account key may ask, and is answered in the envelope; probes and gateways have their own. */
function print({ paths }: ApiDescription): string {
  const named = new Map<string, string>()
  const types: string[] = []
  const table: string[] = []
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const data = dataOf(operation)
      if (data === undefined) continue
      const { operationId, summary, parameters = [] } = operation
      const headers = parameters.filter((each) => each.in === 'header').map(({ name }) => name)
      types.push(
        `  /** ${summary} */`,
        `  ${operationId}: {`,
        `    params: ${paramsType(operation, named)}`,
        `    data: ${typeOf(data, named, 2)}`,
        '  }',
      )
      const place = `method: '${method.toUpperCase()}', path: '${path}', headers: ${JSON.stringify(headers)}`
      table.push(`  ${operationId}: { ${place.replaceAll('"', "'")} },`)
    }
  }
  return [
    '// Made from /openapi.json by scripts/generate-client.ts: change the routes, then run `npm run generate-client`.',
    ...[...named].map(([name, body]) => `\nexport interface ${name} ${body}`),
    `\nexport interface Operations {\n${types.join('\n')}\n}`,
    `\nexport const operations = {\n${table.join('\n')}\n} as const satisfies Record<keyof Operations, object>\n`,
  ].join('\n')
}

function dataOf({ security, responses }: Operation): Schema | undefined {
  if (!security?.some((each) => 'accountKey' in each)) return undefined
  const success = responses['200'] ?? responses['201']
  return success?.content?.['application/json']?.schema.properties?.data
}

function paramsType({ parameters = [], requestBody }: Operation, named: Map<string, string>): string {
  const properties = Object.fromEntries(
    parameters.map(({ name, schema, description = '' }) => [name, { ...schema, description }]),
  )
  const required = parameters.filter((each) => each.required).map(({ name }) => name)
  const body = requestBody?.content?.['application/json']?.schema
  if (body !== undefined) properties.body = { ...body, description: '' }
  return typeOf(
    { type: 'object', properties, required: body === undefined ? required : [...required, 'body'] },
    named,
    2,
  )
}

/** Only what the description uses; anything else stops the generator rather than becoming `unknown`. */
function typeOf(schema: Schema, named: Map<string, string>, depth: number): string {
  if (schema.anyOf) return schema.anyOf.map((each) => typeOf(each, named, depth)).join(' | ')
  if (schema.enum) return schema.enum.map((value) => `'${value}'`).join(' | ')
  if (schema.type === 'integer') return 'number'
  if (['string', 'number', 'boolean', 'null'].includes(schema.type ?? '')) return schema.type ?? ''
  if (schema.type === 'array' && schema.items) return `readonly ${wrap(typeOf(schema.items, named, depth))}[]`
  if (schema.type !== 'object') throw new Error(`no type for ${JSON.stringify(schema)}`)
  if (schema.additionalProperties)
    return `Readonly<Record<string, ${typeOf(schema.additionalProperties, named, depth)}>>`
  if (schema.title === undefined) return objectType(schema, named, depth)
  const body = objectType(schema, named, 0)
  if ((named.get(schema.title) ?? body) !== body) throw new Error(`two shapes are called ${schema.title}`)
  named.set(schema.title, body)
  return schema.title
}

function objectType({ properties = {}, required = [] }: Schema, named: Map<string, string>, depth: number): string {
  const indent = '  '.repeat(depth + 1)
  const lines = Object.entries(properties).flatMap(([name, schema]) => {
    const key = /^\w+$/.test(name) ? name : `'${name}'`
    const type = typeOf(schema, named, depth + 1)
    const said = schema.description ?? schema.anyOf?.[0]?.description
    const line = `${indent}readonly ${key}${required.includes(name) ? `: ${type}` : `?: ${type} | undefined`}`
    const broken = line.length > LINE_WIDTH && schema.enum !== undefined
    return [
      ...(said ? [`${indent}/** ${said} */`] : []),
      broken ? line.replace(": '", ": | '").replaceAll(' | ', `\n${indent}  | `) : line,
    ]
  })
  return lines.length === 0 ? 'Readonly<Record<never, never>>' : `{\n${lines.join('\n')}\n${'  '.repeat(depth)}}`
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
