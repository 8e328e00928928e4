// The heading of a view. It is also the title of the page, and takes the focus when a link leads to the view.
import { Group, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { type ReactNode, useEffect, useRef } from 'react'
import text from './text.module.css'

let isFirstView = true

/** `children` are the view's own buttons. */
export function ViewTitle({ title, children }: { title: string; children?: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useDocumentTitle(`${title} · Latchkey`)
  useEffect(() => {
    if (!isFirstView) heading.current?.focus()
    isFirstView = false
  }, [])
  return (
    <Group justify="space-between" mb="md">
      <Title
        order={1}
        size="h2"
        fz="clamp(1.4rem, 5vw, 1.625rem)"
        ref={heading}
        tabIndex={-1}
        className={text.name}
        style={{ outline: 'none' }}
      >
        {title}
      </Title>
      {children}
    </Group>
  )
}
