// The OpenAPI description: everything but the routes, the named schemas, and the page at /docs that shows it.
import { isDeepStrictEqual } from 'node:util'
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { FastifySwaggerUiOptions } from '@fastify/swagger-ui'
import { isObject } from '../../tokens/verify/is-object.ts'
import { sessionCookie } from '../access/session.ts'
import type { ServerParts } from '../parts.ts'

type SwaggerOptions = Required<Pick<FastifyDynamicSwaggerOptions, 'openapi' | 'transformObject'>>

const TAGS = [
  { name: 'Tokens', description: 'List, get, update, create, delete, rotate' },
  { name: 'Bulk operations', description: 'The same change of all tokens that a filter matches' },
  { name: 'Sub-accounts', description: 'The owners of tokens' },
  { name: 'Keys', description: 'The account keys: who may do what' },
  { name: 'Leaks', description: 'Credentials that were published' },
  { name: 'Webhooks', description: 'Where events are sent' },
  { name: 'Portal', description: 'For the developers of a sub-account' },
  { name: 'Sessions', description: 'Who is signed in to the console' },
  { name: 'Overview', description: 'The account at a glance, and who is asking' },
  { name: 'History', description: 'Who did what' },
  { name: 'Usage', description: 'How often tokens were accepted and refused' },
  { name: 'Verification', description: 'For gateways and services' },
  { name: 'Verifiers', description: 'Processes that verify by what they remember, and hold a lease for it' },
  { name: 'Service', description: 'For operators' },
]

const SHOWN_ACCOUNT = {
  in: 'header',
  name: 'X-Latchkey-Account',
  required: false,
  description: 'With the cookie: the account that is meant. 401 if the person has chosen another one since',
  schema: { type: 'string' },
} as const

export function apiDescription({ version, credentialHeader, signIn }: ServerParts): SwaggerOptions['openapi'] {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Latchkey',
      version,
      description:
        'Manages the API tokens of the sub-accounts of a main account. A token that is off does not authenticate, ' +
        'anywhere, from the moment in which the answer to the change is sent.\n\n' +
        'Every answer has `X-Request-Id`, by which the log is searched; every failure also has `X-Latchkey-Error`, a short ' +
        'code for programs such as `token-not-found`.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: TAGS,
    components: {
      parameters: { ShownAccount: SHOWN_ACCOUNT },
      securitySchemes: {
        accountKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'An account key, `lk_key_…`',
        },
        jwt: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'A JWT of the issuer that the service is configured for, checked as RFC8725 asks',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: sessionCookie(signIn?.publicUrl ?? '').name,
          description: 'A person who is signed in to the console; only from its own origin',
        },
        portalSession: {
          type: 'http',
          scheme: 'bearer',
          description: 'A session of the portal, `lk_portal_…`: for one sub-account, and for what it was made for',
        },
        accountKeyAsSecret: {
          type: 'http',
          scheme: 'basic',
          description: 'An account key as the password; any user name',
        },
        credential: { type: 'http', scheme: 'bearer', description: "A token's credential, `lk_tok_…`" },
        ...(credentialHeader !== undefined && {
          credentialHeader: {
            type: 'apiKey',
            in: 'header',
            name: credentialHeader,
            description: "A token's credential without the word Bearer",
          },
        }),
      },
    },
  }
}

/**
 * In a sandbox: the page has an origin of its own, so that the scripts of its library cannot read what the console stores in the
 * browser, nor send requests with the cookie of a signed-in person. Without `upgrade-insecure-requests`, with which the page would
 * stay blank where the service is reached over plain HTTP.
 */
const PAGE_POLICY = [
  'sandbox allow-scripts',
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export const DESCRIPTION_PAGE: FastifySwaggerUiOptions = {
  routePrefix: '/docs',
  staticCSP: PAGE_POLICY,
  theme: { title: 'Latchkey API' },
  // No "Try it out": from the origin of a sandbox the browser reads no answer of the API.
  uiConfig: { supportedSubmitMethods: [] },
  // The sandboxed page reads the description, which is public, from there.
  transformSpecification: (description, _request, reply) => {
    reply.header('access-control-allow-origin', '*')
    return description
  },
  transformSpecificationClone: false,
}

type Fields = Readonly<Record<string, unknown>>

/** Moves each schema with a title into the components, and marks optional bodies. */
export const withNamedSchemas: SwaggerOptions['transformObject'] = (document) => {
  if (!('openapiObject' in document)) throw new Error('the description is not OpenAPI')
  const { openapiObject } = document
  const schemas: Record<string, object> = {}
  const paths = hoist(withShownAccount(openapiObject.paths ?? {}), schemas) as typeof openapiObject.paths
  return { ...openapiObject, paths, components: { ...openapiObject.components, schemas } } as typeof openapiObject
}

/** Said once, in the components: the client has no use for it, since it has no cookie. */
const SHOWN_ACCOUNT_REFERENCE = { $ref: '#/components/parameters/ShownAccount' }

function withShownAccount(paths: Fields): Fields {
  const ofOperation = (operation: Fields): Fields => {
    const { security = [], parameters = [] } = operation as Readonly<Record<string, readonly object[] | undefined>>
    const takesCookie = security.some((way) => 'session' in way)
    return takesCookie ? { ...operation, parameters: [...parameters, SHOWN_ACCOUNT_REFERENCE] } : operation
  }
  const mapped = (fields: Fields, change: (value: Fields) => Fields) =>
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, change(value as Fields)]))
  return mapped(paths, (methods) => mapped(methods, ofOperation))
}

/** Examples are values, not schemas. */
const EXAMPLES = ['example', 'examples']

/** Copies `value`; titled schemas go into `schemas`, and a reference takes their place. */
function hoist(value: unknown, schemas: Record<string, object>): unknown {
  if (Array.isArray(value)) return value.map((each) => hoist(each, schemas))
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, inner]) => [
    key,
    EXAMPLES.includes(key) ? inner : key === 'requestBody' ? hoistBody(inner, schemas) : hoist(inner, schemas),
  ])
  const copy = Object.fromEntries(entries) as Fields
  const { title, type } = copy
  if (typeof title !== 'string' || type !== 'object') return copy
  schemas[title] ??= copy
  if (!isDeepStrictEqual(schemas[title], copy)) throw new Error(`two schemas have the title ${title}`)
  return { $ref: `#/components/schemas/${title}` }
}

/** @fastify/swagger marks every body as required. A body whose schema has a default is optional. */
function hoistBody(body: Fields, schemas: Record<string, object>): object {
  const media = Object.values(body.content as Readonly<Record<string, { readonly schema: Fields }>>)
  const required = media.every(({ schema }) => schema.default === undefined)
  return { ...(hoist(body, schemas) as Fields), required }
}
