// The history of one token, page by page.
import { Box, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { CopyableId } from '../ui/copyable-id.tsx'
import { Name } from '../ui/name.tsx'
import { Pager } from '../ui/pager.tsx'
import { MaybeOutdated, QueryResult } from '../ui/query-result.tsx'
import { HistoryList } from './history-list.tsx'

const PAGE_SIZE = 20

/** In a narrow place it also says which token this is. */
export function TokenHistory({ tokenId, isNarrow = false }: { tokenId: string; isNarrow?: boolean }) {
  const [page, setPage] = useState(1)
  const history = useQuery(queries.tokenHistory(useClient(), tokenId, page, PAGE_SIZE))
  return (
    <QueryResult query={history} what="the history">
      {(data) => (
        <>
          {isNarrow && (
            <Box mb={12}>
              {data.names[tokenId] !== undefined && (
                <Text span inherit fw={600}>
                  <Name>{data.names[tokenId]}</Name>
                </Text>
              )}
              <CopyableId id={tokenId} what="Token id" />
            </Box>
          )}
          <MaybeOutdated query={history}>
            <HistoryList entries={data.items} names={data.names} ownId={tokenId} />
          </MaybeOutdated>
          {data.totalPages > 1 && <Pager page={data} current={page} one="entry" many="entries" onPage={setPage} />}
        </>
      )}
    </QueryResult>
  )
}
