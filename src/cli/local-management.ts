// Management of the store that this process has opened, as its operator.
import type {
  Access,
  BulkOperation,
  BulkRequest,
  NewKey,
  NewSubAccount,
  NewToken,
  NewWebhook,
  SubAccountPatch,
  TokenPatch,
  WebhookPatch,
} from '../../client/latchkey-client.ts'
import type { Latchkey } from '../compose.ts'
import { permissionsToWire } from '../operations/account/document.ts'
import { bulkToWire, previewToWire } from '../operations/bulk/document.ts'
import { historyToWire, idsIn } from '../operations/history/document.ts'
import { exportHistory } from '../operations/history/export.ts'
import { keyToWire } from '../operations/keys/document.ts'
import { exportKeys } from '../operations/keys/export.ts'
import { leakToWire } from '../operations/leaks/document.ts'
import { explanationToWire } from '../operations/limits/document.ts'
import { subAccountToWire } from '../operations/sub-accounts/document.ts'
import { exportSubAccounts } from '../operations/sub-accounts/export.ts'
import { tokenToWire } from '../operations/tokens/document.ts'
import { exportTokens } from '../operations/tokens/export.ts'
import { recentToWire, usageToWire } from '../operations/usage/document.ts'
import { verdictToWire } from '../operations/verification/document.ts'
import { verifierToWire } from '../operations/verifiers/document.ts'
import { deliveryToWire, outcomeToWire, webhookToWire } from '../operations/webhooks/document.ts'
import type { Text } from '../tokens/leaks/candidates.ts'
import { readAccess } from '../tokens/model/access.ts'
import { readBulkRequest } from '../tokens/model/bulk.ts'
import { type RawQuery, readPageRequest, readSearch, readTokenQuery } from '../tokens/model/page.ts'
import { type Caller, permissionsOf } from '../tokens/model/permissions.ts'
import { parseTime } from '../tokens/model/times.ts'
import {
  readNewSubAccount,
  readNewToken,
  readOverlap,
  readSubAccountPatch,
  readTokenPatch,
} from '../tokens/model/update.ts'
import { readUsageRange } from '../tokens/model/usage.ts'
import { readNewWebhook, readWebhookPatch } from '../tokens/model/webhook.ts'
import type { CreatedToken } from '../tokens/operator.ts'
import { readHistoryQuery } from '../tokens/record/history.ts'
import { type ExportedList, type Management, UsageError } from './management.ts'
import { untilOver } from './until-over.ts'

const NO_ACCOUNT = 'Name the account: --account ID. `latchkey account list` shows all of this store.'
const EXPORTS = { tokens: exportTokens, 'sub-accounts': exportSubAccounts, keys: exportKeys, history: exportHistory }
const DETAILED = { details: true, masked: true } as const

export class LocalManagement implements Management {
  readonly #latchkey: Latchkey
  readonly #accountId: string | undefined

  /** The account is needed only for what no id belongs to yet: lists, and what is created. */
  constructor(latchkey: Latchkey, accountId: string | undefined) {
    this.#latchkey = latchkey
    this.#accountId = accountId
  }

  get #operator() {
    return this.#latchkey.operator
  }

  get #registry() {
    return this.#latchkey.registry
  }

  async #forAccount(accountId = this.#accountId): Promise<Caller> {
    if (accountId === undefined) throw new UsageError(NO_ACCOUNT)
    return this.#operator.actFor((await this.#operator.getAccount(accountId)).id)
  }

  async #forOwnerOf(id: string): Promise<Caller> {
    return this.#operator.actFor(await this.#operator.getOwner(id))
  }

  async whoami() {
    const account = this.#accountId === undefined ? null : await this.#operator.getAccount(this.#accountId)
    const { by, permissions } = this.#operator.actFor(account?.id ?? '')
    return {
      account: account && { _id: account.id, name: account.name },
      caller: { kind: 'operator' as const, _id: by, name: by },
      permissions: permissionsToWire(permissions),
    }
  }

  /** A use of the credential, as it is over HTTP. */
  async verify(credential: string, access: Access) {
    const { verification } = this.#registry
    const { address, ...scopes } = readAccess({ ...access })
    try {
      return verdictToWire(await verification.verify(credential, address, () => scopes))
    } finally {
      await verification.flush()
    }
  }

  async listTokens(query: RawQuery) {
    const asked = readTokenQuery(query, this.#operator.origin().at)
    const page = await this.#registry.listTokens(await this.#forAccount(), asked, DETAILED)
    return { ...page, items: page.items.map((token) => asSent(tokenToWire(token))) }
  }

  async getToken(id: string, credentials: 'shown' | 'masked') {
    const view = { details: true, masked: credentials === 'masked' }
    return asSent(tokenToWire(await this.#registry.getToken(await this.#forOwnerOf(id), id, view)))
  }

  async createToken(fields: NewToken, credential: string | undefined) {
    const token = readNewToken(fields)
    const caller = await this.#forOwnerOf(token.subAccountId)
    const { subAccount } = await this.#registry.getSubAccount(caller, token.subAccountId)
    const [created] = await this.#operator.createTokens([{ ...token, accountId: caller.accountId, credential }])
    // Not read back: where credentials are shown once, a failure would lose this one.
    return asSent(tokenToWire({ ...(created as CreatedToken), subAccount, credentialUnreadable: false }))
  }

  async patchToken(id: string, patch: TokenPatch) {
    const [update, caller, origin] = [readTokenPatch(patch), await this.#forOwnerOf(id), this.#operator.origin()]
    return asSent(tokenToWire(await this.#registry.updateToken(caller, id, update, origin, undefined, DETAILED)))
  }

  async rotateToken(id: string, overlapSeconds: number) {
    const [overlap, caller] = [readOverlap({ overlapSeconds }), await this.#forOwnerOf(id)]
    return asSent(tokenToWire(await this.#registry.rotateToken(caller, id, overlap, this.#operator.origin())))
  }

  async deleteToken(id: string) {
    const caller = await this.#forOwnerOf(id)
    return { _id: (await this.#registry.deleteToken(caller, id, this.#operator.origin())).id }
  }

  async explainToken(id: string, access: Access) {
    const asked = readAccess({ ...access })
    return explanationToWire(await this.#registry.explainToken(await this.#forOwnerOf(id), id, asked))
  }

  async tokenUsage(id: string, query: RawQuery) {
    const range = readUsageRange(query, this.#operator.origin().at)
    return usageToWire(range, await this.#registry.usage.ofToken(await this.#forOwnerOf(id), id, range))
  }

  async recentVerifications(id: string) {
    return recentToWire(await this.#registry.usage.recentOf(await this.#forOwnerOf(id), id))
  }

  accountOf(tokenId: string) {
    return this.#operator.getOwner(tokenId)
  }

  async previewChange(fields: BulkRequest) {
    const [caller, origin] = [await this.#forAccount(), this.#operator.origin()]
    return previewToWire(await this.#registry.bulk.preview(caller, readBulkRequest(fields, origin.at), origin))
  }

  async changeTokens(fields: BulkRequest) {
    const [caller, origin] = [await this.#forAccount(), this.#operator.origin()]
    return bulkToWire(await this.#registry.bulk.order(caller, readBulkRequest(fields, origin.at), origin))
  }

  async undoBulk(id: string) {
    return bulkToWire(await this.#registry.bulk.undo(await this.#forOwnerOf(id), id, this.#operator.origin()))
  }

  async getBulk(id: string) {
    return bulkToWire(await this.#registry.bulk.get(await this.#forOwnerOf(id), id))
  }

  async listBulk(query: RawQuery) {
    const page = await this.#registry.bulk.list(await this.#forAccount(), readPageRequest(query))
    return { ...page, items: page.items.map(bulkToWire) }
  }

  async awaitBulk(id: string, onProgress: (operation: BulkOperation) => void) {
    const failed = Promise.withResolvers<never>()
    const onFailed = (_: string, error: unknown) => failed.reject(error)
    const work = this.#latchkey.bulkWork({ onChanged: () => {}, onFailed })
    const look = async () => {
      await work.begin()
      return this.getBulk(id)
    }
    try {
      return await Promise.race([untilOver(look, onProgress), failed.promise])
    } finally {
      await work.stop()
    }
  }

  async disableLeaked(text: Text, dryRun: boolean) {
    const caller = await this.#forAccount()
    return leakToWire(await this.#registry.leaks.endInText(caller, text, dryRun, this.#operator.origin()))
  }

  async listSubAccounts(query: RawQuery) {
    const asked = { ...readPageRequest(query), search: readSearch(query) }
    const page = await this.#registry.listSubAccounts(await this.#forAccount(), asked)
    return { ...page, items: page.items.map(subAccountToWire) }
  }

  async getSubAccount(id: string) {
    return subAccountToWire(await this.#registry.getSubAccount(await this.#forOwnerOf(id), id))
  }

  async createSubAccount(fields: NewSubAccount) {
    const [asked, caller] = [readNewSubAccount(fields), await this.#forAccount()]
    return subAccountToWire(await this.#registry.createSubAccount(caller, asked, this.#operator.origin()))
  }

  async patchSubAccount(id: string, patch: SubAccountPatch) {
    const [update, caller] = [readSubAccountPatch(patch), await this.#forOwnerOf(id)]
    return subAccountToWire(await this.#registry.updateSubAccount(caller, id, update, this.#operator.origin()))
  }

  /** Of keys. */
  async #keyAccount(isForAll: boolean): Promise<string> {
    if (!isForAll) return (await this.#forAccount()).accountId
    if (this.#accountId !== undefined) throw new UsageError('Name an account, or --all, but not both.')
    return (await this.#operator.getAllAccounts()).id
  }

  async listKeys(isForAll: boolean) {
    const accountId = await this.#keyAccount(isForAll)
    return (await this.#operator.listKeys(accountId)).map(keyToWire)
  }

  async createKey({ name, role, reveal, subAccounts, expiresAt }: NewKey, isForAll: boolean) {
    const accountId = await this.#keyAccount(isForAll)
    const permissions = permissionsOf({
      role,
      subAccounts: subAccounts ?? null,
      ...(reveal !== undefined && { reveal }),
    })
    const until = expiresAt ? (parseTime(expiresAt) ?? null) : null
    const created = await this.#operator.createKey(accountId, name, until, permissions)
    return { ...keyToWire(created), role, key: created.key }
  }

  async revokeKey(id: string) {
    return keyToWire(await this.#operator.revokeKey(id))
  }

  async listVerifiers(query: RawQuery) {
    const { verifiers } = this.#latchkey
    const asked = readPageRequest(query)
    const isOne = this.#accountId !== undefined
    const page = isOne ? await verifiers.list(await this.#forAccount(), asked) : await verifiers.listAll(asked)
    return { ...page, items: page.items.map(verifierToWire) }
  }

  async evictVerifier(id: string) {
    return verifierToWire(await this.#latchkey.verifiers.evictAny(id, this.#operator.origin()))
  }

  async listWebhooks(query: RawQuery) {
    const page = await this.#registry.webhooks.list(await this.#forAccount(), readPageRequest(query))
    return { ...page, items: page.items.map(webhookToWire) }
  }

  async createWebhook(fields: NewWebhook) {
    const [asked, caller] = [readNewWebhook(fields), await this.#forAccount()]
    const { secret, ...made } = await this.#registry.webhooks.create(caller, asked, this.#operator.origin())
    return { ...webhookToWire(made), secret }
  }

  async patchWebhook(id: string, patch: WebhookPatch) {
    const [update, caller] = [readWebhookPatch(patch), await this.#forOwnerOf(id)]
    return webhookToWire(await this.#registry.webhooks.update(caller, id, update, this.#operator.origin()))
  }

  async deleteWebhook(id: string) {
    const caller = await this.#forOwnerOf(id)
    return { _id: (await this.#registry.webhooks.delete(caller, id, this.#operator.origin())).id }
  }

  async rotateWebhook(id: string) {
    const caller = await this.#forOwnerOf(id)
    const { secret, ...made } = await this.#registry.webhooks.rotate(caller, id, this.#operator.origin())
    return { ...webhookToWire(made), secret }
  }

  async testWebhook(id: string) {
    const caller = await this.#forOwnerOf(id)
    return outcomeToWire(await this.#registry.webhooks.test(caller, id, this.#operator.origin()))
  }

  async listDeliveries(id: string, query: RawQuery) {
    const [asked, caller] = [readPageRequest(query), await this.#forOwnerOf(id)]
    const page = await this.#registry.webhooks.listDeliveries(caller, id, asked)
    return { ...page, items: page.items.map(deliveryToWire) }
  }

  async redeliver(id: string, deliveryId: string) {
    const caller = await this.#forOwnerOf(id)
    return deliveryToWire(await this.#registry.webhooks.redeliver(caller, id, deliveryId, this.#operator.origin()))
  }

  async skipDelivery(id: string, deliveryId: string) {
    const caller = await this.#forOwnerOf(id)
    return deliveryToWire(await this.#registry.webhooks.skip(caller, id, deliveryId, this.#operator.origin()))
  }

  async listHistory(id: string | undefined, query: RawQuery) {
    const asked = readHistoryQuery(query)
    const { caller, tokenId } = await this.#forHistoryOf(id)
    const page = await this.#registry.listHistory(caller, { ...asked, tokenId })
    return historyToWire(page, await this.#registry.findNames(caller, idsIn(page)), ({ seq }) => seq)
  }

  async #forHistoryOf(id: string | undefined): Promise<{ caller: Caller; tokenId?: string }> {
    if (id === undefined || id.startsWith('acc_')) return { caller: await this.#forAccount(id) }
    return { caller: await this.#forOwnerOf(id), tokenId: id }
  }

  async *exportList(list: ExportedList, { all = false, ...query }: RawQuery & { readonly all?: boolean }, id?: string) {
    const { caller, tokenId } = all
      ? { caller: this.#operator.actFor(await this.#keyAccount(true)) }
      : await this.#forHistoryOf(id)
    const params = tokenId === undefined ? {} : { id: tokenId }
    const { header, read } = await EXPORTS[list](this.#registry, {
      caller,
      query,
      params,
      now: this.#operator.origin().at,
    })
    yield header
    for (let part = await read(undefined); ; part = await read(part.next)) {
      yield part.text
      if (part.next === undefined) return
    }
  }
}

/** Times are objects until they are serialized. */
function asSent<Document extends { readonly createdAt: Date }>(document: Document) {
  return { ...document, createdAt: document.createdAt.toISOString() }
}
