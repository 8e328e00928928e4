// The filters of a list but its search. On a telephone one button opens them: they would fill its screen before the first row.
import { Button } from '@mantine/core'
import { type ReactNode, useId, useState } from 'react'
import classes from './filters.module.css'

/** `count` is how many are set. */
export function MoreFilters({ count, children }: { count: number; children: ReactNode }) {
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button
        variant="default"
        className={classes.moreButton}
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        Filters{count > 0 && ` (${count})`}
      </Button>
      <div id={id} className={classes.more} data-closed={!isOpen || undefined}>
        {children}
      </div>
    </>
  )
}
