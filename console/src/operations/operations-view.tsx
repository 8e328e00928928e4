// The bulk operations of the account: what was ordered, by whom and why, how far each is, and the way to undo it.
import { useMemo, useState } from 'react'
import type { BulkOperation } from '../../../client/latchkey-client.ts'
import { usePermissions } from '../api/permissions.ts'
import { queries } from '../api/queries.ts'
import { PlainList } from '../search/plain-list.tsx'
import { operationList } from '../search/plain-lists.ts'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'
import { ViewTitle } from '../ui/view-title.tsx'
import { operationColumns } from './operation-cells.tsx'
import { undoQuestion } from './undo-question.ts'

const TITLE = 'Bulk operations'

export function OperationsView() {
  const { change } = usePermissions()
  const [undoing, setUndoing] = useState<BulkOperation>()
  const columns = useMemo(() => operationColumns(change ? setUndoing : undefined), [change])
  return (
    <>
      <ViewTitle title={TITLE} />
      <PlainList
        list={operationList}
        ask={queries.bulkOperations}
        label={TITLE}
        columns={columns}
        cardsBelow="62em"
        one="operation"
        hint="What is done to all tokens that a filter matches is listed here: select all in the list of tokens."
      />
      <ConfirmDialog shown={undoing} questionOf={undoQuestion} close={() => setUndoing(undefined)} />
    </>
  )
}
