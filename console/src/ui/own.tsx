// Marks the entry of a list that is the viewer's own key or session.
import { Text } from '@mantine/core'

export function Own({ children }: { children: string }) {
  return (
    <Text span size="xs" fw={500} lh="inherit" c="var(--color-accent)">
      {children}
    </Text>
  )
}
