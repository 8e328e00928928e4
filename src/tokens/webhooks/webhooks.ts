// The webhooks of an account: made, listed, changed, tested and deleted by callers who may. What is sent to them, and when, is in
// dispatch.ts.

import { askedOnce, once } from '../changes/idempotency.ts'
import type { KeptRequest, Origin } from '../history/history.ts'
import { Failure } from '../model/errors.ts'
import { type Page, type PageRequest, toPage } from '../model/page.ts'
import type { Caller } from '../model/permissions.ts'
import { newId } from '../model/token.ts'
import type { RequestStore } from '../service/ports.ts'
import type { VaultStore } from '../trust/key-ring.ts'
import type { Parts } from '../trust/parts.ts'
import { webhookContext } from '../trust/vault.ts'
import type { Outcome } from './delivery.ts'
import type { WebhookChange } from './plan.ts'
import type { ChangedWebhook, DeliveryStore, Receivers, WebhookStore } from './ports.ts'
import {
  type NewWebhook,
  newSecret,
  type StoredDelivery,
  type StoredWebhook,
  seqOfDelivery,
  shownUrl,
  type WebhookUpdate,
} from './webhook.ts'

/** A webhook, and how many events it has not got yet. */
export interface WebhookView {
  readonly webhook: StoredWebhook
  readonly behind: number
}

export type WithSecret<View> = View & { readonly secret: string }

export type WebhookPorts = WebhookStore & Pick<DeliveryStore, 'findDelivering'> & RequestStore & VaultStore

export class Webhooks {
  readonly #parts: Parts<WebhookPorts>
  readonly #receivers: Receivers

  constructor(parts: Parts<WebhookPorts>, receivers: Receivers) {
    this.#parts = parts
    this.#receivers = receivers
  }

  async list({ accountId }: Caller, query: PageRequest): Promise<Page<WebhookView>> {
    const all = await this.#parts.store.listWebhooks(accountId)
    const skip = (query.page - 1) * query.limit
    const items = await Promise.all(all.slice(skip, skip + query.limit).map((webhook) => this.#view(webhook)))
    return toPage({ items, total: all.length }, query)
  }

  async get(caller: Caller, id: string): Promise<WebhookView> {
    return this.#view(await this.#find(caller, id))
  }

  async #view(webhook: StoredWebhook): Promise<WebhookView> {
    return { webhook, behind: (await this.#parts.store.readBehind(webhook)).events }
  }

  async #find({ accountId }: Caller, id: string): Promise<StoredWebhook> {
    const webhook = await this.#parts.store.findWebhook(accountId, id)
    if (webhook === undefined) throw new Failure('webhook-not-found')
    return webhook
  }

  /** The secret is shown in this result only. */
  async create(
    caller: Caller,
    fields: NewWebhook,
    origin: Origin,
    idempotencyKey?: string,
  ): Promise<WithSecret<WebhookView>> {
    await this.#requireReachable(caller, fields.url)
    const { store, keys } = this.#parts
    const { accountId } = caller
    const { url, events = null, order = 'strict' } = fields
    const secret = newSecret()
    const id = newId('whk', origin.at)
    const made = { id, accountId, url, events: events && JSON.stringify(events), ordering: order }
    const state = { status: 'active', disabledBecause: null, position: 0, lastSuccessAt: null } as const
    const former = { formerSealed: null, formerUntil: null }
    const asked = askedOnce(caller, idempotencyKey, 'webhook', [url, events, order])
    const create = (origin: Origin) =>
      keys.sealed(store, async (key) => {
        const sealed = key.seal(secret, webhookContext(made))
        const webhook = await store.insertWebhook(
          { ...made, ...state, ...former, createdAt: origin.at, sealed },
          origin,
        )
        return { webhook, behind: 0, secret }
      })
    return once(this.#parts, asked, origin, { id, createdAt: origin.at }, create, shownBefore)
  }

  async update(caller: Caller, id: string, update: WebhookUpdate, origin: Origin): Promise<WebhookView> {
    // Also of one that exists: an event is never sent to an address that was not checked.
    if (update.url !== undefined) await this.#requireReachable(caller, update.url)
    return this.#view((await this.#change(caller, id, { kind: 'update', update }, origin)).webhook)
  }

  /** The former secret signs too, for a day. */
  async rotate(caller: Caller, id: string, origin: Origin, idempotencyKey?: string): Promise<WithSecret<WebhookView>> {
    const { store, keys } = this.#parts
    const secret = newSecret()
    const asked = askedOnce(caller, idempotencyKey, 'webhook-rotation', [id])
    const rotate = (origin: Origin) =>
      keys.sealed(store, async (key) => {
        const sealed = key.seal(secret, webhookContext({ id, accountId: caller.accountId }))
        const { webhook } = await this.#change(caller, id, { kind: 'rotate', sealed }, origin)
        return { ...(await this.#view(webhook)), secret }
      })
    return once(this.#parts, asked, origin, { id, createdAt: origin.at }, rotate, shownBefore)
  }

  async delete(caller: Caller, id: string, origin: Origin): Promise<Pick<StoredWebhook, 'id'>> {
    const { webhook } = await this.#change(caller, id, { kind: 'delete' }, origin)
    return { id: webhook.id }
  }

  /** Sends an event that is in no history, at once and once. */
  async test(caller: Caller, id: string, origin: Origin): Promise<Outcome> {
    const webhook = await this.#find(caller, id)
    const { at, by, byName = null, requestId, address } = origin
    const secrets = openSecrets(webhook, at, this.#parts)
    const about = { action: 'webhook.test', subject: id, subjectName: shownUrl(webhook.url), from: {}, to: {} }
    const row = { ...about, subAccount: null, seq: 0, at, by, byName, requestId, address }
    const message = { accountId: webhook.accountId, url: webhook.url, id: `${id}_test_${at}`, secrets, row, at }
    return this.#receivers.send(message, new AbortController().signal)
  }

  async listDeliveries(caller: Caller, id: string, query: PageRequest): Promise<Page<StoredDelivery>> {
    await this.#find(caller, id)
    return toPage(await this.#parts.store.listDeliveries(caller.accountId, id, query), query)
  }

  async redeliver(
    caller: Caller,
    id: string,
    deliveryId: string,
    origin: Origin,
    idempotencyKey?: string,
  ): Promise<StoredDelivery> {
    const { url } = await this.#find(caller, id)
    await this.#requireReachable(caller, url)
    return this.#changeDelivery(caller, 'redeliver', id, deliveryId, origin, idempotencyKey)
  }

  skip(
    caller: Caller,
    id: string,
    deliveryId: string,
    origin: Origin,
    idempotencyKey?: string,
  ): Promise<StoredDelivery> {
    return this.#changeDelivery(caller, 'skip', id, deliveryId, origin, idempotencyKey)
  }

  async #changeDelivery(
    caller: Caller,
    kind: 'redeliver' | 'skip',
    id: string,
    deliveryId: string,
    origin: Origin,
    idempotencyKey: string | undefined,
  ): Promise<StoredDelivery> {
    const { store } = this.#parts
    await this.#find(caller, id)
    const seq = seqOfDelivery(id, deliveryId)
    if (seq === undefined) throw new Failure('delivery-not-found')
    const asked = askedOnce(caller, idempotencyKey, `webhook-${kind}`, [id, seq])
    const change = async (origin: Origin) => {
      const { delivery } = await this.#change(caller, id, { kind, seq }, origin)
      return delivery as StoredDelivery
    }
    const again = async () => {
      const { waiting } = (await store.findDelivering(id)) ?? { waiting: [] }
      const found = waiting.find((delivery) => delivery.seq === seq)
      return found ?? (await this.#findListed(caller, id, seq))
    }
    return once(this.#parts, asked, origin, { id, createdAt: origin.at }, change, again)
  }

  async #findListed({ accountId }: Caller, id: string, seq: number): Promise<StoredDelivery> {
    const { items } = await this.#parts.store.listDeliveries(accountId, id, { page: 1, limit: 1_000 })
    const found = items.find((delivery) => delivery.seq === seq)
    if (found === undefined) throw new Failure('delivery-not-found')
    return found
  }

  #change({ accountId }: Caller, id: string, change: WebhookChange, origin: Origin): Promise<ChangedWebhook> {
    return this.#parts.store.changeWebhook(accountId, id, change, origin)
  }

  async #requireReachable({ accountId }: Caller, url: string): Promise<void> {
    const obstacle = await this.#receivers.findObstacle(url, accountId)
    if (obstacle !== undefined) throw new Failure('invalid-request', `url ${obstacle}`)
  }
}

/** For a process that sends nothing. */
export const NO_RECEIVERS: Receivers = {
  findObstacle: async () => 'cannot be reached from this process',
  send: async () => ({ kind: 'failed', responseStatus: null, error: 'nothing is sent from this process' }),
}

/** What a webhook is signed with: its secret, and the former one for a while. Throws for one that cannot be decrypted. */
export function openSecrets(
  webhook: StoredWebhook,
  at: number,
  { keys }: Pick<Parts<unknown>, 'keys'>,
): readonly string[] {
  const { sealed, formerSealed, formerUntil } = webhook
  const hasFormer = formerSealed !== null && formerUntil !== null && formerUntil > at
  const context = webhookContext(webhook)
  return [sealed, ...(hasFormer ? [formerSealed] : [])].map((each) => keys.open(each, context).toString())
}

async function shownBefore({ subject }: KeptRequest): Promise<never> {
  throw new Failure('credential-not-stored', `This was done already to ${subject}; the secret itself is shown once`)
}
