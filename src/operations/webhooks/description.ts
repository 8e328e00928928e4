// Webhooks: list, create, change, rotate, test, delete, and what was sent to them.
import { Type } from 'typebox'
import { reasonOf } from '../../tokens/model/errors.ts'
import { BAD_PAGE } from '../../tokens/model/page.ts'
import { STATUSES } from '../../tokens/model/token.ts'
import { ORDERS } from '../../tokens/webhooks/webhook.ts'
import { operationsOf } from '../operation.ts'
import { IDEMPOTENCY_KEY, PageParameters } from '../schemas.ts'
import * as answers from './answers.ts'
import { CreatedWebhook, DeletedWebhook, Delivery, DeliveryPage, Webhook, WebhookPage, WebhookTest } from './schemas.ts'

const BASE = '/api/v1/apiClient/webhook'
const NOT_FOUND = [reasonOf('webhook-not-found')]
const NO_DELIVERY = [...NOT_FOUND, reasonOf('delivery-not-found')]
const USED_KEY = reasonOf('idempotency-conflict')
const SHOWN_ONCE = 'This was done already to whk_019b2f0c5a3c8e1d2c3b4a5f6e7d; the secret itself is shown once'
const BAD_URL = 'url must not lead to an address that is not public; the operator can allow networks'

const shared = { tag: 'Webhooks', right: 'manageWebhooks' } as const
const id = { id: Type.String({ description: 'The webhook id' }) }

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

const deliveryChange = {
  ...shared,
  method: 'POST',
  params: Type.Object({ ...id, deliveryId: Type.String({ description: 'The delivery id' }) }),
  headers: Type.Object(IDEMPOTENCY_KEY),
  data: Delivery,
} as const

export const webhooks = operationsOf(answers, {
  listWebhooks: {
    ...shared,
    method: 'GET',
    url: BASE,
    summary: 'List webhooks, newest first',
    querystring: Type.Object({ ...PageParameters }),
    data: WebhookPage,
    success: { message: 'Found 1 webhook(s)' },
    failures: { 400: [BAD_PAGE] },
  },
  getWebhook: {
    ...shared,
    method: 'GET',
    url: `${BASE}/:id`,
    summary: 'Get one webhook',
    params: Type.Object(id),
    data: Webhook,
    success: { message: 'Webhook retrieved successfully' },
    failures: { 404: NOT_FOUND },
  },
  createWebhook: {
    ...shared,
    method: 'POST',
    url: BASE,
    summary: 'Create a webhook',
    description:
      'It gets what happens from now on. The secret, by which a receiver checks signatures, is shown only in this answer.',
    headers: Type.Object(IDEMPOTENCY_KEY),
    body: Type.Object(fields, { title: 'NewWebhook' }),
    data: CreatedWebhook,
    success: { status: 201, message: 'Webhook created successfully' },
    failures: { 400: ['url is required', BAD_URL], 409: [USED_KEY, SHOWN_ONCE, reasonOf('too-many-webhooks')] },
  },
  patchWebhook: {
    ...shared,
    method: 'PATCH',
    url: `${BASE}/:id`,
    summary: 'Change a webhook',
    description: 'Switched on again, it gets all that happened meanwhile.',
    params: Type.Object(id),
    body: Type.Object(
      {
        ...fields,
        url: Type.Optional(fields.url),
        status: Type.Optional(
          Type.String({ enum: [...STATUSES], description: 'Nothing is sent while it is inactive' }),
        ),
      },
      { title: 'WebhookPatch' },
    ),
    data: Webhook,
    success: { message: 'Webhook updated successfully' },
    failures: { 400: ['No valid fields to update', BAD_URL], 404: NOT_FOUND },
  },
  deleteWebhook: {
    ...shared,
    method: 'DELETE',
    url: `${BASE}/:id`,
    summary: 'Delete a webhook',
    params: Type.Object(id),
    data: DeletedWebhook,
    success: { message: 'Webhook deleted successfully' },
    failures: { 404: NOT_FOUND },
  },
  rotateWebhook: {
    ...shared,
    method: 'POST',
    url: `${BASE}/:id/rotate`,
    summary: 'Give a webhook a new secret',
    description: 'For 24 hours the former secret signs too.',
    params: Type.Object(id),
    headers: Type.Object(IDEMPOTENCY_KEY),
    data: CreatedWebhook,
    success: { message: 'Secret rotated successfully' },
    failures: { 404: NOT_FOUND, 409: [USED_KEY, SHOWN_ONCE] },
  },
  testWebhook: {
    ...shared,
    method: 'POST',
    url: `${BASE}/:id/test`,
    summary: 'Send an event of the type webhook.test, at once and once',
    params: Type.Object(id),
    data: WebhookTest,
    success: { message: 'Test event sent' },
    failures: { 404: NOT_FOUND },
  },
  listDeliveries: {
    ...shared,
    method: 'GET',
    url: `${BASE}/:id/deliveries`,
    summary: 'What was sent to a webhook, newest event first',
    description:
      'The last 500, and all that wait for another attempt. Events behind one that waits in strict order were not tried yet.',
    params: Type.Object(id),
    querystring: Type.Object({ ...PageParameters }),
    data: DeliveryPage,
    success: { message: 'Found 1 delivery(s)' },
    failures: { 400: [BAD_PAGE], 404: NOT_FOUND },
  },
  redeliver: {
    ...deliveryChange,
    url: `${BASE}/:id/deliveries/:deliveryId/redeliver`,
    summary: 'Send an event again, at once',
    description: 'Whatever the order is; one that waits is tried now.',
    success: { message: 'The event is sent again' },
    failures: { 400: [BAD_URL], 404: NO_DELIVERY, 409: [USED_KEY] },
  },
  skipDelivery: {
    ...deliveryChange,
    url: `${BASE}/:id/deliveries/:deliveryId/skip`,
    summary: 'Do not send an event that waits for another attempt',
    description: 'In strict order, the events behind it are sent then.',
    success: { message: 'The event is skipped' },
    failures: { 404: NO_DELIVERY, 409: [USED_KEY] },
  },
})
