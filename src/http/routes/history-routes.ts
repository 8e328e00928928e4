// The history of one token, or of the whole account.
import { Type } from 'typebox'
import { historyToWire, idsIn } from '../../operations/history/document.ts'
import { exportHistory } from '../../operations/history/export.ts'
import { Failure, reasonOf } from '../../tokens/errors.ts'
import { ACTIONS } from '../../tokens/model/actions.ts'
import { type RawQuery, readOnce } from '../../tokens/model/page.ts'
import type { Caller } from '../../tokens/model/permissions.ts'
import { NOT_A_TIME } from '../../tokens/model/times.ts'
import { EFFECTS, type HistoryQuery, NOT_A_POSITION, readHistoryQuery } from '../../tokens/record/history.ts'
import type { Registry } from '../../tokens/registry.ts'
import type { AccountRoute } from './route.ts'
import * as schemas from './schemas.ts'

const BAD_QUERY = ['limit must be a whole number from 1 to 100', `from ${NOT_A_TIME}`, `after ${NOT_A_POSITION}`]

const SUB_ACCOUNT = 'subAccount'

/** Instead of `page`. Of all that follow, the answer has the first `limit`, and their number. */
const position = (description: string) =>
  Type.Optional(
    Type.String({ description: `${description}. A position is the \`seq\` of an entry; not with \`page\`` }),
  )

const shared = {
  tag: 'History',
  querystring: Type.Object({
    ...schemas.PageParameters,
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
  data: schemas.HistoryPage,
  success: { message: 'Found 1 history entry(s)' },
  csv: { name: 'history', begin: exportHistory },
}

const accountHistory: AccountRoute = {
  method: 'GET',
  url: '/api/v1/apiClient/history',
  ...shared,
  querystring: Type.Object({
    ...shared.querystring.properties,
    subAccountId: Type.Optional(Type.String({ description: 'Only what was done to this sub-account and its tokens' })),
  }),
  operationId: 'listAccountHistory',
  summary: 'History of the account, newest first',
  failures: { 400: BAD_QUERY },
  async answer(registry, { caller, query }) {
    return historyResult(registry, caller, readHistoryQuery(query))
  },
}

const tokenHistory: AccountRoute = {
  method: 'GET',
  url: '/api/v1/apiClient/token/:id/history',
  ...shared,
  operationId: 'listTokenHistory',
  summary: 'History of one token, newest first, also after its deletion',
  querystring: Type.Object({
    ...shared.querystring.properties,
    include: Type.Optional(
      Type.String({
        enum: [SUB_ACCOUNT],
        description: 'Also what was done to the policy or the suspension of its sub-account while the token was there',
      }),
    ),
  }),
  params: schemas.TokenId,
  failures: { 400: BAD_QUERY, 404: [reasonOf('token-not-found')] },
  async answer(registry, { caller, params, query }) {
    const asked = { ...readHistoryQuery(query), tokenId: params.id, withSubAccount: readInclude(query) }
    return historyResult(registry, caller, asked)
  },
}

export const historyRoutes = { accountHistory, tokenHistory }

function readInclude(query: RawQuery): boolean {
  const include = readOnce(query, 'include')
  if (include === undefined || include === SUB_ACCOUNT) return include !== undefined
  throw new Failure('invalid-request', `include must be ${SUB_ACCOUNT}`)
}

async function historyResult(registry: Registry, caller: Caller, query: HistoryQuery) {
  const page = await registry.listHistory(caller, query)
  const data: schemas.WireHistoryPage = historyToWire(page, await registry.findNames(caller, idsIn(page)), (row) =>
    registry.feed.positionOf(caller, row.seq),
  )
  return { message: `Found ${page.total} history entry(s)`, data }
}
