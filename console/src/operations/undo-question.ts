// The question before a bulk operation is undone, in the list of operations and on the page of one.
import type { BulkOperation } from '../../../client/latchkey-client.ts'
import type { Question } from '../ui/confirm-dialog.tsx'
import { plural } from '../ui/format.ts'
import { type BulkAction, nameOf } from './operation-words.ts'

/** What is deleted stays so, and nobody is asked. */
const RESTORED: Readonly<Record<Exclude<BulkAction, 'delete'>, string>> = {
  disable: 'will authenticate again, unless expired or of a suspended sub-account',
  enable: 'will be disabled again',
  expire: 'will get the former expiry again',
}

export function undoQuestion(operation: BulkOperation): Question {
  const { _id: id, status, action, done } = operation
  const name = nameOf(operation)
  const stops = status === 'running' ? 'It stops where it is. ' : ''
  const restores = action === 'delete' ? '' : `${plural(done, 'token')} ${RESTORED[action]}. `
  return {
    title: `Undo “${name}”?`,
    kind: 'bulk',
    name,
    text: `${stops}${restores}What somebody has changed since stays as it is. An operation can be undone once.`,
    verb: 'Undo it',
    color: 'indigo',
    send: (client) => client.undoBulk({ id }),
    done: `“${name}” is being undone`,
  }
}
