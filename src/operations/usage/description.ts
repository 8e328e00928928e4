// How often verification has accepted and refused: of one token, of a sub-account, or of the account.
import { Type } from 'typebox'
import { reasonOf } from '../../tokens/model/errors.ts'
import { NOT_A_TIME } from '../../tokens/model/times.ts'
import { BAD_PER, KEPT_DAYS } from '../../tokens/usage/usage.ts'
import { MOST_KEPT, RECENT_DAYS } from '../../tokens/verify/recent-verifications.ts'
import { operationsOf } from '../operation.ts'
import { NOT_YOURS } from '../schemas.ts'
import { TokenId } from '../tokens/schemas.ts'
import * as answers from './answers.ts'
import { exportUsage } from './export.ts'
import { RecentVerifications, Usage } from './schemas.ts'

const { hour, day } = KEPT_DAYS

const shared = {
  method: 'GET',
  tag: 'Usage',
  portal: 'usage',
  description:
    'Verifications of known credentials: what is unknown is of no token. Written every 4 seconds, by verifiers with their leases; a ' +
    'process that is killed loses what it has not written.',
  querystring: Type.Object({
    per: Type.Optional(
      Type.String({
        enum: ['hour', 'day'],
        default: 'day',
        description: `Hours are kept for ${hour} days, days for ${day}`,
      }),
    ),
    from: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'From the hour or day of this time on; by default 24 hours or 30 days before the end',
      }),
    ),
    before: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Only hours or days before this time; by default all until now',
      }),
    ),
  }),
  data: Usage,
  success: { message: 'Usage retrieved successfully' },
  csv: { name: 'usage', begin: exportUsage },
} as const

const BAD_RANGE = [
  BAD_PER,
  `from ${NOT_A_TIME}`,
  'from must be earlier than before',
  `Usage per hour goes back ${hour} days, to 2026-01-17T09:00:00.000Z`,
  `Usage per hour is answered for at most ${hour} days at once`,
]

export const usage = operationsOf(answers, {
  getTokenUsage: {
    ...shared,
    url: '/api/v1/apiClient/token/:id/usage',
    summary: 'How often a token was accepted and refused',
    params: TokenId,
    failures: { 400: BAD_RANGE, 404: [reasonOf('token-not-found')] },
  },
  getUsage: {
    ...shared,
    url: '/api/v1/apiClient/usage',
    summary: 'How often the tokens of a sub-account or of the account were accepted and refused',
    description: `${shared.description} Deleted tokens still count.`,
    querystring: Type.Object({
      ...shared.querystring.properties,
      subAccountId: Type.Optional(
        Type.String({ description: 'Only its tokens; without it, those of all sub-accounts that the caller sees' }),
      ),
    }),
    failures: { 400: BAD_RANGE, 403: NOT_YOURS },
  },
  getTokenRecent: {
    method: 'GET',
    tag: 'Usage',
    url: '/api/v1/apiClient/token/:id/recent',
    portal: 'usage',
    summary: 'From where a token was accepted last, and why it was refused',
    description:
      `The last ${MOST_KEPT} addresses, and the last ${MOST_KEPT} refusals that differ in reason or address, of ${RECENT_DAYS} days. ` +
      'Written as usage is.',
    params: TokenId,
    data: RecentVerifications,
    success: { message: 'Recent verifications retrieved successfully' },
    failures: { 404: [reasonOf('token-not-found')] },
  },
})
