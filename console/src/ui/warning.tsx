// A consequence that is easily overlooked, within a dialog.
import { Text, type TextProps } from '@mantine/core'
import type { ReactNode } from 'react'

const LOOK: TextProps = { size: 'sm', fw: 500, c: 'var(--color-warning)', bg: 'var(--color-warning-surface)' }

export function Warning({ children, role }: { children: ReactNode; role?: 'status' }) {
  return (
    <Text {...LOOK} px={14} py={10} bdrs={8} component="div" role={role}>
      {children}
    </Text>
  )
}
