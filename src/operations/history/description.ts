// The history of one token, or of the whole account.
import { Type } from 'typebox'
import { ACTIONS } from '../../tokens/history/actions.ts'
import { EFFECTS, NOT_A_POSITION } from '../../tokens/history/history.ts'
import { reasonOf } from '../../tokens/model/errors.ts'
import { NOT_A_TIME } from '../../tokens/model/times.ts'
import { operationsOf } from '../operation.ts'
import { PageParameters } from '../schemas.ts'
import { TokenId } from '../tokens/schemas.ts'
import * as answers from './answers.ts'
import { exportHistory } from './export.ts'
import { HistoryPage } from './schemas.ts'

const BAD_QUERY = ['limit must be a whole number from 1 to 100', `from ${NOT_A_TIME}`, `after ${NOT_A_POSITION}`]

/** Instead of `page`. Of all that follow, the answer has the first `limit`, and their number. */
const position = (description: string) =>
  Type.Optional(
    Type.String({ description: `${description}. A position is the \`seq\` of an entry; not with \`page\`` }),
  )

const shared = {
  tag: 'History',
  querystring: Type.Object({
    ...PageParameters,
    by: Type.Optional(Type.String({ description: 'Only what this actor did' })),
    action: Type.Optional(Type.String({ enum: [...ACTIONS], description: 'Only this kind of change' })),
    effect: Type.Optional(
      Type.String({
        enum: [...EFFECTS],
        description: 'Only what took access away: disabled, rotated, deleted, suspended, revoked, signed out by others',
      }),
    ),
    from: Type.Optional(Type.String({ format: 'date-time', description: 'Only changes at this time or later' })),
    before: Type.Optional(Type.String({ format: 'date-time', description: 'Only changes before this time' })),
    after: position('Only entries after this position, oldest first; 0 for the first one'),
    beforePosition: position('Only entries before this position, newest first'),
  }),
  data: HistoryPage,
  success: { message: 'Found 1 history entry(s)' },
  csv: { name: 'history', begin: exportHistory },
}

export const history = operationsOf(answers, {
  listAccountHistory: {
    method: 'GET',
    url: '/api/v1/apiClient/history',
    ...shared,
    querystring: Type.Object({
      ...shared.querystring.properties,
      subAccountId: Type.Optional(
        Type.String({ description: 'Only what was done to this sub-account and its tokens' }),
      ),
    }),
    summary: 'History of the account, newest first',
    failures: { 400: BAD_QUERY },
  },
  listTokenHistory: {
    method: 'GET',
    url: '/api/v1/apiClient/token/:id/history',
    ...shared,
    summary: 'History of one token, newest first, also after its deletion',
    querystring: Type.Object({
      ...shared.querystring.properties,
      include: Type.Optional(
        Type.String({
          enum: [answers.SUB_ACCOUNT],
          description:
            'Also what was done to the policy or the suspension of its sub-account while the token was there',
        }),
      ),
    }),
    params: TokenId,
    failures: { 400: BAD_QUERY, 404: [reasonOf('token-not-found')] },
  },
})
