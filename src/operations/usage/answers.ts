// How often verification has accepted and refused: of one token, of a sub-account, or of the account.
import { readOnce } from '../../tokens/model/page.ts'
import { readUsageRange } from '../../tokens/usage/usage.ts'
import type { Input, Service } from '../operation.ts'
import { recentToWire, usageToWire } from './document.ts'

export async function getTokenUsage({ registry: { usage } }: Service, { caller, params, query, origin }: Input) {
  const range = readUsageRange(query, origin.at)
  return { data: usageToWire(range, await usage.ofToken(caller, params.id, range)), tokenId: params.id }
}

export async function getUsage({ registry: { usage } }: Service, { caller, query, origin }: Input) {
  const range = readUsageRange(query, origin.at)
  return { data: usageToWire(range, await usage.ofAccount(caller, readOnce(query, 'subAccountId'), range)) }
}

export async function getTokenRecent({ registry: { usage } }: Service, { caller, params }: Input) {
  return { data: recentToWire(await usage.recentOf(caller, params.id)), tokenId: params.id }
}
