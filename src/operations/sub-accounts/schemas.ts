// Sub-accounts as they are sent.
import { Type } from 'typebox'
import { SUB_ACCOUNT_STATUSES } from '../../tokens/model/update.ts'
import { metadataOrNull, policyOrNull, SubAccountPolicy } from '../limits/schemas.ts'
import { count, oneOf, pageFields, text, time, timeOrNull } from '../schemas.ts'

export const SubAccountSummary = Type.Object(
  {
    _id: text('Sub-account identifier', 'sub_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
    name: text('What people call it', 'Berlin agency'),
    email: text('How its contact person is reached', 'ops@berlin.example'),
    companyName: text('The company behind the sub-account', 'Berlin Agency GmbH'),
  },
  { title: 'SubAccountSummary' },
)

export const SubAccount = Type.Object(
  {
    ...SubAccountSummary.properties,
    status: oneOf(SUB_ACCOUNT_STATUSES, 'While suspended, none of its tokens authenticates'),
    createdAt: time('Time of creation'),
    suspendedAt: timeOrNull('Since when it is suspended'),
    tokens: Type.Object({
      active: count('Tokens with status active'),
      inactive: count('Tokens with status inactive'),
    }),
    policy: policyOrNull(SubAccountPolicy),
    metadata: metadataOrNull,
  },
  { title: 'SubAccount' },
)

export const SubAccountPage = Type.Object(pageFields(SubAccount), { title: 'SubAccountPage' })

export const SubAccountId = Type.Object({ id: Type.String({ description: 'The sub-account id' }) })
