// The bulk operations of the account: what was ordered, by whom and why, how far each is, and the way to undo it.
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { BulkOperation } from '../../../client/latchkey-client.ts'
import { usePermissions } from '../api/permissions.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { useListSearch } from '../search/list-search.ts'
import { pageOf } from '../search/search-params.ts'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'
import { List } from '../ui/list.tsx'
import { PagedResult } from '../ui/paged-result.tsx'
import { ViewTitle } from '../ui/view-title.tsx'
import { operationColumns } from './operation-cells.tsx'
import { operationList } from './operation-search.ts'
import { undoQuestion } from './undo-question.ts'

const TITLE = 'Bulk operations'

export function OperationsView() {
  const { search, changeSearch } = useListSearch(operationList)
  const { page: current, limit } = pageOf(search)
  const operations = useQuery(queries.bulkOperations(useClient(), current, limit))
  const { change } = usePermissions()
  const [undoing, setUndoing] = useState<BulkOperation>()
  const columns = useMemo(() => operationColumns(change ? setUndoing : undefined), [change])
  return (
    <>
      <ViewTitle title={TITLE} />
      <PagedResult
        query={operations}
        rows={6}
        one="operation"
        current={current}
        changePage={changeSearch}
        hint="What is done to all tokens that a filter matches is listed here: select all in the list of tokens."
      >
        {(page) => <List label={TITLE} items={page.items} columns={columns} cardsBelow="62em" />}
      </PagedResult>
      <ConfirmDialog shown={undoing} questionOf={undoQuestion} close={() => setUndoing(undefined)} />
    </>
  )
}
