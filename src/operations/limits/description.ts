// What policies do: to one token, and what another policy would do to the tokens of a sub-account.
import { Type } from 'typebox'
import { NOT_AN_ADDRESS } from '../../tokens/model/access.ts'
import { reasonOf } from '../../tokens/model/errors.ts'
import { operationsOf } from '../operation.ts'
import { count, NOT_YOURS, oneOf, timeOrNull } from '../schemas.ts'
import { SubAccountId } from '../sub-accounts/schemas.ts'
import { Token, TokenId } from '../tokens/schemas.ts'
import * as answers from './answers.ts'
import { beyondDocument, Explanation, Scope, SubAccountPolicyPatch } from './schemas.ts'

const Loss = Type.Object({
  reason: oneOf(['lifetime', 'address', 'scope'], 'As verification would say it'),
  extent: oneOf(['all', 'some'], '`all`: nothing that needs it would be accepted'),
})
const AffectedToken = Type.Object(
  {
    _id: Token.properties._id,
    name: Token.properties.name,
    lastUsedAt: timeOrNull('When it was last used; null for never'),
    losses: Type.Array(Loss),
  },
  { title: 'AffectedToken' },
)
const PolicyImpact = Type.Object(
  {
    active: count('Active tokens of the sub-account'),
    examined: count('How many of them were examined: the newest 10,000 at most'),
    affected: count('How many of those would lose something'),
    inUse: count('How many of the affected ones were used within a week'),
    sample: Type.Array(AffectedToken, { description: 'At most 20 of them, those used last first' }),
  },
  { title: 'PolicyImpact' },
)

export const limits = operationsOf(answers, {
  explainToken: {
    method: 'GET',
    url: '/api/v1/apiClient/token/:id/explain',
    summary: 'What verification would say of a token, and why',
    description: 'Uses nothing up. Without `address`, a token that is bound to addresses is refused.',
    tag: 'Tokens',
    params: TokenId,
    querystring: Type.Object({ scope: Type.Optional(Scope), address: Type.Optional(Type.String()) }),
    data: Explanation,
    success: { message: 'API token explained successfully' },
    failures: { 400: ['scope must name at most 64 scopes', NOT_AN_ADDRESS], 404: [reasonOf('token-not-found')] },
  },
  previewPolicy: {
    method: 'POST',
    url: '/api/v1/apiClient/sub-account/:id/policy-impact',
    isQuestion: true,
    summary: 'Which tokens another policy of their sub-account would cut off',
    description:
      'Changes nothing. By the policies, the lifetimes and the last uses of its active tokens. Rates and quotas are not considered: all tokens share them.',
    tag: 'Sub-accounts',
    right: 'change',
    params: SubAccountId,
    body: Type.Object({ policy: beyondDocument(SubAccountPolicyPatch).policy }, { title: 'PolicyPreview' }),
    data: PolicyImpact,
    success: { message: 'Found 1 token(s) that would lose something' },
    failures: { 400: ['policy is required'], 403: NOT_YOURS },
  },
})
