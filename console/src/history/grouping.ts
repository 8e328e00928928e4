// Which entries of the history one bulk operation made one after the other: they are shown as one. Pure.
import type { HistoryEntry } from '../../../client/latchkey-client.ts'

type Deed = 'deleted' | 'disabled' | 'enabled' | 'expired' | 'restored' | 'changed'

/** What a bulk operation did to a token, and why. */
export interface Operation {
  readonly id: string
  readonly deed: Deed
  readonly isUndo: boolean
  readonly reason: string | undefined
}

/** Of one operation where there are several. */
export interface EntryGroup {
  readonly entries: readonly [HistoryEntry, ...HistoryEntry[]]
  /** Of an operation that may have more entries on the page before or after. */
  readonly mayGoOn: boolean
}

/** Whether the history goes on at either end of a list of entries. */
export interface Beyond {
  readonly before: boolean
  readonly after: boolean
}

/** As the service writes it into what an undo changes. */
const UNDONE = 'undone'

export function operationOf({ action, to }: HistoryEntry): Operation | undefined {
  const { operation: id, reason } = to
  if (typeof id !== 'string') return undefined
  const isUndo = reason === UNDONE
  const given = isUndo || typeof reason !== 'string' ? undefined : reason
  return { id, deed: deedOf(action, to, isUndo), isUndo, reason: given }
}

function deedOf(action: HistoryEntry['action'], to: HistoryEntry['to'], isUndo: boolean): Deed {
  if (action === 'token.delete') return 'deleted'
  if (to.status === 'inactive') return 'disabled'
  if (to.status === 'active') return 'enabled'
  if (to.expiresAt === undefined) return 'changed'
  return isUndo ? 'restored' : 'expired'
}

export function groupsOf(entries: readonly HistoryEntry[], beyond: Beyond): readonly EntryGroup[] {
  const runs: [HistoryEntry, ...HistoryEntry[]][] = []
  for (const entry of entries) {
    const run = runs.at(-1)
    if (run !== undefined && isOfSame(run[0], entry)) run.push(entry)
    else runs.push([entry])
  }
  return runs.map((run, at) => {
    const isAtEnd = (at === 0 && beyond.before) || (at === runs.length - 1 && beyond.after)
    return { entries: run, mayGoOn: isAtEnd && operationOf(run[0]) !== undefined }
  })
}

/** What an operation did and what its undo did are two things. */
function isOfSame(one: HistoryEntry, other: HistoryEntry): boolean {
  const [first, second] = [operationOf(one), operationOf(other)]
  return first !== undefined && first.id === second?.id && first.deed === second.deed
}
