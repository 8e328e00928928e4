// What is done with webhooks, and with what is sent to them.
import { readPageRequest } from '../../tokens/model/page.ts'
import { readNewWebhook, readWebhookPatch } from '../../tokens/webhooks/webhook.ts'
import type { WebhookView } from '../../tokens/webhooks/webhooks.ts'
import { readIdempotencyKey } from '../conditions.ts'
import { type Input, listed, type Service } from '../operation.ts'
import { deliveryToWire, outcomeToWire, webhookToWire } from './document.ts'

export async function listWebhooks({ registry: { webhooks } }: Service, { caller, query }: Input) {
  return listed(await webhooks.list(caller, readPageRequest(query)), 'webhook(s)', webhookToWire)
}

export async function getWebhook({ registry: { webhooks } }: Service, { caller, params }: Input) {
  return { data: webhookToWire(await webhooks.get(caller, params.id)) }
}

export async function createWebhook({ registry: { webhooks } }: Service, { caller, body, headers, origin }: Input) {
  return withSecret(await webhooks.create(caller, readNewWebhook(body), origin, readIdempotencyKey(headers)))
}

export async function patchWebhook({ registry: { webhooks } }: Service, { caller, params, body, origin }: Input) {
  return { data: webhookToWire(await webhooks.update(caller, params.id, readWebhookPatch(body), origin)) }
}

export async function deleteWebhook({ registry: { webhooks } }: Service, { caller, params, origin }: Input) {
  return { data: { _id: (await webhooks.delete(caller, params.id, origin)).id } }
}

export async function rotateWebhook({ registry: { webhooks } }: Service, { caller, params, headers, origin }: Input) {
  return withSecret(await webhooks.rotate(caller, params.id, origin, readIdempotencyKey(headers)))
}

export async function testWebhook({ registry: { webhooks } }: Service, { caller, params, origin }: Input) {
  const data = outcomeToWire(await webhooks.test(caller, params.id, origin))
  return { message: data.delivered ? 'Test event delivered' : 'Test event not delivered', data }
}

export async function listDeliveries({ registry: { webhooks } }: Service, { caller, params, query }: Input) {
  const page = await webhooks.listDeliveries(caller, params.id, readPageRequest(query))
  return listed(page, 'delivery(s)', deliveryToWire)
}

export function redeliver(service: Service, input: Input) {
  return changeDelivery('redeliver', service, input)
}

export function skipDelivery(service: Service, input: Input) {
  return changeDelivery('skip', service, input)
}

async function changeDelivery(kind: 'redeliver' | 'skip', { registry: { webhooks } }: Service, input: Input) {
  const { caller, params, headers, origin } = input
  const key = readIdempotencyKey(headers)
  return { data: deliveryToWire(await webhooks[kind](caller, params.id, params.deliveryId, origin, key)) }
}

function withSecret({ secret, ...made }: WebhookView & { readonly secret: string }) {
  return { data: { ...webhookToWire(made), secret } }
}
