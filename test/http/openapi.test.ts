// The API description: generated from the routes, complete, and true to what the server answers.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { Check } from 'typebox/schema'
import { packageVersion } from '../../src/config.ts'
import { codesOf, type FailureStatus, STATUSES } from '../../src/http/protocol/failures.ts'
import { Estate, sqliteEngine } from '../support/estate.ts'
import { bearer, closeConnections } from '../support/http.ts'

interface Media {
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
  readonly schema: object
}
interface Response {
  readonly description: string
  readonly headers?: Readonly<Record<string, object>>
  readonly content?: Readonly<Record<string, Media>>
}
interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<Record<string, Response>>
}

let estate: Estate
interface Description {
  readonly openapi: string
  readonly info: { readonly version: string }
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: {
    readonly parameters: Readonly<Record<string, Readonly<Record<string, unknown>>>>
    readonly schemas: Readonly<Record<string, { readonly properties: Readonly<Record<string, object>> }>>
    readonly securitySchemes: Readonly<Record<string, object>>
  }
}
let description: Description
before(async () => {
  estate = await Estate.open(sqliteEngine)
  description = (await estate.ask({ path: '/openapi.json' })).json
})
after(async () => {
  closeConnections()
  await estate.close()
})

const operationsOf = () =>
  Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )

const examplesIn = ({ example, examples = {} }: Media): readonly unknown[] =>
  example === undefined ? Object.values(examples).map(({ value }) => value) : [example]

const examplesOf = ({ content = {} }: Response): readonly unknown[] => Object.values(content).flatMap(examplesIn)

test('its version is that of the software, and not the one of responses, which the configuration says', async () => {
  const { app_version } = (await estate.mineAsks({ path: '/api/v1/apiClient/token' })).json
  assert.notEqual(app_version, packageVersion())
  assert.equal(description.info.version, packageVersion())
})

test('every tag of an operation is described, and every tag that is described is used', () => {
  const used = new Set(operationsOf().flatMap(({ operation }) => operation.tags))
  assert.deepEqual(description.tags.map(({ name }) => name).toSorted(), [...used].toSorted())
})

test('it is OpenAPI 3.1 and names every documented operation with every documented answer', () => {
  assert.equal(description.openapi, '3.1.0')
  const documented: readonly [string, string, string[]][] = [
    ['/api/v1/apiClient/token', 'get', ['200', '400', '401', '403']],
    ['/api/v1/apiClient/token/{id}', 'get', ['200', '401', '404']],
    ['/api/v1/apiClient/token/sub-account/{subAccountId}', 'get', ['200', '400', '401', '403']],
    ['/api/v1/apiClient/token/{id}', 'put', ['200', '400', '401', '404', '412', '413', '415']],
  ]
  for (const [path, method, statuses] of documented) {
    const answers = Object.keys(description.paths[path]?.[method]?.responses ?? {})
    for (const status of statuses) assert.ok(answers.includes(status), `${method} ${path} ${status}`)
  }
})

test('the answers with an ETag are those that carry a token or a sub-account, and the description itself', () => {
  const tagged = operationsOf().flatMap(({ operation }) =>
    Object.entries(operation.responses)
      .filter(([, { headers = {} }]) => 'ETag' in headers)
      .map(([status]) => `${operation.operationId} ${status}`),
  )
  assert.deepEqual(tagged.sort(), [
    ...['createSubAccount 201', 'createToken 201', 'getSubAccount 200', 'getToken 200', 'openapi 200'],
    ...['patchSubAccount 200', 'patchToken 200', 'revealToken 200', 'rotateToken 200', 'updateToken 200'],
  ])
})

test('every failure has a code for programs, and the description says which', () => {
  const codesHere = ({ headers = {} }: Response) =>
    (headers['X-Latchkey-Error'] as { schema: { examples: string[] } } | undefined)?.schema.examples ?? []
  const described = new Set<string>()
  for (const { path, method, operation } of operationsOf()) {
    for (const [status, answer] of Object.entries(operation.responses)) {
      const codes = codesHere(answer)
      assert.equal(codes.length > 0, Number(status) >= 400, `${method} ${path} ${status}`)
      for (const code of codes) described.add(code)
    }
  }
  const codes = Object.keys(STATUSES).flatMap((status) => codesOf(Number(status) as FailureStatus))
  // Rules of the protocol: said before it is known which operation is meant, and of the files of the console.
  assert.deepEqual(
    [...codes, ...codesOf(401)].filter((code) => !described.has(code)),
    ([405, 408, 416, 431] as const).flatMap(codesOf),
  )
})

test('every answer with a body has an example, and its schema allows each of them', () => {
  const { components } = description
  const isShown = (media: Media) => {
    const examples = examplesIn(media)
    return examples.length > 0 && examples.every((example) => Check({ ...media.schema, components }, example))
  }
  const wrong = operationsOf().flatMap(({ path, method, operation }) =>
    Object.entries(operation.responses)
      .filter(([, { content = {} }]) => !Object.values(content).every(isShown))
      .map(([status]) => `${method} ${path} ${status}`),
  )
  assert.deepEqual(wrong, [])
})

test('in the examples, as in what is answered, a message is to be shown after a change, and not after a read', () => {
  for (const { path, method, operation } of operationsOf()) {
    if (!path.startsWith('/api/v1/apiClient') || operation.operationId === 'streamEvents') continue
    const successes = Object.entries(operation.responses).filter(([status]) => Number(status) < 300)
    for (const example of successes.flatMap(([, answer]) => examplesOf(answer))) {
      const { show_message } = example as { show_message: number }
      assert.equal(show_message, method === 'get' ? 0 : 1, operation.operationId)
    }
  }
})

test('the answers with an X-Latchkey-Reason are those of verification that refuse, each with its own values', () => {
  const described = operationsOf().flatMap(({ operation }) =>
    Object.entries(operation.responses).flatMap(([status, { headers = {} }]) => {
      const header = headers['X-Latchkey-Reason'] as { schema: { enum: string[] } } | undefined
      return header === undefined ? [] : [[operation.operationId, status, ...header.schema.enum].join(' ')]
    }),
  )
  assert.deepEqual(described, [
    'verify 401 unknown inactive suspended expired',
    'verify 403 address scope',
    'verify 429 rate quota',
  ])
})

test('the answers with a Retry-After are those to try again later, of every route that sends it', () => {
  const later = ['429', '503']
  for (const { operation } of operationsOf()) {
    // A probe asks again at times of its own.
    if (operation.operationId === 'ready') continue
    for (const [status, { headers = {} }] of Object.entries(operation.responses)) {
      assert.equal('Retry-After' in headers, later.includes(status), `${operation.operationId} ${status}`)
    }
  }
})

test('a client can see how to authenticate: by a key, a JWT, the cookie of a person, a session of the portal, or a credential', () => {
  const ways = operationsOf().flatMap(({ operation: { security = [] } }) => security.flatMap(Object.keys))
  const described = [...new Set(ways)].sort().map((way) => {
    const { type, scheme } = description.components.securitySchemes[way] as Record<string, string>
    return [way, type, scheme].join(' ')
  })
  assert.deepEqual(described, [
    'accountKey http bearer',
    'accountKeyAsSecret http basic',
    'credential http bearer',
    'jwt http bearer',
    'portalSession http bearer',
    'session apiKey ',
  ])
  const { in: location, name } = description.components.securitySchemes.session as Record<string, string>
  assert.deepEqual([location, name], ['cookie', 'latchkey-session'])
})

test('each operation that takes the cookie takes the account that is meant, and no other operation does', () => {
  for (const { operation } of operationsOf()) {
    const { security = [], parameters = [], operationId } = operation
    const isTaken = parameters.some((each) => '$ref' in each && each.$ref === '#/components/parameters/ShownAccount')
    assert.equal(
      isTaken,
      security.some((way) => 'session' in way),
      operationId,
    )
  }
  const { in: location, name, required } = description.components.parameters.ShownAccount ?? {}
  assert.deepEqual([location, name, required], ['header', 'X-Latchkey-Account', false])
})

test('a patch is taken, and described, as JSON and as a JSON merge patch; no other body is', async () => {
  const types = operationsOf().flatMap(({ method, operation: { requestBody, operationId } }) =>
    requestBody === undefined ? [] : [[operationId, method, Object.keys(requestBody.content)] as const],
  )
  for (const [operationId, method, found] of types) {
    const json = operationId === 'introspect' ? ['application/x-www-form-urlencoded'] : ['application/json']
    assert.deepEqual(found, method === 'patch' ? [...json, 'application/merge-patch+json'] : json, operationId)
  }
  assert.equal(types.filter(([, method]) => method === 'patch').length, 3)
  const { id } = await estate.token()
  const headers = [['content-type', 'application/merge-patch+json']] as const
  const path = `/api/v1/apiClient/token/${id}`
  assert.equal((await estate.mineAsks({ method: 'PATCH', path, headers, body: '{"tags":["a"]}' })).status, 200)
})

test('it is sent once: with its ETag there is nothing to send', async () => {
  const first = await estate.ask({ path: '/openapi.json' })
  assert.match(String(first.headers['content-type']), /^application\/json/)
  const etag = String(first.headers.etag)
  for (const known of [etag, `"other", W/${etag}`, '*']) {
    const again = await estate.ask({ path: '/openapi.json', headers: [['if-none-match', known]] })
    assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', etag])
  }
  const other = await estate.ask({ path: '/openapi.json', headers: [['if-none-match', '"other"']] })
  assert.deepEqual([other.status, other.text], [200, first.text])
})

const schemaOf = (path: string, method: string, status: string) =>
  description.paths[path]?.[method]?.responses[status]?.content?.['application/json']?.schema

test('what is answered has a name, by which generated clients call it', () => {
  const { schemas } = description.components
  for (const name of ['Token', 'SubAccount', 'HistoryEntry', 'Overview', 'TokenPage', 'SubAccountPage', 'HistoryPage'])
    assert.ok(schemas[name], name)
  const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` })
  const list = '/api/v1/apiClient/token'
  assert.deepEqual(schemaOf(list, 'get', '200'), reference('TokenPageResponse'))
  assert.deepEqual(schemaOf(list, 'get', '401'), reference('UnauthenticatedResponse'))
  for (const status of ['400', '403', '503'])
    assert.deepEqual(schemaOf(list, 'get', status), reference('FailureResponse'))
  assert.deepEqual(schemas.TokenPageResponse?.properties.data, reference('TokenPage'))
  assert.deepEqual(schemas.TokenPage?.properties.items, {
    type: 'array',
    items: reference('Token'),
  })
  const text = JSON.stringify(description)
  for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) assert.ok(schemas[name], name)
})

test('a body is required except where none is needed', () => {
  const optional = operationsOf().filter(({ operation }) => operation.requestBody?.required === false)
  assert.deepEqual(
    optional.map(({ operation }) => operation.operationId),
    ['rotateToken'],
  )
})

test('a configured header for credentials is one of the ways to verify', async () => {
  const configured = await Estate.open(sqliteEngine, { LATCHKEY_CREDENTIAL_HEADER: 'X-Api-Key' })
  try {
    const { components, paths }: Description = (await configured.ask({ path: '/openapi.json' })).json
    assert.deepEqual(paths['/api/v1/verify']?.get?.security, [{ credential: [] }, { credentialHeader: [] }])
    const { type, in: location, name } = components.securitySchemes.credentialHeader as Record<string, string>
    assert.deepEqual([type, location, name], ['apiKey', 'header', 'x-api-key'])
  } finally {
    await configured.close()
  }
  assert.deepEqual(description.paths['/api/v1/verify']?.get?.security, [{ credential: [] }])
  assert.equal('credentialHeader' in description.components.securitySchemes, false)
})

test('no two operations share a name', () => {
  const names = operationsOf().map(({ operation }) => operation.operationId)
  assert.deepEqual(
    names.filter((name, index) => name === undefined || names.indexOf(name) !== index),
    [],
  )
})

test('the documented query parameters of a list are all there', () => {
  const names = description.paths['/api/v1/apiClient/token']?.get?.parameters?.map(({ name }) => name) ?? []
  for (const name of ['subAccountId', 'status', 'search', 'page', 'limit']) assert.ok(names.includes(name), name)
})

test('every described path is there, and closed without a caller where it says so', async () => {
  const open: string[] = []
  for (const { path, method, operation } of operationsOf()) {
    const heard = await estate.ask({ method: method.toUpperCase(), path: path.replaceAll(/\{\w+\}/g, 'x') })
    assert.ok(operation.responses[heard.status], `${method} ${path} ${heard.status}`)
    assert.notEqual(heard.status, 404, `${method} ${path}`)
    assert.equal(heard.status === 401, (operation.security ?? []).length > 0, `${method} ${path}`)
    if (heard.status !== 401) open.push(operation.operationId)
  }
  assert.deepEqual(open.sort(), ['beginPortalSession', 'live', 'metrics', 'openapi', 'ready'])
})

test('what is said of a body that cannot be read is described wherever one is read', async () => {
  const reading = operationsOf().filter(({ method }) => method !== 'get')
  assert.ok(reading.length >= 7)
  for (const { path, method, operation } of reading) {
    const [type = 'application/json'] = Object.keys(operation.requestBody?.content ?? {})
    const [, limitKiB] = /at most (\d+) KiB/.exec(JSON.stringify(operation.responses[413])) ?? []
    const bodies: readonly [number, string, string][] = [
      [400, type, '{'],
      [413, type, ' '.repeat(Number(limitKiB) * 1024 + 1)],
      [415, 'text/html', '{}'],
    ]
    for (const [status, sent, body] of bodies) {
      const heard = await estate.ask({
        method: method.toUpperCase(),
        path: path.replaceAll(/\{\w+\}/g, 'x'),
        headers: [bearer(estate.mine.key), ['content-type', sent]],
        body,
      })
      const what = `${method} ${path} ${status}`
      assert.equal(heard.status, status, what)
      const described = operation.responses[status]
      assert.ok(described, what)
      assert.ok(
        examplesOf(described).some((example) => isDeepStrictEqual(example, heard.json)),
        `${what}: ${heard.text}`,
      )
    }
  }
})

test('the examples of failures are what the server really says', async () => {
  const { credential } = await estate.token()
  const told = new Map<number, number>()
  for (const { path, method, operation } of operationsOf()) {
    if (!path.startsWith('/api/v1/apiClient')) continue
    const callers = [undefined, estate.mine.expiredKey, estate.mine.revokedKey, credential, estate.mine.key]
    for (const caller of callers) {
      const body = operation.requestBody && { status: 'active' }
      const heard = await estate.ask({
        method: method.toUpperCase(),
        // A stream of events would not end.
        path: `${path.replaceAll(/\{\w+\}/g, 'none')}${operation.operationId === 'streamEvents' ? '?after=none' : ''}`,
        headers: caller === undefined ? [] : [bearer(caller)],
        ...(body && { body }),
      })
      if (heard.status < 400) continue
      const described = operation.responses[heard.status]
      const what = `${method} ${path} ${heard.status}: ${heard.text}`
      assert.ok(described, what)
      const codes = described.headers?.['X-Latchkey-Error'] as { schema: { examples: string[] } }
      assert.ok(codes.schema.examples.includes(String(heard.headers['x-latchkey-error'])), what)
      // Of bodies that are not valid only some are shown.
      if (heard.status === 400) continue
      assert.ok(
        examplesOf(described).some((example) => isDeepStrictEqual(example, heard.json)),
        what,
      )
      told.set(heard.status, (told.get(heard.status) ?? 0) + 1)
    }
  }
  assert.deepEqual([...told.keys()].sort(), [401, 403, 404])
})
