// Labelled facts about one thing, as in the dialog that is about to change it.
import { DataList } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './facts.module.css'

type Fact = readonly [label: string, value: ReactNode]

/** `isRaised` where they are not in a dialog but on the page itself. */
export function Facts({ facts, isRaised = false }: { facts: readonly Fact[]; isRaised?: boolean }) {
  return (
    <DataList
      className={classes.facts}
      gap={8}
      px={14}
      py={12}
      bd="1px solid var(--color-line)"
      bdrs={8}
      bg={isRaised ? 'var(--color-surface)' : 'var(--color-page)'}
    >
      {facts.map(([label, value]) => (
        <DataList.Item key={label}>
          <DataList.ItemLabel>{label}</DataList.ItemLabel>
          <DataList.ItemValue miw={0}>{value}</DataList.ItemValue>
        </DataList.Item>
      ))}
    </DataList>
  )
}
