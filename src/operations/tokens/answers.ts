// What is done with one token, or listed of many.
import { Failure } from '../../tokens/model/errors.ts'
import { type RawQuery, readOnce, readTokenQuery } from '../../tokens/model/page.ts'
import type { Token } from '../../tokens/model/token.ts'
import { readNewToken, readOverlap, readTokenPatch, readTokenUpdate } from '../../tokens/model/update.ts'
import type { TokenView } from '../../tokens/service/token-views.ts'
import { etagOf, readIdempotencyKey, readVersions } from '../conditions.ts'
import { type Input, listed, type Service } from '../operation.ts'
import { tokenToWire } from './document.ts'

export async function listTokens({ registry }: Service, { caller, query, origin }: Input) {
  const [asked, view] = [readTokenQuery(query, origin.at), readView(query)]
  return listed(await registry.listTokens(caller, asked, view), 'API token(s)', tokenToWire)
}

export async function listTokensOfSubAccount(service: Service, { params, query, ...input }: Input) {
  return listTokens(service, { ...input, params, query: { ...query, subAccountId: params.subAccountId } })
}

export async function getToken({ registry }: Service, { caller, params, query }: Input) {
  return answered(await registry.getToken(caller, params.id, readView(query)))
}

export async function updateToken(service: Service, input: Input) {
  const [update, view] = [readTokenUpdate(input.body), readMasked(input.query)]
  const { caller, params, origin, headers } = input
  return answered(await service.registry.updateToken(caller, params.id, update, origin, readVersions(headers), view))
}

export async function patchToken({ registry }: Service, { caller, params, query, body, headers, origin }: Input) {
  const [update, view] = [readTokenPatch(body), { ...readMasked(query), details: true }]
  return answered(await registry.updateToken(caller, params.id, update, origin, readVersions(headers), view))
}

export async function createToken({ registry }: Service, { caller, body, headers, origin }: Input) {
  return answered(await registry.createToken(caller, readNewToken(body), origin, readIdempotencyKey(headers)))
}

export async function deleteToken({ registry }: Service, { caller, params, headers, origin }: Input) {
  const { id } = await registry.deleteToken(caller, params.id, origin, readVersions(headers))
  return { data: { _id: id }, tokenId: id }
}

export async function rotateToken({ registry }: Service, { caller, params, body, headers, origin }: Input) {
  const [overlap, expected, key] = [readOverlap(body), readVersions(headers), readIdempotencyKey(headers)]
  return answered(await registry.rotateToken(caller, params.id, overlap, origin, expected, key))
}

export async function revealToken({ registry }: Service, { caller, params, headers, origin }: Input) {
  const [expected, key] = [readVersions(headers), readIdempotencyKey(headers)]
  return answered(await registry.revealToken(caller, params.id, origin, expected, key))
}

function readView(query: RawQuery): TokenView {
  const include = readOnce(query, 'include')
  if (include !== undefined && include !== 'details') throw new Failure('invalid-request', 'include must be details')
  return { details: include !== undefined, ...readMasked(query) }
}

/** PUT and PATCH take it too: their answers then show no credential. */
function readMasked(query: RawQuery): TokenView {
  const credentials = readOnce(query, 'credentials')
  if (credentials !== undefined && credentials !== 'masked') {
    throw new Failure('invalid-request', 'credentials must be masked')
  }
  return { masked: credentials !== undefined }
}

function answered(token: Token) {
  return { data: tokenToWire(token), headers: { etag: etagOf(token.version) }, tokenId: token.id }
}
