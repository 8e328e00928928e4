// The heading of a view. It is also the title of the page, and takes the focus when a link leads to the view.
import { Group, Title } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import classes from './view-title.module.css'

let isFirstView = true

/** `children` are the view's own buttons. */
export function ViewTitle({ title, children }: { title: string; children?: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Latchkey`
  }, [title])
  useEffect(() => {
    if (!isFirstView) heading.current?.focus()
    isFirstView = false
  }, [])
  return (
    <Group justify="space-between" mb="md">
      <Title order={1} size="h2" ref={heading} tabIndex={-1} className={classes.title}>
        {title}
      </Title>
      {children}
    </Group>
  )
}
