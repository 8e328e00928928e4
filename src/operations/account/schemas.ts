// The account at a glance, and the caller, as they are sent.
import { Type } from 'typebox'
import { EXPIRING_DAYS, IDLE_DAYS, WEEKS } from '../../tokens/model/overview.ts'
import { Permissions } from '../permissions.ts'
import { count, oneOf, text, time } from '../schemas.ts'
import { SubAccount, SubAccountSummary } from '../sub-accounts/schemas.ts'

export const Overview = Type.Object(
  {
    account: Type.Object({
      _id: text('Account identifier', 'acc_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
      name: text('Account name', 'Acme'),
    }),
    at: time('The moment of which all this is true'),
    tokens: Type.Object({
      active: count('Tokens with status active'),
      inactive: count('Tokens with status inactive'),
      neverUsed: count('Tokens never used'),
      idle: count(`Tokens made and last used more than ${IDLE_DAYS} days ago, or never used`),
      expired: count('Status active, but expired'),
      suspended: count('Status active and not expired, but the sub-account is suspended'),
      expiringSoon: count(`Status active, and will expire within ${EXPIRING_DAYS} days`),
    }),
    expiringBefore: time('The end of those days'),
    subAccounts: Type.Object({
      total: count('All sub-accounts'),
      suspended: count('Suspended ones'),
      largest: Type.Array(SubAccount, { description: 'Those with the most tokens' }),
    }),
    busiest: Type.Array(
      Type.Object({
        _id: text('Token identifier', 'tok_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
        name: text('Its name', 'CI pipeline'),
        subAccount: SubAccountSummary,
        accepted: count('Accepted verifications of the last 7 days'),
      }),
      {
        description:
          'The tokens used most in the last 7 days. Every token with more than a 51st of the uses of one of these days is considered',
      },
    ),
    createdByWeek: Type.Array(
      Type.Object({ from: time('Monday, UTC'), before: time('The next'), count: count('Tokens') }),
      {
        description: `Tokens by time of creation: the last ${WEEKS} weeks, oldest first`,
      },
    ),
  },
  { title: 'Overview' },
)

const CALLER_KINDS = ['key', 'jwt', 'oidc'] as const

export const WhoAmI = Type.Object(
  {
    account: Type.Object({
      _id: text('Account identifier', 'acc_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
      name: text('Account name', 'Acme'),
    }),
    caller: Type.Object({
      kind: oneOf(
        CALLER_KINDS,
        'An account key, a JWT of the identity provider, or a person who is signed in to the console',
      ),
      _id: text('As the history names the caller in `by`', 'key_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
      name: text("What the account key is called, the JWT's subject, or the person's e-mail address", 'Console'),
    }),
    permissions: Type.Object({
      ...Permissions,
    }),
  },
  { title: 'WhoAmI' },
)
