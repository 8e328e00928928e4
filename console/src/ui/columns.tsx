// Columns of a list that a person does not need. What is hidden is kept in this browser, for every account.
import { Box, Button } from '@mantine/core'
import { type RefObject, type ToggleEvent, useId, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { Column } from './list.tsx'
import { placeAt } from './place-at.ts'
import surface from './surface.module.css'
import text from './text.module.css'

const storageKey = (list: string): string => `latchkey.hidden-columns.${list}`

/** Storage may be refused, and what it has may be of another version. */
function readHidden(list: string): readonly string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(storageKey(list)) ?? '[]')
    return Array.isArray(kept) ? kept.filter((each) => typeof each === 'string') : []
  } catch {
    return []
  }
}

function keepHidden(list: string, hidden: readonly string[]): void {
  try {
    localStorage.setItem(storageKey(list), JSON.stringify(hidden))
  } catch {
    // It lasts until the page is left.
  }
}

const canBeHidden = ({ role, inTable }: Column<never>): boolean => role === undefined && inTable !== false

export interface ColumnChoice<Row> {
  readonly shown: readonly Column<Row>[]
  /** Headers of all that can be hidden, and whether they are shown. */
  readonly choices: readonly (readonly [header: string, isShown: boolean])[]
  readonly toggle: (header: string) => void
}

/** `columns` must be stable. */
export function useColumns<Row>(list: string, columns: readonly Column<Row>[]): ColumnChoice<Row> {
  const [hidden, setHidden] = useState(() => readHidden(list))
  const shown = useMemo(
    () => columns.filter((column) => !canBeHidden(column) || !hidden.includes(column.header)),
    [columns, hidden],
  )
  return {
    shown,
    choices: columns.filter(canBeHidden).map(({ header }) => [header, !hidden.includes(header)]),
    toggle(header) {
      const next = hidden.includes(header) ? hidden.filter((each) => each !== header) : [...hidden, header]
      keepHidden(list, next)
      setHidden(next)
    },
  }
}

export function ColumnsButton<Row>({ choice: { choices, toggle } }: { choice: ColumnChoice<Row> }) {
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const [button, popover] = [useRef<HTMLButtonElement>(null), useRef<HTMLDivElement>(null)]
  useLayoutEffect(() => {
    if (isOpen && popover.current && button.current) placeAt(popover.current, button.current)
  })
  return (
    <>
      <Button ref={button} variant="default" popoverTarget={id} className={text.onlyWide}>
        Columns
      </Button>
      <Box
        component="fieldset"
        ref={popover as RefObject<never>}
        id={id}
        popover="auto"
        aria-label="Columns that are shown"
        className={surface.popover}
        p={10}
        onToggle={({ newState }: ToggleEvent) => setOpen(newState === 'open')}
      >
        {isOpen &&
          choices.map(([header, isShown]) => (
            <Box component="label" key={header} className={text.line} px={6} py={5}>
              <input type="checkbox" checked={isShown} onChange={() => toggle(header)} />
              {header}
            </Box>
          ))}
      </Box>
    </>
  )
}
