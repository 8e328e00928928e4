// Sessions of the portal as they are made, begun and listed.
import { Type } from 'typebox'
import { PORTAL_USES, type PortalUse } from '../../tokens/model/permissions.ts'
import { CODE_MINUTES } from '../../tokens/portal/session.ts'
import { oneOf, orNull, text, time } from '../schemas.ts'
import { SubAccountSummary } from '../sub-accounts/schemas.ts'

export const May = Type.Array(oneOf<PortalUse>(PORTAL_USES, 'What the session is for'), {
  minItems: 1,
  uniqueItems: true,
  description:
    '`read` tokens, without other credentials than new ones, `create` them, `rotate` them, `disable` them (not enable), and see their `usage`',
  examples: [[...PORTAL_USES]],
})
export const Code = Type.String({
  description: `Works once, within ${CODE_MINUTES} minutes`,
  examples: ['lk_portal_…'],
})
export const expiresAt = time('When the session ends')

export const ListedPortalSession = Type.Object(
  {
    _id: text('Identifier, as in `portal:` of the history', 'por_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
    subAccountId: text('Whose tokens', 'sub_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
    may: May,
    origin: orNull(text('The only page that may use it; null without one', 'https://app.example.com')),
    by: text('Who has made it, as in the history', 'oidc:alice'),
    byName: orNull(text('What they were called then', 'alice@example.com')),
    createdAt: time('When it was made'),
    expiresAt: time('When it ends unless its maker or somebody else ends it before'),
  },
  { title: 'ListedPortalSession' },
)

export const PortalSession = Type.Object(
  {
    session: text('The bearer of the requests that the session is for, shown only once', 'lk_portal_…'),
    expiresAt,
    subAccount: SubAccountSummary,
    may: May,
  },
  { title: 'PortalSession' },
)
export const PortalCode = Type.Object({ code: Code }, { title: 'PortalCode' })
