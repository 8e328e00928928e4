// Counts of verifications, and the last ones of a token, as they are sent.
import { Type } from 'typebox'
import type { Per } from '../../tokens/usage/usage.ts'
import { MOST_KEPT, REFUSED, type RefusedFor } from '../../tokens/verify/recent-verifications.ts'
import { count, oneOf, time } from '../schemas.ts'

const Refused = Type.Object(
  Object.fromEntries(REFUSED.map((reason) => [reason, count(`Refused because of \`${reason}\``)])) as Record<
    RefusedFor,
    ReturnType<typeof count>
  >,
)

export const Usage = Type.Object(
  {
    per: oneOf<Per>(['hour', 'day'], 'What each bucket covers, in UTC'),
    buckets: Type.Array(
      Type.Object({
        from: time('The beginning of the hour or day'),
        accepted: count('Accepted verifications'),
        refused: Refused,
      }),
      { description: 'Oldest first, empty ones included' },
    ),
  },
  { title: 'Usage' },
)

const from = {
  address: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'Of the client; null: not known',
    examples: ['203.0.113.9'],
  }),
  at: time('The last time, to the minute'),
}

export const RecentVerifications = Type.Object(
  {
    accepted: Type.Array(Type.Object(from, { title: 'AcceptedVerification' }), {
      maxItems: MOST_KEPT,
      description: 'The last addresses, newest first',
    }),
    refused: Type.Array(
      Type.Object(
        { reason: oneOf<RefusedFor>(REFUSED, 'As in `X-Latchkey-Reason`'), ...from },
        { title: 'RefusedVerification' },
      ),
      { maxItems: MOST_KEPT, description: 'The last reasons and addresses, newest first' },
    ),
  },
  { title: 'RecentVerifications' },
)
