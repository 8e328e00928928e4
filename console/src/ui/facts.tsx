// Labelled facts about one thing, as in the dialog that is about to change it.
import { DataList } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './facts.module.css'

export type Fact = readonly [label: string, value: ReactNode]

export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <DataList className={classes.facts} gap={8} labelWidth="7.5rem">
      {facts.map(([label, value]) => (
        <DataList.Item key={label}>
          <DataList.ItemLabel>{label}</DataList.ItemLabel>
          <DataList.ItemValue className={classes.value}>{value}</DataList.ItemValue>
        </DataList.Item>
      ))}
    </DataList>
  )
}
