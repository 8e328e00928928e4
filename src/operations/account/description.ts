// The account at a glance, and who is asking, so that a program need not find out by trying.
import { operationsOf } from '../operation.ts'
import { unknownName } from '../unknown-names.ts'
import * as answers from './answers.ts'
import { Overview, WhoAmI } from './schemas.ts'

export const account = operationsOf(answers, {
  getOverview: {
    method: 'GET',
    url: '/api/v1/apiClient/overview',
    summary: 'The account at a glance',
    tag: 'Overview',
    description:
      'Exact counts from one moment. Each is the `total` of the token list with the matching filters: `status`, ' +
      '`effectiveStatus`, `used=never`, `expiresFrom` and `expiresBefore`, `createdFrom` and `createdBefore`.',
    data: Overview,
    success: { message: 'Overview retrieved successfully' },
    failures: { 400: [unknownName('parameter', 'verbose', [])] },
  },
  whoami: {
    method: 'GET',
    url: '/api/v1/apiClient/whoami',
    summary: 'Who is asking, and what they may do',
    tag: 'Overview',
    right: null,
    data: WhoAmI,
    success: { message: 'Caller retrieved successfully' },
    failures: { 400: [unknownName('parameter', 'verbose', [])] },
  },
})
