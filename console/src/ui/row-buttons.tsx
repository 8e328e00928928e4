// The small buttons of list rows. Plain elements, unlike Mantine's: a page of a hundred rows has five hundred of them.
import { createLink } from '@tanstack/react-router'
import type { ComponentProps, MouseEvent } from 'react'
import { cx } from './cx.ts'
import { Icon, type IconName } from './icon.tsx'
import classes from './row-buttons.module.css'

interface IconButtonProps {
  readonly icon: IconName
  readonly label: string
  readonly onClick: (event: MouseEvent<HTMLButtonElement>) => void
  readonly id?: string
  readonly className?: string | undefined
  readonly pressed?: boolean
  /** For a button that opens a menu. */
  readonly expanded?: boolean
}

export function IconButton({ icon, label, onClick, id, className, pressed, expanded }: IconButtonProps) {
  return (
    <button
      type="button"
      className={cx(classes.icon, className)}
      id={id}
      aria-label={label}
      aria-pressed={pressed}
      aria-expanded={expanded}
      aria-haspopup={expanded === undefined ? undefined : 'menu'}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  )
}

interface SmallButtonProps {
  readonly children: string
  /** Says what the button is for, since the row around it is not read out with it. */
  readonly label: string
  readonly onClick: () => void
}

export function SmallButton({ children, label, onClick }: SmallButtonProps) {
  return (
    <button type="button" className={classes.small} aria-label={label} onClick={onClick}>
      {children}
    </button>
  )
}

/** A link that looks like the buttons next to it; a link, so that it can be opened in a tab of its own. */
export const SmallLink = createLink((props: ComponentProps<'a'>) => <a {...props} className={classes.small} />)
