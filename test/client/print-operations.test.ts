// The generator: what it makes of a description, compiled as it is, and what it refuses to guess.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type ApiDescription, printOperations, type Schema } from '../../scripts/print-operations.ts'

const root = join(import.meta.dirname, '..', '..')
const named = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })
const text: Schema = { type: 'string' }

/** One operation, `getThing`, that takes and answers with these. */
function describing(thing: Schema, schemas: Readonly<Record<string, Schema>> = {}, more: object = {}): ApiDescription {
  const envelope: Schema = { type: 'object', properties: { data: named('Thing') }, required: ['data'] }
  const success = { content: { 'application/json': { schema: envelope } } }
  const operation = {
    operationId: 'getThing',
    summary: 'Get */ a thing',
    security: [{ accountKey: [] }],
    responses: { 200: success },
    ...more,
  }
  return {
    info: { version: '1' },
    components: { schemas: { Thing: thing, ...schemas } },
    paths: { '/thing/{id}': { get: operation } },
  }
}

/** What the compiler says of the printed types, used like this. */
function compile(description: ApiDescription, use: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-types-'))
  try {
    const file = join(folder, 'use.ts')
    writeFileSync(file, `${printOperations(description)}\n${use}`)
    const options = [
      '--noEmit',
      '--strict',
      '--target',
      'esnext',
      '--module',
      'preserve',
      '--types',
      '',
      '--ignoreConfig',
    ]
    const { stdout } = spawnSync(join(root, 'node_modules', '.bin', 'tsc'), [...options, file], { encoding: 'utf8' })
    return stdout
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const thing: Schema = {
  type: 'object',
  properties: {
    metadata: { type: 'object', additionalProperties: true },
    policy: { anyOf: [named('Policy'), { type: 'null' }] },
    owner: { oneOf: [named('Person'), { type: 'object', properties: { group: text }, required: ['group'] }] },
    tags: { type: 'array', items: text },
    kind: { const: 'thing' },
    size: { enum: [1, 2, null] },
    'x-odd': { type: ['string', 'null'] },
    parent: named('Thing'),
  },
  required: ['metadata', 'policy', 'owner', 'tags', 'kind', 'size', 'x-odd'],
}
const schemas = {
  Policy: { type: 'object', properties: { rate: { type: 'integer' } }, additionalProperties: true },
  Person: { type: 'object', properties: { name: text }, required: ['name'], description: 'Somebody' },
} satisfies Record<string, Schema>

test('named schemas, open objects, alternatives, lists, constants and schemas that contain themselves become types', () => {
  const use = `
    declare const thing: Thing
    const metadata: unknown = thing.metadata['any']
    const rate: number | undefined = thing.policy?.rate
    const others: unknown = thing.policy?.['burst']
    const owner: string = 'name' in thing.owner ? thing.owner.name : thing.owner.group
    const policy: Policy | null = thing.policy
    const [kind, size, odd]: ['thing', 1 | 2 | null, string | null] = [thing.kind, thing.size, thing['x-odd']]
    const deep: readonly string[] | undefined = thing.parent?.parent?.tags
    export const data: Operations['getThing']['data'] = thing
    export { metadata, rate, others, owner, policy, kind, size, odd, deep }`
  assert.equal(compile(describing(thing, schemas), use), '')
})

test('the types are narrow: what a schema does not allow does not compile', () => {
  const use = `
    export const wrong: Thing['kind'] = 'other'
    declare const thing: Thing
    export const never: string = thing.metadata['any']`
  const said = compile(describing(thing, schemas), use)
  assert.match(said, /'"other"' is not assignable/)
  assert.match(said, /'unknown' is not assignable/)
})

test('parameters of an operation have a type of their own, lists included, and an answer without a body has no data', () => {
  const parameters = [
    { name: 'id', in: 'path', required: true, schema: text },
    { name: 'tag', in: 'query', schema: { type: 'array', items: text } },
    { name: 'if-match', in: 'header', schema: text },
  ]
  const responses = { 204: { headers: { 'X-Latchkey-Error': { schema: { examples: ['one', 'two'] } } } } }
  const use = `
    export const params: GetThingParams = { id: 'x', tag: ['a', 'b'], 'if-match': undefined }
    export const data: Operations['getThing']['data'] = undefined
    export const code: ErrorCode[] = ['one', 'two']
    export const endpoint: Endpoint = operations.getThing`
  const description = describing(thing, schemas, { parameters, responses })
  assert.equal(compile(description, use), '')
  assert.match(printOperations(description), /"headers":\["if-match"\],"answer":"none"/)
})

test('an empty schema is any value', () => {
  const open = { type: 'object', properties: { any: {} }, required: ['any'] } as Schema
  assert.match(printOperations(describing(open, schemas)), /readonly "any": unknown/)
})

test('what the generator does not know stops it, instead of becoming unknown', () => {
  for (const schema of [{ allOf: [named('Person')] }, { type: 'array' }, { type: 'tuple' }, named('Nowhere')]) {
    const broken = { type: 'object', properties: { broken: schema } } as Schema
    assert.throws(() => printOperations(describing(broken, schemas)), /no type for|no schema is at/)
  }
  const csv = { responses: { 200: { content: { 'text/csv': { schema: text } } } } }
  assert.throws(() => printOperations(describing(thing, schemas, csv)), /does not answer with JSON/)
})
