// The tables of webhooks and of their deliveries.
import {
  bytes,
  type Field,
  number,
  optionalBytes,
  optionalJson,
  optionalNumber,
  optionalText,
  table,
  text,
} from '../model/table.ts'
import { optionalTime, type Status } from '../model/tables.ts'

/** Receivers of events; see webhook.ts. The stamp keeps events from being sent to an address that no caller has set. */
export const WEBHOOKS = table({
  name: 'webhooks',
  key: ['id'],
  fields: {
    id: text,
    accountId: text,
    url: text,
    /** An array of names and patterns; null for all events. */
    events: optionalJson,
    ordering: text as Field<'strict' | 'none'>,
    status: text as Field<Status>,
    /** Why the service has switched it off. */
    disabledBecause: optionalText as Field<'gone' | 'failing' | null>,
    createdAt: number,
    /** The secret, encrypted, as the former one is, which signs too until `formerUntil`. */
    sealed: bytes,
    formerSealed: optionalBytes,
    formerUntil: optionalTime,
    /** The last row of the history that is dealt with: delivered, skipped, put aside, or not for this webhook. */
    position: number,
    lastSuccessAt: optionalTime,
  },
  stamp: { kind: 'webhook', fields: ['id', 'accountId', 'url', 'events', 'ordering', 'status'] },
})

/** What is known of the deliveries of the last events, and of all that wait for another attempt. */
export const WEBHOOK_DELIVERIES = table({
  name: 'webhookDeliveries',
  key: ['webhookId', 'seq'],
  fields: {
    webhookId: text,
    /** Of the row of the history. */
    seq: number,
    event: text,
    /** Of the last attempt. */
    at: number,
    attempts: number,
    status: text as Field<'waiting' | 'delivered' | 'skipped'>,
    responseStatus: optionalNumber,
    error: optionalText,
    /** Of the first attempt that failed, while it waits. */
    firstAt: optionalTime,
    /** Of the next attempt, while it waits. */
    nextAt: optionalTime,
  },
})
