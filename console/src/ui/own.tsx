// Marks what in a list belongs to whoever is looking at it.
import { Text } from '@mantine/core'

export function Own({ children }: { children: string }) {
  return (
    <Text span size="xs" fw={500} lh="inherit" c="var(--color-accent)">
      {children}
    </Text>
  )
}
