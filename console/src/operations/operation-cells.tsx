// What is shown of bulk operations, in the list and on the page of one.
import { Link } from '@tanstack/react-router'
import type { BulkOperation } from '../../../client/latchkey-client.ts'
import { actorName } from '../history/sentence.tsx'
import { cx } from '../ui/cx.ts'
import { localDay } from '../ui/format.ts'
import { type Column, RowActions } from '../ui/list.tsx'
import { Name } from '../ui/name.tsx'
import { SmallButton } from '../ui/row-buttons.tsx'
import status from '../ui/status.module.css'
import text from '../ui/text.module.css'
import { RelativeTime, useNow } from '../ui/time.tsx'
import { canBeUndone, nameOf, outcomeOf, STATES, stateOf } from './operation-words.ts'

/** Those who may not undo anything get no `undo`. */
export const operationColumns = (undo?: (operation: BulkOperation) => void): readonly Column<BulkOperation>[] => [
  {
    header: 'Operation',
    role: 'name',
    card: 'head',
    cell: (operation) => (
      <Link to="/history/operations/$operationId" params={{ operationId: operation._id }} className={text.plainLink}>
        {nameOf(operation)}
      </Link>
    ),
  },
  { header: 'Status', card: 'head', cell: (operation) => <OperationStatus operation={operation} /> },
  {
    header: 'Outcome and reason',
    card: 'line',
    cell: (operation) => (
      <span className={text.twoLines}>
        {outcomeOf(operation)}
        {operation.reason !== null && (
          <span className={cx(text.dim, text.small)}>
            <Name clip>{operation.reason}</Name>
          </span>
        )}
      </span>
    ),
  },
  { header: 'Ordered by', card: 'fact', cell: (operation) => <OrderedBy operation={operation} /> },
  { header: 'Ordered', card: 'fact', cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
  ...(undo === undefined
    ? []
    : [
        {
          header: 'Actions',
          role: 'actions',
          card: 'line',
          cell: (operation: BulkOperation) => <UndoButton operation={operation} undo={undo} />,
        } as const,
      ]),
]

function UndoButton({ operation, undo }: { operation: BulkOperation; undo: (operation: BulkOperation) => void }) {
  if (!canBeUndone(operation, useNow())) return null
  return (
    <RowActions>
      <SmallButton label={`Undo ${nameOf(operation)}`} onClick={() => undo(operation)}>
        Undo
      </SmallButton>
    </RowActions>
  )
}

export function OperationStatus({ operation }: { operation: BulkOperation }) {
  const { label, look } = STATES[stateOf(operation)]
  return (
    <span className={status.status} data-status={look} title={outcomeOf(operation)}>
      {label}
    </span>
  )
}

/** Leads to everything that they did. */
export function OrderedBy({ operation: { by, byName } }: { operation: BulkOperation }) {
  return (
    <Link to="/history" search={{ by }} className={text.link}>
      <Name>{actorName(by, byName)}</Name>
    </Link>
  )
}

/** The history has what was ordered by person and day. */
export function HistoryLink({ operation: { by, createdAt } }: { operation: BulkOperation }) {
  const day = localDay(createdAt)
  return (
    <Link to="/history" search={{ by, action: 'bulk.create', from: day, to: day }} className={text.link}>
      What they ordered that day
    </Link>
  )
}
