// The history of one token, beside the list. It stays readable after the token is deleted.
import { Drawer } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useCopy } from '../copy.ts'
import { Pager } from '../pager.tsx'
import { IconButton, Name, useLast } from '../parts.tsx'
import { QUERY_KEYS } from '../query-keys.ts'
import { useClient } from '../session.tsx'
import { QueryResult } from '../states.tsx'
import { keepFocus } from '../view-title.tsx'
import { HistoryList } from './history-list.tsx'

const SHOWN = 20

export function HistoryDrawer({ tokenId, close }: { tokenId: string | undefined; close: () => void }) {
  const { last } = useLast(tokenId)
  return (
    <Drawer
      opened={tokenId !== undefined}
      onClose={close}
      position="right"
      size="md"
      title="History of the token"
      onExitTransitionEnd={() => keepFocus()}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {last !== undefined && <TokenHistory key={last} tokenId={last} />}
    </Drawer>
  )
}

function TokenHistory({ tokenId }: { tokenId: string }) {
  const client = useClient()
  const [page, setPage] = useState(1)
  const history = useQuery({
    queryKey: [...QUERY_KEYS.history, tokenId, page],
    queryFn: ({ signal }) => client.listTokenHistory({ id: tokenId, page, limit: SHOWN }, { signal }),
    placeholderData: keepPreviousData,
  })
  return (
    <QueryResult query={history} what="the history">
      {(data) => (
        <>
          <div className="drawer-head">
            {data.names[tokenId] !== undefined && <Name>{data.names[tokenId]}</Name>}
            <TokenId id={tokenId} />
          </div>
          <HistoryList entries={data.items} names={data.names} />
          {data.totalPages > 1 && <Pager page={data} asked={page} one="entry" many="entries" onPage={setPage} />}
        </>
      )}
    </QueryResult>
  )
}

function TokenId({ id }: { id: string }) {
  const { copied, copy } = useCopy(id, 'Token id')
  return (
    <span className="token-id">
      <code>{id}</code>
      <IconButton icon={copied ? 'check' : 'copy'} label="Copy token id" onClick={copy} />
    </span>
  )
}
