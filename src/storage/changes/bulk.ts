// Changes of bulk operations. The plans are those of tokens/bulk/plan.ts.

import {
  type ChosenTokens,
  ended,
  nextPart,
  queryOf,
  type StoredBulk,
  type StoredPart,
  UNDO_MS,
  undoing,
} from '../../tokens/bulk/bulk.ts'
import * as plans from '../../tokens/bulk/plan.ts'
import { BULK_OPERATIONS, BULK_PARTS } from '../../tokens/bulk/tables.ts'
import type { Origin } from '../../tokens/history/history.ts'
import { Failure } from '../../tokens/model/errors.ts'
import type { Timestamp } from '../../tokens/model/token.ts'
import { restamp, type Stamped } from '../../tokens/trust/stamp.ts'
import { countRunningBulk, findBulk } from '../questions/bulk.ts'
import { change, insertNew, type Planned, planned, prune, unchanged, updateRow } from './change.ts'
import { tokenWrites } from './tokens.ts'

export const bulkChanges = {
  /** Parts of operations that cannot be undone any more are removed. */
  insertBulk: (operation: plans.NewBulk, chosen: ChosenTokens, origin: Origin) =>
    change({
      accounts: [operation.accountId],
      origin: { ...origin, reason: operation.reason ?? undefined },
      load: (find) => [find.row(countRunningBulk, operation.accountId)],
      plan: ([running], stamps): Planned<StoredBulk> => {
        const plan = plans.planBulk(operation, chosen, running)
        const writes = [
          prune(BULK_PARTS, { accountId: operation.accountId }, { field: 'createdAt', value: origin.at - UNDO_MS }),
          insertNew(BULK_OPERATIONS, [plan.operation], stamps),
          insertNew(BULK_PARTS, plan.parts, stamps),
        ]
        return { ...planned(writes, [plans.bulkCreated(plan.operation)]), answer: plan.operation }
      },
    }),
  undoBulk: (accountId: string, id: string, scope: string | null, origin: Origin) =>
    change({
      accounts: [accountId],
      origin,
      load: (find) => [find.locked(findBulk, accountId, id)],
      plan: ([found], stamps): Planned<StoredBulk> => {
        if (found === undefined || (scope !== null && found.scope !== scope)) throw new Failure('bulk-not-found')
        const after = undoing(found, plans.orderedBy(origin), origin.at)
        const writes = [updateRow(BULK_OPERATIONS, found, restamp(BULK_OPERATIONS, found, after, stamps))]
        const events = [plans.bulkUndone(after)]
        // A store without it would enable tokens again: it must be recognised as older.
        const revocations = [{ kind: 'bulk-undone', id, at: origin.at } as const]
        return { ...planned(writes, events), answer: after, revocations }
      },
    }),
  advanceBulk: (asked: Stamped<StoredBulk>, part: Stamped<StoredPart>, at: Timestamp) => {
    const { accountId, id } = asked
    const ids = plans.idsOf(asked, part)
    const query = asked.direction === 'do' ? queryOf(asked) : undefined
    return change({
      accounts: [accountId],
      origin: plans.originOf(asked, at),
      load: (find) => [
        find.locked(findBulk, accountId, id),
        query && find.matching(accountId, { ...query, narrowing: { ...query.narrowing, ids } }),
        ...ids.map((tokenId) => find.token(accountId, tokenId)),
      ],
      plan: ([operation, matching = [], ...tokens], stamps): Planned<Stamped<StoredBulk> | undefined> => {
        if (operation === undefined || !plans.isUntouched(asked, operation, stamps)) return unchanged(undefined)
        const found = { part, tokens: tokens.map((each) => each?.token), matching: new Set(matching.map(([id]) => id)) }
        const step = plans.planStep(operation, found, at, stamps)
        const events = step.plans.flatMap(({ event }) => event ?? [])
        return {
          answer: step.operation,
          writes: [
            ...step.plans.flatMap(tokenWrites),
            updateRow(BULK_PARTS, part, step.part),
            updateRow(BULK_OPERATIONS, operation, step.operation),
          ],
          events,
          revocations: step.plans.flatMap(({ journal }) => journal),
          isRepeated: events.length === 0,
          decides: step.plans.some(({ decides }) => decides),
        }
      },
    })
  },
  endBulk: (asked: Stamped<StoredBulk>, error: StoredBulk['error'], at: Timestamp) =>
    change({
      accounts: [],
      turn: asked.accountId,
      origin: undefined,
      load: (find) => [find.locked(findBulk, asked.accountId, asked.id)],
      plan: ([operation], stamps): Planned<void> => {
        const isSame = operation !== undefined && Buffer.compare(operation.stamp, asked.stamp) === 0
        const isOver = isSame && operation.status === 'running' && (error !== null || nextPart(operation) === undefined)
        if (!isOver) return unchanged(undefined)
        const after = restamp(BULK_OPERATIONS, operation, ended(operation, error, at), stamps)
        return planned([updateRow(BULK_OPERATIONS, operation, after)], [])
      },
    }),
}
