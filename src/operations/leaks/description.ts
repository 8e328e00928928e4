// Leaked credentials: an account switches off what stands in a text.
import { Type } from 'typebox'
import { IN_UTF_16 } from '../../tokens/leaks/candidates.ts'
import { MAX_TEXT_BYTES, TOO_MANY_TEXTS } from '../../tokens/leaks/texts-in-memory.ts'
import { reasonOf } from '../../tokens/model/errors.ts'
import { JSON_TYPE, operationsOf, TEXT_TYPE } from '../operation.ts'
import { IDEMPOTENCY_KEY } from '../schemas.ts'
import { Token } from '../tokens/schemas.ts'
import * as answers from './answers.ts'

const { _id, name, subAccount, status } = Token.properties
const LeakedToken = Type.Object(
  {
    ...{ _id, name, subAccount, status },
    wasActive: Type.Boolean({ description: 'Whether the credential was accepted until now', examples: [true] }),
  },
  { title: 'LeakedToken' },
)
const LeakReport = Type.Object(
  {
    found: Type.Array(LeakedToken, { description: 'The tokens whose credentials stand in the text, each once' }),
    disabled: Type.Integer({ description: 'How many of them were switched off', examples: [1] }),
  },
  { title: 'LeakReport' },
)

export const leaks = operationsOf(answers, {
  disableLeaked: {
    method: 'POST',
    url: '/api/v1/apiClient/leak',
    summary: 'Switch off the tokens whose credentials stand in a text',
    description:
      'Any text: a log, a diff, the report of a scanner. Credentials of our own format are found as they are, percent-encoded and in ' +
      'base64, imported ones as whole words; so are former ones that still work. With the type `text/plain` the body is the text itself. ' +
      'No part of it is stored or logged. A dry run needs only the right to read.',
    tag: 'Leaks',
    right: 'read',
    consumes: [JSON_TYPE, TEXT_TYPE],
    bodyLimitBytes: MAX_TEXT_BYTES,
    headers: Type.Object(IDEMPOTENCY_KEY),
    querystring: Type.Object({
      dryRun: Type.Optional(
        Type.Boolean({ description: 'The same as in the body, for a body that is the text itself' }),
      ),
    }),
    body: Type.Object(
      {
        text: Type.String({ description: 'What is searched' }),
        dryRun: Type.Optional(Type.Boolean({ default: false, description: 'Find only, and change nothing' })),
      },
      { title: 'LeakedText' },
    ),
    data: LeakReport,
    success: { message: 'Found 1 leaked token(s), disabled 1' },
    failures: {
      400: ['text is required', answers.NOT_A_FLAG, IN_UTF_16],
      403: ['This key is not allowed to change tokens and sub-accounts'],
      409: [reasonOf('idempotency-conflict')],
      503: [TOO_MANY_TEXTS],
    },
  },
})
