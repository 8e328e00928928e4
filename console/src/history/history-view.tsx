// What was done in the account, newest first.
import { Button, Group } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { ExportButton } from '../export/export-button.tsx'
import { useListSearch } from '../search/list-search.ts'
import { ViewTitle } from '../ui/view-title.tsx'
import { historyExport, historyList } from './history-filters.ts'
import { HistoryResult } from './history-result.tsx'

export function HistoryView() {
  const list = useListSearch(historyList)
  return (
    <>
      <ViewTitle title="History">
        <Group gap="sm">
          <Button variant="default" renderRoot={(props) => <Link to="/history/operations" {...props} />}>
            Bulk operations
          </Button>
          <ExportButton name="history" list={() => historyExport(list.search)} />
        </Group>
      </ViewTitle>
      <HistoryResult {...list} />
    </>
  )
}
