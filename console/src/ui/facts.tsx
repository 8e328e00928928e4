// Labelled facts about one thing, as in the dialog that is about to change it.
import { DataList } from '@mantine/core'
import type { ReactNode } from 'react'
import surface from './surface.module.css'

export type Fact = readonly [label: string, value: ReactNode]

/** `isRaised` where they are not in a dialog but on the page itself. */
export function Facts({ facts, isRaised = false }: { facts: readonly Fact[]; isRaised?: boolean }) {
  return (
    <DataList
      className={isRaised ? surface.raised : surface.inset}
      labelWidth="clamp(5.3rem, 24vw, 7.5rem)"
      gap={8}
      px={14}
      py={12}
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
