// What can be done to all selected tokens.
import { ActionBar, Button, Text } from '@mantine/core'
import type { Token } from '../../../client/latchkey-client.ts'
import type { BulkAction } from '../operations/operation-words.ts'
import { keepFocusOnRemoval } from '../ui/focus.ts'
import { number, plural } from '../ui/format.ts'

interface SelectionBarProps {
  readonly tokens: readonly Token[]
  readonly onChangeAll: (action: BulkAction) => void
  readonly onClear: () => void
  /** How many the filters of the list match, on whichever page, and what leads to a change of all of them. */
  readonly total: number
  readonly onAllMatching: () => void
}

/** Of at least one. Not in a portal, so that the keyboard reaches it next to the list. */
export function SelectionBar({ tokens, onChangeAll, onClear, total, onAllMatching }: SelectionBarProps) {
  return (
    <ActionBar
      ref={keepFocusOnRemoval}
      opened
      withinPortal={false}
      zIndex={90}
      shadow="md"
      position={{ bottom: 16, left: 8, right: 8 }}
      transitionProps={{ duration: 0 }}
      style={{ flexWrap: 'wrap', justifyContent: 'center' }}
      data-action-bar
      aria-label="Selected tokens"
    >
      <Text size="sm" fw={600} role="status">
        {plural(tokens.length, 'token')} selected
      </Text>
      <ActionBar.Divider />
      <Button size="xs" color="red" variant="light" onClick={() => onChangeAll('disable')}>
        Disable
      </Button>
      <Button size="xs" variant="light" onClick={() => onChangeAll('enable')}>
        Enable
      </Button>
      {total > tokens.length && (
        <Button size="xs" variant="light" onClick={onAllMatching}>
          All {number(total)} that match…
        </Button>
      )}
      <Button size="xs" variant="subtle" color="gray" onClick={onClear}>
        Clear selection
      </Button>
    </ActionBar>
  )
}
