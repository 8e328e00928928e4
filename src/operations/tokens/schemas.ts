// Tokens as they are sent.
import { Type } from 'typebox'
import { STATUSES } from '../../tokens/model/token.ts'
import { EFFECTIVE_STATUSES } from '../../tokens/verify/verdict.ts'
import { metadataOrNull, policyOrNull, TokenPolicy } from '../limits/schemas.ts'
import { count, oneOf, orNull, pageFields, text, time, timeOrNull } from '../schemas.ts'
import { SubAccountSummary } from '../sub-accounts/schemas.ts'

const TokenDetails = Type.Object(
  {
    expiresAt: timeOrNull(
      'When the token itself expires; null for never. Its sub-account can end it sooner: see `effectiveStatus`',
    ),
    lastUsedAt: timeOrNull('Last accepted verification, to the minute; null for never'),
    usage: Type.Object(
      {
        day: count('In the last 24 hours'),
        week: count('In the last 7 days'),
        month: count('In the last 30 days'),
      },
      { description: 'Accepted verifications, written every 4 seconds; with the hour or the day that has begun' },
    ),
    version: count('Counts the changes; also the ETag'),
    formerCredentialUntil: timeOrNull('Until when a credential that was rotated out still works'),
    formerCredentialLastUsedAt: timeOrNull('When such a credential was last used, to the minute; null for never'),
    formerCredentialLastUsedFrom: orNull(text('The address that it was used from then', '203.0.113.7')),
    effectiveStatus: oneOf(EFFECTIVE_STATUSES, 'What verification would say now'),
    blockedBy: Type.Unsafe<'token' | 'expiry' | 'sub-account' | null>({
      type: ['string', 'null'],
      enum: ['token', 'expiry', 'sub-account', null],
      description: 'What keeps it from authenticating',
    }),
    credentialUnreadable: Type.Boolean({
      description: 'The stored credential was altered or damaged, and `token` is empty; rotating gives it a new one',
    }),
    metadata: metadataOrNull,
    tags: Type.Array(Type.String(), { description: 'Words of your own; lists can be filtered by them' }),
    policy: policyOrNull(TokenPolicy),
  },
  { title: 'TokenDetails', description: 'In reads with `include=details`, and in every answer to PATCH' },
)

export const Token = Type.Object(
  {
    _id: text('Token identifier', 'tok_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
    name: text('Unique within its sub-account', 'CI pipeline'),
    token: text(
      'The credential: keep it out of logs. Masked with `credentials=masked`, and for callers without the right to see it',
      'lk_tok_…',
    ),
    status: oneOf(STATUSES, 'Only an active token authenticates'),
    createdAt: time('Time of creation'),
    subAccount: SubAccountSummary,
    details: Type.Optional(TokenDetails),
  },
  { title: 'Token' },
)

export const DeletedToken = Type.Object(
  { _id: text('The deleted token', 'tok_019b2f0c5a3c8e1d2c3b4a5f6e7d') },
  { title: 'DeletedToken' },
)

export const TokenPage = Type.Object(pageFields(Token), { title: 'TokenPage' })
export const TokenId = Type.Object({ id: Type.String({ description: 'The token id' }) })
