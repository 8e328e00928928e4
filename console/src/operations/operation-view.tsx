// One bulk operation on a page of its own, to which the history and messages lead.
import { Button, Stack } from '@mantine/core'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { BulkOperation } from '../../../client/latchkey-client.ts'
import { usePermissions } from '../api/permissions.ts'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'
import { CopyableId } from '../ui/copyable-id.tsx'
import { Facts } from '../ui/facts.tsx'
import { QueryResult } from '../ui/query-result.tsx'
import text from '../ui/text.module.css'
import { Moment, useNow } from '../ui/time.tsx'
import { ViewTitle } from '../ui/view-title.tsx'
import { HistoryLink, OperationStatus, OrderedBy } from './operation-cells.tsx'
import { FilterWords } from './operation-filter.tsx'
import { OperationProgress, useOperation } from './operation-progress.tsx'
import { canBeUndone, nameOf } from './operation-words.ts'
import { undoQuestion } from './undo-question.ts'

const route = getRouteApi('/history/operations/$operationId')

export function OperationView() {
  const { operationId } = route.useParams()
  const operation = useOperation(operationId)
  const [undoing, setUndoing] = useState<BulkOperation>()
  const { data } = operation
  return (
    <>
      <ViewTitle title={data ? nameOf(data) : 'Bulk operation'}>
        {data && <UndoButton operation={data} undo={() => setUndoing(data)} />}
      </ViewTitle>
      <QueryResult
        query={operation}
        what="the operation"
        errorAction={
          <Link to="/history/operations" className={text.link}>
            To all operations
          </Link>
        }
      >
        {(found) => (
          <Stack gap="lg" maw={880}>
            <OperationProgress operation={found} />
            <AllFacts operation={found} />
          </Stack>
        )}
      </QueryResult>
      <ConfirmDialog shown={undoing} questionOf={undoQuestion} close={() => setUndoing(undefined)} />
    </>
  )
}

function UndoButton({ operation, undo }: { operation: BulkOperation; undo: () => void }) {
  const { change } = usePermissions()
  if (!canBeUndone(operation, useNow()) || !change) return null
  return (
    <Button variant="default" onClick={undo}>
      {operation.status === 'running' ? 'Stop and undo' : 'Undo'}
    </Button>
  )
}

function AllFacts({ operation }: { operation: BulkOperation }) {
  const { _id, createdAt, endedAt, reason } = operation
  return (
    <Facts
      isRaised
      facts={[
        ['Status', <OperationStatus key="status" operation={operation} />],
        ['Tokens', <FilterWords key="filter" filter={operation.filter} />],
        [
          'Reason',
          reason === null ? (
            'None'
          ) : (
            <span key="reason" className={text.name}>
              {reason}
            </span>
          ),
        ],
        ['Ordered by', <OrderedBy key="by" operation={operation} />],
        ['Ordered', <Moment key="created" at={createdAt} />],
        ['Ended', endedAt === null ? 'Not yet' : <Moment key="ended" at={endedAt} />],
        ['History', <HistoryLink key="history" operation={operation} />],
        ['Id', <CopyableId key="id" id={_id} what="Operation id" />],
      ]}
    />
  )
}
