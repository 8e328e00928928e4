// Credentials, account keys and secrets on screen: what shows and hides them.
import { IconButton } from './row-buttons.tsx'

/** How long a secret stays on screen. */
export const SHOWN_MS = 60_000

export type Secret = 'credential' | 'key' | 'secret' | 'link'

/** Also when the page is left: the browser may keep it to come back to. */
export function onHiddenTab(hide: () => void): () => void {
  const listener = () => {
    if (document.hidden) hide()
  }
  document.addEventListener('visibilitychange', listener)
  window.addEventListener('pagehide', hide)
  return () => {
    document.removeEventListener('visibilitychange', listener)
    window.removeEventListener('pagehide', hide)
  }
}

interface ShowButtonProps {
  readonly isShown: boolean
  readonly toggle: () => void
  readonly what?: Secret
  readonly of: string
}

export function ShowButton({ isShown, toggle, what = 'credential', of }: ShowButtonProps) {
  return (
    <IconButton
      icon={isShown ? 'eye-off' : 'eye'}
      label={`${isShown ? 'Hide' : 'Show'} ${what} of ${of}`}
      pressed={isShown}
      onClick={toggle}
    />
  )
}
