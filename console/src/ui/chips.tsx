// Short texts next to each other.
import type { ReactNode } from 'react'
import classes from './chip.module.css'

export function Chips({ label, children }: { label?: string; children: ReactNode }) {
  return (
    <ul className={classes.chips} aria-label={label}>
      {children}
    </ul>
  )
}
