// The history of one token, or of the whole account.

import { type HistoryRequest, readHistoryQuery } from '../../tokens/history/history.ts'
import { Failure } from '../../tokens/model/errors.ts'
import { type RawQuery, readOnce } from '../../tokens/model/page.ts'
import type { Input, Service } from '../operation.ts'
import { historyToWire, idsIn } from './document.ts'

/** What `include` takes. */
export const SUB_ACCOUNT = 'subAccount'

export async function listAccountHistory(service: Service, input: Input) {
  return answered(service, input, readHistoryQuery(input.query))
}

export async function listTokenHistory(service: Service, input: Input) {
  const { params, query } = input
  const asked = { ...readHistoryQuery(query), tokenId: params.id, withSubAccount: readInclude(query) }
  return answered(service, input, asked)
}

function readInclude(query: RawQuery): boolean {
  const include = readOnce(query, 'include')
  if (include === undefined || include === SUB_ACCOUNT) return include !== undefined
  throw new Failure('invalid-request', `include must be ${SUB_ACCOUNT}`)
}

async function answered({ registry }: Service, { caller }: Input, asked: HistoryRequest) {
  const page = await registry.listHistory(caller, asked)
  const names = await registry.findNames(caller, idsIn(page))
  const data = historyToWire(page, names, ({ seq }) => registry.feed.positionOf(caller, seq))
  return { message: `Found ${page.total} history entry(s)`, data }
}
