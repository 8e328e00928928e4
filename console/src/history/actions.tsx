// Every action of the history: its name in the filter, its icon and its sentence. The compiler asks for all three where the API
// has an action that this list lacks.
import type { ReactNode } from 'react'
import type { HistoryEntry } from '../../../client/latchkey-client.ts'
import { plural } from '../ui/format.ts'
import type { IconName } from '../ui/icon.tsx'
import { say } from '../ui/say.ts'
import {
  accountUpdate,
  bulkOrder,
  bulkUndo,
  fromTo,
  type Known,
  keyRights,
  portalOpened,
  subAccountUpdate,
  tokenCreate,
  tokenRotate,
  tokenUpdate,
  type Words,
  withPolicy,
} from './wording.tsx'

export type Action = HistoryEntry['action']

interface About {
  /** What was changed, by its name; `again` where it was named before. */
  readonly it: ReactNode
  readonly again: ReactNode
  readonly entry: HistoryEntry
  readonly known: Known
}

interface ActionWords {
  /** In the filter. */
  readonly label: string
  readonly icon: (entry: HistoryEntry) => IconName
  /** What follows the name of the actor. */
  readonly sentence: (about: About) => Words
}

const always = (icon: IconName) => () => icon

const ACTIONS: Readonly<Record<Action, ActionWords>> = {
  'token.create': {
    label: 'Token created',
    icon: always('plus'),
    sentence: ({ it, entry, known }) => tokenCreate(it, entry.to, known),
  },
  'token.update': {
    label: 'Token changed',
    icon: ({ to }) => (to.status === undefined ? 'pencil' : 'power'),
    sentence: ({ it, again, entry }) => tokenUpdate(it, again, entry.from, entry.to),
  },
  'token.rotate': {
    label: 'Credential rotated',
    icon: always('rotate'),
    sentence: ({ it, entry }) => tokenRotate(it, entry.to),
  },
  'token.reveal': {
    label: 'Credential shown',
    icon: always('eye'),
    sentence: ({ it }) => say`was shown the credential of ${it}`,
  },
  'token.erase': {
    label: 'Credential erased',
    icon: always('eye-off'),
    sentence: ({ it }) => say`erased the stored credential of ${it}, which goes on working`,
  },
  'token.delete': {
    label: 'Token deleted',
    icon: always('trash'),
    sentence: ({ it }) => say`deleted the token ${it}`,
  },
  'token.expiring': {
    label: 'Token expires soon',
    icon: always('history'),
    sentence: ({ it, entry }) =>
      say`announced that the token ${it} expires within ${plural(Number(entry.to.days), 'day')}`,
  },
  'sub-account.create': {
    label: 'Sub-account created',
    icon: always('plus'),
    sentence: ({ it, entry }) => say`created the sub-account ${it}${withPolicy(entry.to.policy)}`,
  },
  'sub-account.update': {
    label: 'Sub-account changed',
    icon: ({ to }) => (to.suspendedAt === undefined ? 'pencil' : 'power'),
    sentence: ({ it, again, entry }) => subAccountUpdate(it, again, entry.from, entry.to),
  },
  'sub-account.portal': {
    label: 'Portal opened to a sub-account',
    icon: always('sign-in'),
    sentence: ({ it, entry }) => portalOpened(it, entry.to),
  },
  'sub-account.portal-end': {
    label: 'Session of the portal ended',
    icon: always('sign-out'),
    sentence: ({ it, entry }) =>
      say`ended the session of the portal (…${String(entry.from.session).slice(-4)}) of ${it}`,
  },
  'key.create': {
    label: 'Account key created',
    icon: always('key'),
    sentence: ({ it, entry, known }) => say`made the account key ${it}${keyRights(entry.to.permissions, known)}`,
  },
  'key.revoke': {
    label: 'Account key revoked',
    icon: always('trash'),
    sentence: ({ it }) => say`revoked the account key ${it}`,
  },
  'session.sign-in': {
    label: 'Somebody signed in',
    icon: always('sign-in'),
    sentence: () => 'signed in to the console',
  },
  'session.choose': {
    label: 'Somebody came from another account',
    icon: always('switch'),
    sentence: () => 'chose this account in the console',
  },
  'session.sign-out': {
    label: 'Somebody signed out',
    icon: always('sign-out'),
    sentence: () => 'signed out of the console',
  },
  'session.revoke': {
    label: 'Somebody was signed out',
    icon: always('sign-out'),
    sentence: ({ it }) => say`signed ${it} out of the console`,
  },
  'bulk.create': {
    label: 'Bulk operation ordered',
    icon: always('more'),
    sentence: ({ entry }) => bulkOrder(entry),
  },
  'bulk.undo': {
    label: 'Bulk operation undone',
    icon: always('rotate'),
    sentence: ({ entry }) => bulkUndo(entry),
  },
  'webhook.create': {
    label: 'Webhook created',
    icon: always('plus'),
    sentence: ({ it }) => say`created the webhook ${it}`,
  },
  'webhook.update': {
    label: 'Webhook changed',
    icon: ({ to }) => (to.status === undefined ? 'pencil' : 'power'),
    sentence: ({ it }) => say`changed the webhook ${it}`,
  },
  'webhook.rotate': {
    label: 'Secret of a webhook rotated',
    icon: always('rotate'),
    sentence: ({ it }) => say`gave the webhook ${it} a new secret`,
  },
  'webhook.redeliver': {
    label: 'Event sent again',
    icon: always('rotate'),
    sentence: ({ it }) => say`had an event sent to the webhook ${it} again`,
  },
  'webhook.skip': {
    label: 'Event skipped',
    icon: always('pencil'),
    sentence: ({ it }) => say`skipped an event for the webhook ${it}`,
  },
  'webhook.disabled': {
    label: 'Webhook switched off',
    icon: always('power'),
    sentence: ({ it }) => say`switched the webhook ${it} off`,
  },
  'webhook.delete': {
    label: 'Webhook deleted',
    icon: always('trash'),
    sentence: ({ it }) => say`deleted the webhook ${it}`,
  },
  'account.create': {
    label: 'Account created',
    icon: always('plus'),
    sentence: () => 'made this account',
  },
  'account.rename': {
    label: 'Account renamed',
    icon: always('pencil'),
    sentence: ({ entry }) => say`renamed this account ${fromTo(entry.from.name, entry.to.name)}`,
  },
  'account.update': {
    label: 'Account changed',
    icon: always('pencil'),
    sentence: ({ entry }) => accountUpdate(entry.to),
  },
}

export const ACTION_NAMES = Object.keys(ACTIONS) as Action[]

/** Of a newer service, until this page is loaded again. */
const unknown = (action: string): ActionWords => ({
  label: action,
  icon: always('pencil'),
  sentence: ({ it }) => say`did “${action}” to ${it}`,
})

export const actionOf = (action: Action): ActionWords =>
  (ACTIONS as Readonly<Record<string, ActionWords>>)[action] ?? unknown(action)
