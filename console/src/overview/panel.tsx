// One chart of the overview with its heading.
import { Paper, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './overview.module.css'

export function Panel({ title, note, children }: { title: string; note?: string; children: ReactNode }) {
  return (
    <Paper withBorder p="lg" component="section" className={classes.panel} aria-label={title}>
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
