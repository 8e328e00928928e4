// The history of one token, in a drawer next to the list. It stays readable after the token is deleted.
import { Box, Drawer, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { CopyableId } from '../ui/copyable-id.tsx'
import { useFocusReturn } from '../ui/focus.ts'
import { Name } from '../ui/name.tsx'
import { useIsMounted, useLast } from '../ui/use-last.ts'
import { HistoryOf } from './history-result.tsx'

export function HistoryDrawer({ tokenId, close }: { tokenId: string | undefined; close: () => void }) {
  const { last } = useLast(tokenId)
  const isOpen = useIsMounted() && tokenId !== undefined
  return (
    <Drawer
      opened={isOpen}
      onClose={close}
      {...useFocusReturn(isOpen)}
      position="right"
      size="md"
      title="History of the token"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {last !== undefined && (
        <>
          <WhichToken id={last} />
          <HistoryOf key={last} token={last} />
        </>
      )}
    </Drawer>
  )
}

function WhichToken({ id }: { id: string }) {
  const { data } = useQuery(queries.token(useClient(), id))
  return (
    <Box mb={12}>
      {data && (
        <Text span inherit fw={600}>
          <Name>{data.name}</Name>
        </Text>
      )}
      <CopyableId id={id} what="Token id" />
    </Box>
  )
}
