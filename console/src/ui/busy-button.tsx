// A button that shows that its request is under way. It is not disabled meanwhile: a disabled button loses the focus.
import { Button, type ButtonProps, Loader } from '@mantine/core'
import type { ComponentProps } from 'react'

/** Styles of a button whose label may be wider than the screen of a telephone. */
export const WRAPS = {
  root: { height: 'auto', minHeight: 36, paddingBlock: 6 },
  label: { whiteSpace: 'normal' },
} as const

type BusyButtonProps = ButtonProps & Omit<ComponentProps<'button'>, keyof ButtonProps> & { readonly busy: boolean }

export function BusyButton({ busy, onClick, leftSection, ...rest }: BusyButtonProps) {
  return (
    <Button
      {...rest}
      aria-disabled={busy}
      leftSection={busy ? <Loader size={14} color="currentColor" /> : leftSection}
      // A submit button that does nothing on click keeps its form from being sent twice, by Enter too.
      onClick={(event) => {
        if (busy) event.preventDefault()
        else onClick?.(event)
      }}
    />
  )
}
