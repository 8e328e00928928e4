// Webhooks: what callers can set, and which events a webhook gets. Pure, but for the making of secrets.
import { randomBytes } from 'node:crypto'
import { type Action, readActions } from '../history/actions.ts'
import { type FieldReader, oneOf, readNew, readPatch, readStoredJson, statusField } from '../model/fields.ts'
import type { RecordOf } from '../model/table.ts'
import type { Status } from '../model/tables.ts'
import type { WEBHOOK_DELIVERIES, WEBHOOKS } from './tables.ts'

/** A webhook as it is stored: its secrets sealed. */
export type StoredWebhook = RecordOf<typeof WEBHOOKS>
/** What is known of the delivery of one event; an event that was never tried has none. */
export type StoredDelivery = RecordOf<typeof WEBHOOK_DELIVERIES>

export const MAX_WEBHOOKS = 20
const MAX_URL_CHARACTERS = 2_048
const MAX_PATTERNS = 50
export const ORDERS = ['strict', 'none'] as const
export type Ordering = (typeof ORDERS)[number]

/** `gone`: the receiver answered 410. `failing`: no attempt succeeded for five days. */
export const DISABLED_REASONS = ['gone', 'failing'] as const

/** For how long the former secret still signs. */
export const SECRET_OVERLAP_MS = 24 * 60 * 60 * 1000

/** By Standard Webhooks: 24 to 64 random bytes. */
const SECRET_BYTES = 32
const SECRET_PREFIX = 'whsec_'

export const newSecret = () => SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64')
export const secretBytes = (secret: string) => Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')

/** Whether an address can be reached is not known here: see Receivers. */
const urlField: FieldReader<string> = (value, field) => {
  if (typeof value !== 'string') return { state: 'unusable', message: `${field} must be a string` }
  if (value.length > MAX_URL_CHARACTERS) {
    return { state: 'broken', message: `${field} must be at most ${MAX_URL_CHARACTERS} characters` }
  }
  const url = URL.parse(value)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return { state: 'broken', message: `${field} must begin with https:// or http://` }
  }
  if (url.username !== '' || url.password !== '') {
    return { state: 'broken', message: `${field} must not contain a user name or password` }
  }
  url.hash = ''
  return { state: 'valid', value: url.href }
}

const eventsField: FieldReader<readonly string[] | null> = (value, field) => {
  if (value === null) return { state: 'valid', value: null }
  const patterns = Array.isArray(value) ? (value as readonly unknown[]) : []
  if (patterns.length === 0 || !patterns.every((each) => typeof each === 'string')) {
    return { state: 'unusable', message: `${field} must be an array of names such as token.update or token.*, or null` }
  }
  const [first, ...others] = patterns.filter((each) => readActions([each]) === undefined)
  if (first !== undefined)
    return { state: 'broken', message: `${field} has "${first.slice(0, 50)}", which is no event` }
  if (patterns.length > MAX_PATTERNS || new Set(patterns).size < patterns.length || others.length > 0) {
    return { state: 'broken', message: `${field} must be at most ${MAX_PATTERNS} different names` }
  }
  return { state: 'valid', value: patterns }
}

/** All that callers can set. */
export interface WebhookUpdate {
  readonly url?: string
  readonly events?: readonly string[] | null
  readonly order?: Ordering
  readonly status?: Status
}

export type NewWebhook = Omit<WebhookUpdate, 'status'> & { readonly url: string }

const FIELDS = { url: urlField, events: eventsField, order: oneOf(ORDERS) }

export const readNewWebhook = (body: unknown) => readNew<NewWebhook>(body, FIELDS, ['url'])
export const readWebhookPatch = (body: unknown) => readPatch<WebhookUpdate>(body, { ...FIELDS, status: statusField })

/** Null for all. None of what was altered and cannot be read. */
export function actionsOf({ events }: Pick<StoredWebhook, 'events'>): readonly Action[] | null {
  if (events === null) return null
  const patterns = readStoredJson(events)
  return (Array.isArray(patterns) && readActions(patterns as readonly string[])) || []
}

/** The path and query of many receivers are secrets. */
export const shownUrl = (url: string) => `${URL.parse(url)?.origin ?? ''}/…`

/** The same over all attempts, and of a delivery of which nothing is stored yet. */
export const deliveryId = (webhookId: string, seq: number) => `${webhookId}_${seq}`

/** The number of the event; undefined for another webhook's. */
export function seqOfDelivery(webhookId: string, id: string): number | undefined {
  const seq = id.startsWith(`${webhookId}_`) ? id.slice(webhookId.length + 1) : ''
  return /^[1-9][0-9]{0,14}$/.test(seq) ? Number(seq) : undefined
}
