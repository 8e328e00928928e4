// The menu of one token at a time, beside the button that asked for it: a native popover, which the browser keeps on
// top and closes on Escape or a click elsewhere. It would stay behind when the page is scrolled, so that closes it too.
import { type KeyboardEvent, useLayoutEffect, useRef } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { Icon, type IconName } from '../icon.tsx'
import { fullName, type TokenAction } from './cells.tsx'

export interface MenuPlace {
  readonly token: Token
  readonly button: HTMLElement
}

interface TokenMenuProps {
  readonly place: MenuPlace
  readonly close: () => void
  readonly onAction: (action: TokenAction, token: Token) => void
}

const ITEMS: readonly (readonly [TokenAction, IconName, (token: Token) => string])[] = [
  ['rename', 'pencil', () => 'Rename'],
  ['status', 'power', ({ status }) => (status === 'active' ? 'Disable…' : 'Enable…')],
  ['rotate', 'rotate', () => 'Rotate credential…'],
  ['history', 'history', () => 'History'],
  ['copy-id', 'copy', () => 'Copy token id'],
  ['delete', 'trash', () => 'Delete…'],
]

export function TokenMenu({ place: { token, button }, close, onAction }: TokenMenuProps) {
  const menu = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = menu.current
    if (element === null) return
    element.showPopover()
    putBeside(element, button)
    element.querySelector('button')?.focus()
    button.setAttribute('aria-expanded', 'true')
    const { top } = button.getBoundingClientRect()
    const onScroll = () => {
      if (button.getBoundingClientRect().top !== top) element.hidePopover()
    }
    document.addEventListener('scroll', onScroll, { capture: true })
    return () => {
      button.setAttribute('aria-expanded', 'false')
      document.removeEventListener('scroll', onScroll, { capture: true })
    }
  }, [button])
  /** The focus goes back first, so that a dialog that follows knows where to return it to. */
  const leave = () => {
    if (menu.current?.contains(document.activeElement)) button.focus()
    close()
  }
  return (
    <div
      ref={menu}
      popover="auto"
      role="menu"
      tabIndex={-1}
      aria-label={`Actions for ${fullName(token)}`}
      className="menu"
      onKeyDown={(event) => {
        if (event.key === 'Tab') leave()
        else moveFocus(event)
      }}
      onToggle={({ newState }) => {
        if (newState === 'closed') leave()
      }}
    >
      {ITEMS.map(([action, icon, label]) => (
        <button
          key={action}
          type="button"
          role="menuitem"
          tabIndex={-1}
          className={action === 'delete' ? 'danger' : ''}
          onClick={() => {
            leave()
            onAction(action, token)
          }}
        >
          <Icon name={icon} />
          {label(token)}
        </button>
      ))}
    </div>
  )
}

/** Below the button, ends aligned; above it where there is no room below. */
function putBeside(menu: HTMLElement, button: HTMLElement): void {
  const { right, top, bottom } = button.getBoundingClientRect()
  const below = bottom + menu.offsetHeight + 8 <= window.innerHeight
  menu.style.left = `${Math.max(8, right - menu.offsetWidth)}px`
  menu.style.top = `${below ? bottom + 4 : Math.max(8, top - menu.offsetHeight - 4)}px`
}

function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const items = [...event.currentTarget.querySelectorAll('button')]
  const at = items.indexOf(document.activeElement as HTMLButtonElement)
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key]
  if (next === undefined) return
  event.preventDefault()
  items.at(next % items.length)?.focus()
}
