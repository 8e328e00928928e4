// The tokens that are selected on the page, and what can be done to all of them.
import { ActionBar, Button, Text } from '@mantine/core'
import { useCallback, useEffect, useMemo, useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { keepFocusOnRemoval } from '../ui/focus.ts'
import { plural } from '../ui/format.ts'
import type { OwnStatus } from './status-dialog.tsx'
import type { TokenSearch } from './token-search.ts'

/** Only tokens of the present page are selected: another page or filter clears the selection. */
export function useSelection({ history: _, ...shown }: TokenSearch, items: readonly Token[] = []) {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const shownKey = JSON.stringify(shown)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key decides, though it is not used
  useEffect(() => setIds(new Set()), [shownKey])
  const tokens = useMemo(() => items.filter(({ _id }) => ids.has(_id)), [items, ids])
  const select = useCallback(({ _id }: Token, selected: boolean) => {
    setIds((before) => {
      const after = new Set(before)
      if (selected) after.add(_id)
      else after.delete(_id)
      return after
    })
  }, [])
  const setSelected = (selected: readonly Token[]) => setIds(new Set(selected.map(({ _id }) => _id)))
  return { ids, tokens, select, setSelected }
}

interface SelectionBarProps {
  readonly tokens: readonly Token[]
  readonly onChangeAll: (status: OwnStatus) => void
  readonly onClear: () => void
}

/** Not in a portal, so that the keyboard reaches it next to the list. */
export function SelectionBar({ tokens, onChangeAll, onClear }: SelectionBarProps) {
  if (tokens.length === 0) return null
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
      <Button size="xs" color="red" variant="light" onClick={() => onChangeAll('inactive')}>
        Disable
      </Button>
      <Button size="xs" variant="light" onClick={() => onChangeAll('active')}>
        Enable
      </Button>
      <Button size="xs" variant="subtle" color="gray" onClick={onClear}>
        Clear selection
      </Button>
    </ActionBar>
  )
}
