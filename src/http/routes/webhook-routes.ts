// Webhooks: list, create, change, rotate, test, delete, and what was sent to them.
import { Type } from 'typebox'
import { deliveryToWire, outcomeToWire, webhookToWire } from '../../operations/webhooks/document.ts'
import { reasonOf } from '../../tokens/errors.ts'
import { BAD_PAGE, readPageRequest } from '../../tokens/model/page.ts'
import { STATUSES } from '../../tokens/model/token.ts'
import { ORDERS, readNewWebhook, readWebhookPatch } from '../../tokens/model/webhook.ts'
import { readIdempotencyKey } from '../protocol/conditions.ts'
import { type AccountRoute, IDEMPOTENCY_KEY } from './route.ts'
import { PageParameters } from './schemas.ts'
import * as schemas from './webhook-schemas.ts'

const BASE = '/api/v1/apiClient/webhook'
const NOT_FOUND = [reasonOf('webhook-not-found')]
const NO_DELIVERY = [...NOT_FOUND, reasonOf('delivery-not-found')]
const USED_KEY = reasonOf('idempotency-conflict')
const SHOWN_ONCE = 'This was done already to whk_019b2f0c5a3c8e1d2c3b4a5f6e7d; the secret itself is shown once'
const BAD_URL = 'url must not lead to an address that is not public; the operator can allow networks'

const shared = { tag: 'Webhooks', right: 'manageWebhooks' } as const
const id = { id: Type.String({ description: 'The webhook id' }) }
const delivery = { ...id, deliveryId: Type.String({ description: 'The delivery id' }) }

const fields = {
  url: Type.String({ maxLength: 2_048, description: 'Where events are sent: https, or http' }),
  events: Type.Optional(
    Type.Union([Type.Array(Type.String(), { maxItems: 50 }), Type.Null()], {
      description: 'Which events it gets: names such as `token.update`, or `token.*`; null for all',
    }),
  ),
  order: Type.Optional(
    Type.String({
      enum: [...ORDERS],
      description: '`strict`: an event waits for those before it. `none`: one that fails is put aside',
    }),
  ),
}

const listWebhooks: AccountRoute = {
  ...shared,
  method: 'GET',
  url: BASE,
  operationId: 'listWebhooks',
  summary: 'List webhooks, newest first',
  querystring: Type.Object({ ...PageParameters }),
  data: schemas.WebhookPage,
  success: { message: 'Found 1 webhook(s)' },
  failures: { 400: [BAD_PAGE] },
  async answer({ webhooks }, { caller, query }) {
    const page = await webhooks.list(caller, readPageRequest(query))
    const items: schemas.WireWebhook[] = page.items.map(webhookToWire)
    return { message: `Found ${page.total} webhook(s)`, data: { ...page, items } }
  },
}

const getWebhook: AccountRoute = {
  ...shared,
  method: 'GET',
  url: `${BASE}/:id`,
  operationId: 'getWebhook',
  summary: 'Get one webhook',
  params: Type.Object(id),
  data: schemas.Webhook,
  success: { message: 'Webhook retrieved successfully' },
  failures: { 404: NOT_FOUND },
  async answer({ webhooks }, { caller, params }) {
    return { data: webhookToWire(await webhooks.get(caller, params.id)) }
  },
}

const createWebhook: AccountRoute = {
  ...shared,
  method: 'POST',
  url: BASE,
  operationId: 'createWebhook',
  summary: 'Create a webhook',
  description:
    'It gets what happens from now on. The secret, by which a receiver checks signatures, is shown only in this answer.',
  headers: Type.Object(IDEMPOTENCY_KEY),
  body: Type.Object(fields, { title: 'NewWebhook' }),
  data: schemas.CreatedWebhook,
  success: { status: 201, message: 'Webhook created successfully' },
  failures: { 400: ['url is required', BAD_URL], 409: [USED_KEY, SHOWN_ONCE, reasonOf('too-many-webhooks')] },
  async answer({ webhooks }, { caller, body, headers, origin }) {
    const { secret, ...made } = await webhooks.create(caller, readNewWebhook(body), origin, readIdempotencyKey(headers))
    return { data: { ...webhookToWire(made), secret } }
  },
}

const patchWebhook: AccountRoute = {
  ...shared,
  method: 'PATCH',
  url: `${BASE}/:id`,
  operationId: 'patchWebhook',
  summary: 'Change a webhook',
  description: 'Switched on again, it gets all that happened meanwhile.',
  params: Type.Object(id),
  body: Type.Object(
    {
      ...fields,
      url: Type.Optional(fields.url),
      status: Type.Optional(Type.String({ enum: [...STATUSES], description: 'Nothing is sent while it is inactive' })),
    },
    { title: 'WebhookPatch' },
  ),
  data: schemas.Webhook,
  success: { message: 'Webhook updated successfully' },
  failures: { 400: ['No valid fields to update', BAD_URL], 404: NOT_FOUND },
  async answer({ webhooks }, { caller, params, body, origin }) {
    return { data: webhookToWire(await webhooks.update(caller, params.id, readWebhookPatch(body), origin)) }
  },
}

const deleteWebhook: AccountRoute = {
  ...shared,
  method: 'DELETE',
  url: `${BASE}/:id`,
  operationId: 'deleteWebhook',
  summary: 'Delete a webhook',
  params: Type.Object(id),
  data: schemas.DeletedWebhook,
  success: { message: 'Webhook deleted successfully' },
  failures: { 404: NOT_FOUND },
  async answer({ webhooks }, { caller, params, origin }) {
    return { data: { _id: (await webhooks.delete(caller, params.id, origin)).id } }
  },
}

const rotateWebhook: AccountRoute = {
  ...shared,
  method: 'POST',
  url: `${BASE}/:id/rotate`,
  operationId: 'rotateWebhook',
  summary: 'Give a webhook a new secret',
  description: 'For 24 hours the former secret signs too.',
  params: Type.Object(id),
  headers: Type.Object(IDEMPOTENCY_KEY),
  data: schemas.CreatedWebhook,
  success: { message: 'Secret rotated successfully' },
  failures: { 404: NOT_FOUND, 409: [USED_KEY, SHOWN_ONCE] },
  async answer({ webhooks }, { caller, params, headers, origin }) {
    const { secret, ...made } = await webhooks.rotate(caller, params.id, origin, readIdempotencyKey(headers))
    return { data: { ...webhookToWire(made), secret } }
  },
}

const testWebhook: AccountRoute = {
  ...shared,
  method: 'POST',
  url: `${BASE}/:id/test`,
  operationId: 'testWebhook',
  summary: 'Send an event of the type webhook.test, at once and once',
  params: Type.Object(id),
  data: schemas.WebhookTest,
  success: { message: 'Test event sent' },
  failures: { 404: NOT_FOUND },
  async answer({ webhooks }, { caller, params, origin }) {
    const data: schemas.WireWebhookTest = outcomeToWire(await webhooks.test(caller, params.id, origin))
    return { message: data.delivered ? 'Test event delivered' : 'Test event not delivered', data }
  },
}

const listDeliveries: AccountRoute = {
  ...shared,
  method: 'GET',
  url: `${BASE}/:id/deliveries`,
  operationId: 'listDeliveries',
  summary: 'What was sent to a webhook, newest event first',
  description:
    'The last 500, and all that wait for another attempt. Events behind one that waits in strict order were not tried yet.',
  params: Type.Object(id),
  querystring: Type.Object({ ...PageParameters }),
  data: schemas.DeliveryPage,
  success: { message: 'Found 1 delivery(s)' },
  failures: { 400: [BAD_PAGE], 404: NOT_FOUND },
  async answer({ webhooks }, { caller, params, query }) {
    const page = await webhooks.listDeliveries(caller, params.id, readPageRequest(query))
    const items: schemas.WireDelivery[] = page.items.map(deliveryToWire)
    return { message: `Found ${page.total} delivery(s)`, data: { ...page, items } }
  },
}

const deliveryChange = (
  kind: 'redeliver' | 'skip',
  operationId: string,
  texts: Pick<AccountRoute, 'summary' | 'description' | 'success'>,
  bad: readonly string[],
): AccountRoute => ({
  ...shared,
  ...texts,
  method: 'POST',
  url: `${BASE}/:id/deliveries/:deliveryId/${kind}`,
  operationId,
  params: Type.Object(delivery),
  headers: Type.Object(IDEMPOTENCY_KEY),
  data: schemas.Delivery,
  failures: { ...(bad.length > 0 && { 400: bad }), 404: NO_DELIVERY, 409: [USED_KEY] },
  async answer({ webhooks }, { caller, params, headers, origin }) {
    const key = readIdempotencyKey(headers)
    return { data: deliveryToWire(await webhooks[kind](caller, params.id, params.deliveryId, origin, key)) }
  },
})

const redeliver = deliveryChange(
  'redeliver',
  'redeliver',
  {
    summary: 'Send an event again, at once',
    description: 'Whatever the order is; one that waits is tried now.',
    success: { message: 'The event is sent again' },
  },
  [BAD_URL],
)
const skip = deliveryChange(
  'skip',
  'skipDelivery',
  {
    summary: 'Do not send an event that waits for another attempt',
    description: 'In strict order, the events behind it are sent then.',
    success: { message: 'The event is skipped' },
  },
  [],
)

export const webhookRoutes = {
  listWebhooks,
  getWebhook,
  createWebhook,
  patchWebhook,
  deleteWebhook,
  rotateWebhook,
  testWebhook,
  listDeliveries,
  redeliver,
  skip,
}
