// One chart of the overview with its heading.
import { Paper, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

export function Panel({ title, note, children }: { title: string; note?: string; children: ReactNode }) {
  return (
    <Paper withBorder p="lg" flex="1 1 29rem" miw={0} component="section" aria-label={title}>
      <Title order={2} fz="1rem" fw={620} lh="var(--mantine-line-height)" mb={4}>
        {title}
      </Title>
      {note !== undefined && (
        <Text size="sm" c="dimmed" mb="sm">
          {note}
        </Text>
      )}
      {children}
    </Paper>
  )
}
