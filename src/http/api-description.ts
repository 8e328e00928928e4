// The frame of the OpenAPI description; the routes fill it.
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import type { AppIdentity } from './envelope.ts'

export function apiDescription({ appVersion }: AppIdentity): NonNullable<FastifyDynamicSwaggerOptions['openapi']> {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Latchkey',
      version: appVersion,
      description:
        'Manages the API tokens of the sub-accounts of a main account. A token that is off does not authenticate, ' +
        'anywhere, from the moment the caller is told so.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: [
      { name: 'Tokens', description: 'List, get, update, create, delete, rotate' },
      { name: 'Sub-accounts', description: 'The owners of tokens' },
      { name: 'Overview', description: 'What it all comes to' },
      { name: 'History', description: 'Who did what' },
      { name: 'Verification', description: 'For gateways and services' },
      { name: 'Service', description: 'For operators' },
    ],
    components: {
      securitySchemes: {
        accountKey: { type: 'http', scheme: 'bearer', description: 'An account key, `lk_key_…`' },
        accountKeyAsSecret: {
          type: 'http',
          scheme: 'basic',
          description: 'An account key as the password; any user name',
        },
        credential: { type: 'http', scheme: 'bearer', description: "A token's credential, `lk_tok_…`" },
      },
    },
  }
}
