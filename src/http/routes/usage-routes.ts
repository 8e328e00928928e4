// How often verification has accepted and refused: of one token, of a sub-account, or of the account.
import { type Static, Type } from 'typebox'
import { recentToWire, usageToWire } from '../../operations/usage/document.ts'
import { exportUsage } from '../../operations/usage/export.ts'
import { reasonOf } from '../../tokens/errors.ts'
import { readOnce } from '../../tokens/model/page.ts'
import { NOT_A_TIME } from '../../tokens/model/times.ts'
import { BAD_PER, KEPT_DAYS, type Per, readUsageRange } from '../../tokens/model/usage.ts'
import { MOST_KEPT, RECENT_DAYS, REFUSED, type RefusedFor } from '../../tokens/verify/recent-verifications.ts'
import type { ServerParts } from './route.ts'
import { type AccountRoute, NOT_YOURS } from './route.ts'
import * as schemas from './schemas.ts'

const Refused = Type.Object(
  Object.fromEntries(REFUSED.map((reason) => [reason, schemas.count(`Refused because of \`${reason}\``)])) as Record<
    RefusedFor,
    ReturnType<typeof schemas.count>
  >,
)

const Usage = Type.Object(
  {
    per: schemas.oneOf<Per>(['hour', 'day'], 'What each bucket covers, in UTC'),
    buckets: Type.Array(
      Type.Object({
        from: schemas.time('The beginning of the hour or day'),
        accepted: schemas.count('Accepted verifications'),
        refused: Refused,
      }),
      { description: 'Oldest first, empty ones included' },
    ),
  },
  { title: 'Usage' },
)
type WireUsage = Static<typeof Usage>

const from = {
  address: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'Of the client; null: not known',
    examples: ['203.0.113.9'],
  }),
  at: schemas.time('The last time, to the minute'),
}

const RecentVerifications = Type.Object(
  {
    accepted: Type.Array(Type.Object(from, { title: 'AcceptedVerification' }), {
      maxItems: MOST_KEPT,
      description: 'The last addresses, newest first',
    }),
    refused: Type.Array(
      Type.Object(
        { reason: schemas.oneOf<RefusedFor>(REFUSED, 'As in `X-Latchkey-Reason`'), ...from },
        { title: 'RefusedVerification' },
      ),
      { maxItems: MOST_KEPT, description: 'The last reasons and addresses, newest first' },
    ),
  },
  { title: 'RecentVerifications' },
)
type WireRecent = Static<typeof RecentVerifications>

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

export function usageRoutes({ now }: ServerParts): readonly AccountRoute[] {
  const ofToken: AccountRoute = {
    ...shared,
    url: '/api/v1/apiClient/token/:id/usage',
    operationId: 'getTokenUsage',
    summary: 'How often a token was accepted and refused',
    params: schemas.TokenId,
    failures: { 400: BAD_RANGE, 404: [reasonOf('token-not-found')] },
    async answer({ usage }, { caller, params, query }) {
      const range = readUsageRange(query, now())
      const data: WireUsage = usageToWire(range, await usage.ofToken(caller, params.id, range))
      return { data, tokenId: params.id }
    },
  }
  const ofAccount: AccountRoute = {
    ...shared,
    url: '/api/v1/apiClient/usage',
    operationId: 'getUsage',
    summary: 'How often the tokens of a sub-account or of the account were accepted and refused',
    description: `${shared.description} Deleted tokens still count.`,
    querystring: Type.Object({
      ...shared.querystring.properties,
      subAccountId: Type.Optional(
        Type.String({ description: 'Only its tokens; without it, those of all sub-accounts that the caller sees' }),
      ),
    }),
    failures: { 400: BAD_RANGE, 403: NOT_YOURS },
    async answer({ usage }, { caller, query }) {
      const range = readUsageRange(query, now())
      const data: WireUsage = usageToWire(range, await usage.ofAccount(caller, readOnce(query, 'subAccountId'), range))
      return { data }
    },
  }
  const recent: AccountRoute = {
    method: 'GET',
    tag: 'Usage',
    url: '/api/v1/apiClient/token/:id/recent',
    operationId: 'getTokenRecent',
    portal: 'usage',
    summary: 'From where a token was accepted last, and why it was refused',
    description:
      `The last ${MOST_KEPT} addresses, and the last ${MOST_KEPT} refusals that differ in reason or address, of ${RECENT_DAYS} days. ` +
      'Written as usage is.',
    params: schemas.TokenId,
    data: RecentVerifications,
    success: { message: 'Recent verifications retrieved successfully' },
    failures: { 404: [reasonOf('token-not-found')] },
    async answer({ usage }, { caller, params }) {
      const data: WireRecent = recentToWire(await usage.recentOf(caller, params.id))
      return { data, tokenId: params.id }
    },
  }
  return [ofToken, ofAccount, recent]
}
