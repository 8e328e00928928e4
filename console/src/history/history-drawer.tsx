// The history of one token, in a drawer next to the list. It stays readable after the token is deleted.
import { Drawer } from '@mantine/core'
import { keepFocus } from '../ui/focus.ts'
import { useLast } from '../ui/use-last.ts'
import { TokenHistory } from './token-history.tsx'

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
      {last !== undefined && <TokenHistory key={last} tokenId={last} isNarrow />}
    </Drawer>
  )
}
