// The schemas of webhooks and of what is delivered to them.
import { Type } from 'typebox'
import { STATUSES } from '../../tokens/model/token.ts'
import { DISABLED_REASONS, ORDERS } from '../../tokens/webhooks/webhook.ts'
import { count, oneOf, orNull, pageFields, text, time, timeOrNull } from '../schemas.ts'

export const Webhook = Type.Object(
  {
    _id: text('Webhook identifier', 'whk_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
    url: text('Where events are sent', 'https://example.com/latchkey'),
    events: Type.Unsafe<readonly string[] | null>({
      type: ['array', 'null'],
      items: { type: 'string' },
      description: 'Which events it gets; null for all',
      examples: [['token.*']],
    }),
    order: oneOf(ORDERS, 'Whether an event waits for those before it'),
    status: oneOf(STATUSES, 'Whether events are sent'),
    behind: Type.Integer({
      description:
        'Events that it has not got yet. Where it is more than 10,000 entries of the history behind, all further ones count',
      examples: [0],
    }),
    lastSuccessAt: timeOrNull('When the last event was delivered'),
    disabledBecause: orNull({
      enum: [...DISABLED_REASONS, null],
      description: 'Why the service has switched it off: `gone` (410), or `failing` for five days',
    }),
    formerSecretUntil: timeOrNull('Until when the secret before the last rotation signs too'),
    createdAt: time('When it was made'),
  },
  { title: 'Webhook' },
)
export const CreatedWebhook = Type.Object(
  {
    ...Webhook.properties,
    secret: text(
      'Shown once: by this a receiver checks signatures',
      'whsec_bGF0Y2hrZXkgbGF0Y2hrZXkgbGF0Y2hrZXkgMTIzNDU=',
    ),
  },
  { title: 'CreatedWebhook' },
)
export const DeletedWebhook = Type.Object(
  { _id: text('The webhook that is gone', 'whk_019b2f0c5a3c8e1d2c3b4a5f6e7d') },
  { title: 'DeletedWebhook' },
)
const responseStatus = Type.Unsafe<number | null>({
  type: ['integer', 'null'],
  description: 'What the receiver answered last; null without an answer',
  examples: [200],
})
export const WebhookTest = Type.Object(
  {
    delivered: Type.Boolean({ description: 'Whether the receiver has taken the event', examples: [true] }),
    responseStatus,
    error: orNull({ description: 'Why not' }),
  },
  { title: 'WebhookTest' },
)
export const Delivery = Type.Object(
  {
    _id: text('Delivery identifier, which the receiver gets as `webhook-id`', 'whk_019b2f0c5a3c8e1d2c3b4a5f6e7d_7'),
    event: text('The action of the history', 'token.update'),
    seq: count('The entry of the history'),
    at: time('The last attempt'),
    attempts: count('How many there were'),
    status: oneOf(['waiting', 'delivered', 'skipped'], 'Whether it waits for another attempt', 'delivered'),
    responseStatus,
    error: orNull({ description: 'Why the last attempt failed' }),
    nextAttemptAt: timeOrNull('When it is tried again'),
  },
  { title: 'Delivery' },
)

export const WebhookPage = Type.Object(pageFields(Webhook), { title: 'WebhookPage' })
export const DeliveryPage = Type.Object(pageFields(Delivery), { title: 'DeliveryPage' })
