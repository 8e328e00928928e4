// The menu of one token at a time, at the button that opened it: a native popover, which the browser keeps on top and
// closes on Escape or a click elsewhere. Mantine's menu would have to be in every row, and adds 6 kB.
import { Box, UnstyledButton } from '@mantine/core'
import { type KeyboardEvent, useLayoutEffect, useRef } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { Icon, type IconName } from '../ui/icon.tsx'
import { placeAt } from '../ui/place-at.ts'
import surface from '../ui/surface.module.css'
import { type TokenAction, useTokenActions } from './token-actions.tsx'
import { fullName } from './token-words.ts'

export interface OpenMenu {
  readonly token: Token
  readonly button: HTMLElement
}

/** Everything else changes the token. */
const READS: readonly TokenAction[] = ['history', 'copy-id']

const ITEMS: readonly (readonly [TokenAction, IconName, (token: Token) => string])[] = [
  ['rename', 'pencil', () => 'Rename'],
  ['status', 'power', ({ status }) => (status === 'active' ? 'Disable…' : 'Enable…')],
  ['rotate', 'rotate', () => 'Rotate credential…'],
  ['history', 'history', () => 'History'],
  ['copy-id', 'copy', () => 'Copy token id'],
  ['delete', 'trash', () => 'Delete…'],
]

export function TokenMenu({ menu: { token, button }, close }: { menu: OpenMenu; close: () => void }) {
  const { start, permissions } = useTokenActions()
  const popover = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = popover.current
    if (element === null) return
    element.showPopover()
    placeAt(element, button)
    element.querySelector('button')?.focus()
    button.setAttribute('aria-expanded', 'true')
    const { top } = button.getBoundingClientRect()
    // The popover does not move with the page.
    const closed = new AbortController()
    const onScroll = () => {
      if (button.getBoundingClientRect().top !== top) element.hidePopover()
    }
    document.addEventListener('scroll', onScroll, { capture: true, signal: closed.signal })
    window.addEventListener('resize', () => element.hidePopover(), { signal: closed.signal })
    return () => {
      button.setAttribute('aria-expanded', 'false')
      closed.abort()
    }
  }, [button])
  /** The button gets the focus back first, so that a dialog that follows knows where to return it to. */
  const leave = () => {
    if (popover.current?.contains(document.activeElement)) button.focus()
    close()
  }
  return (
    <Box
      ref={popover}
      popover="auto"
      role="menu"
      tabIndex={-1}
      aria-label={`Actions for ${fullName(token)}`}
      p={4}
      className={surface.popover}
      onKeyDown={(event) => {
        if (event.key === 'Tab') leave()
        else moveFocus(event)
      }}
      onToggle={({ newState }) => {
        if (newState === 'closed') leave()
      }}
    >
      {ITEMS.filter(([action]) => permissions.change || READS.includes(action)).map(([action, icon, label]) => (
        <UnstyledButton
          key={action}
          role="menuitem"
          tabIndex={-1}
          display="flex"
          w="100%"
          py={8}
          pl={12}
          pr={16}
          bdrs={6}
          fz="sm"
          c={action === 'delete' ? 'var(--mantine-color-error)' : 'inherit'}
          className={surface.choice}
          style={{ alignItems: 'center', gap: 10, outlineOffset: -2 }}
          onClick={() => {
            leave()
            start(action, token)
          }}
        >
          <Icon name={icon} />
          {label(token)}
        </UnstyledButton>
      ))}
    </Box>
  )
}

function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const items = [...event.currentTarget.querySelectorAll('button')]
  const at = items.indexOf(document.activeElement as HTMLButtonElement)
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key]
  if (next === undefined) return
  event.preventDefault()
  items.at(next % items.length)?.focus()
}
