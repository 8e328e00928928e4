// Labelled facts about one thing, as in the dialog that is about to change it.
import { DataList } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './facts.module.css'

type Fact = readonly [label: string, value: ReactNode]

export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <DataList
      className={classes.facts}
      gap={8}
      px={14}
      py={12}
      bd="1px solid var(--color-line)"
      bdrs={8}
      bg="var(--color-page)"
    >
      {facts.map(([label, value]) => (
        <DataList.Item key={label}>
          <DataList.ItemLabel>{label}</DataList.ItemLabel>
          <DataList.ItemValue className={classes.value}>{value}</DataList.ItemValue>
        </DataList.Item>
      ))}
    </DataList>
  )
}
