// What is done with sub-accounts.
import { readPageRequest, readSearch } from '../../tokens/model/page.ts'
import type { SubAccountRow } from '../../tokens/model/token.ts'
import { fingerprintOf, readNewSubAccount, readSubAccountPatch } from '../../tokens/model/update.ts'
import { etagOf, readIdempotencyKey, readIfMatch } from '../conditions.ts'
import { type Input, listed, type Service } from '../operation.ts'
import { subAccountToWire } from './document.ts'

export async function listSubAccounts({ registry }: Service, { caller, query }: Input) {
  const asked = { ...readPageRequest(query), search: readSearch(query) }
  return listed(await registry.listSubAccounts(caller, asked), 'sub-account(s)', subAccountToWire)
}

export async function createSubAccount({ registry }: Service, { caller, body, headers, origin }: Input) {
  const [fields, key] = [readNewSubAccount(body), readIdempotencyKey(headers)]
  return answered(await registry.createSubAccount(caller, fields, origin, key))
}

export async function getSubAccount({ registry }: Service, { caller, params }: Input) {
  return answered(await registry.getSubAccount(caller, params.id))
}

export async function patchSubAccount({ registry }: Service, { caller, params, headers, body, origin }: Input) {
  const update = readSubAccountPatch(body)
  return answered(await registry.updateSubAccount(caller, params.id, update, origin, readIfMatch(headers)))
}

function answered(row: SubAccountRow) {
  return { data: subAccountToWire(row), headers: { etag: etagOf(fingerprintOf(row.subAccount)) } }
}
