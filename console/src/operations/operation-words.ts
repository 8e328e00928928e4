// What bulk operations are called, how far they are, and whether they can be undone. Pure.
import type { BulkOperation } from '../../../client/latchkey-client.ts'
import { number, plural } from '../ui/format.ts'
import type { Status } from '../ui/status.tsx'

export type BulkAction = BulkOperation['action']

interface ActionWords {
  readonly verb: string
  readonly done: string
  readonly means: string
}

export const BULK_ACTIONS: Readonly<Record<BulkAction, ActionWords>> = {
  disable: {
    verb: 'Disable',
    done: 'disabled',
    means: 'Every request with their credentials is refused. Can be undone.',
  },
  enable: {
    verb: 'Enable',
    done: 'enabled',
    means: 'They authenticate again, unless expired or their sub-account is suspended. Can be undone.',
  },
  expire: { verb: 'Expire', done: 'expired', means: 'Their time ends now, and they are refused. Can be undone.' },
  delete: { verb: 'Delete', done: 'deleted', means: 'They are gone, and nothing brings them back.' },
}

export const isBulkAction = (value: string): value is BulkAction => Object.hasOwn(BULK_ACTIONS, value)

/** Such as "Disable 12 tokens". */
export const nameOf = ({ action, total }: BulkOperation): string =>
  `${BULK_ACTIONS[action].verb} ${plural(total, 'token')}`

type State = 'running' | 'undoing' | 'done' | 'undone' | 'failed'

export const stateOf = ({ status, undo }: BulkOperation): State =>
  status === 'running' && undo !== null ? 'undoing' : status

/** `look` is that of a token's status. */
export const STATES: Readonly<Record<State, { readonly label: string; readonly look: Status }>> = {
  running: { label: 'Under way', look: 'suspended' },
  undoing: { label: 'Being undone', look: 'suspended' },
  done: { label: 'Done', look: 'active' },
  undone: { label: 'Undone', look: 'inactive' },
  failed: { label: 'Stopped', look: 'expired' },
}

const WHY_FAILED: Readonly<Record<NonNullable<BulkOperation['failedBecause']>, string>> = {
  revoked: 'It has stopped: the key or session that ordered it has ended.',
  altered: 'It has stopped: it was changed in the database.',
  restored: 'It has stopped: the store was restored to an earlier state.',
}

/** How many tokens were changed, how many were left alone, and why. */
export function outcomeOf({ action, total, done, skipped, undo, failedBecause }: BulkOperation): string {
  const left = skipped > 0 ? `, ${number(skipped)} left as they were` : ''
  const changed = `${number(done)} of ${plural(total, 'token')} ${BULK_ACTIONS[action].done}${left}`
  const more = [
    undo && `${number(undo.restored)} restored, ${number(undo.kept)} changed by others since and kept.`,
    failedBecause && WHY_FAILED[failedBecause],
  ]
  return [changed, more.filter(Boolean).join(' ')].filter(Boolean).join('. ')
}

/** In per cent, forward or back. */
export function progressOf({ total, done, skipped, undo }: BulkOperation): number {
  if (undo !== null) return done === 0 ? 100 : ((undo.restored + undo.kept) / done) * 100
  return total === 0 ? 100 : ((done + skipped) / total) * 100
}

const UNDO_MS = 30 * 24 * 60 * 60 * 1000

/** By the rules of the service, which decides. */
export function canBeUndone(operation: BulkOperation, now: number): boolean {
  const { action, createdAt } = operation
  const hasBegun = ['undoing', 'undone'].includes(stateOf(operation))
  return action !== 'delete' && !hasBegun && Date.parse(createdAt) > now - UNDO_MS
}
