// Names of tokens, sub-accounts and accounts.
import { cx } from './cx.ts'
import classes from './text.module.css'

/** A name is data: only ever text, and isolated so that its direction does not change the text around it. */
export function Name({ children, clip = false }: { children: string; clip?: boolean }) {
  return (
    <bdi className={cx(classes.name, clip && classes.clip)} title={clip ? children : undefined}>
      {children}
    </bdi>
  )
}

/** What happened to the thing with this name, for a toast. */
export function Outcome({ name, what }: { name: string; what: string }) {
  return (
    <>
      <Name>{name}</Name> {what}
    </>
  )
}
