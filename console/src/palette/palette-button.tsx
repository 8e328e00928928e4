// Ctrl K, and the button that says so; the palette itself is loaded later.
import { Button, Kbd, VisuallyHidden } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useState } from 'react'
import { Icon } from '../ui/icon.tsx'
import { later } from '../ui/later.tsx'
import text from '../ui/text.module.css'
import { useLast } from '../ui/use-last.ts'

const Palette = later(async () => (await import('./palette.tsx')).Palette)

const isMac = navigator.platform.startsWith('Mac')

export function PaletteButton() {
  const [isOpen, setOpen] = useState(false)
  const wasOpened = useLast(isOpen || undefined).last !== undefined
  const open = () => {
    // A dialog may have something to lose.
    if (document.querySelector('[role=dialog]') === null) setOpen(true)
  }
  // Also while somebody types.
  useHotkeys([['mod+K', open]], [])
  return (
    <>
      <Button size="xs" variant="default" px={7} aria-keyshortcuts={isMac ? 'Meta+K' : 'Control+K'} onClick={open}>
        <Icon name="search" size={14} />
        <VisuallyHidden>Search and commands </VisuallyHidden>
        <Kbd size="xs" ml={6} className={text.onlyWide}>
          {isMac ? '⌘K' : 'Ctrl K'}
        </Kbd>
      </Button>
      {wasOpened && <Palette isOpen={isOpen} close={() => setOpen(false)} />}
    </>
  )
}
