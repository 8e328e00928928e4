// The heading of a view: also the page's title, and where the focus goes when the view is come to by a link.
import { Title } from '@mantine/core'
import { useEffect, useRef } from 'react'

let shownBefore = false

export function ViewTitle({ children }: { children: string }) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${children} · Latchkey`
    if (shownBefore) heading.current?.focus()
    shownBefore = true
  }, [children])
  return (
    <Title order={1} size="h2" ref={heading} tabIndex={-1} className="view-title">
      {children}
    </Title>
  )
}

/** A ref for what may go at any time, such as a row of a list that is fetched again: its focus is not lost with it. */
export function keepFocusOnRemoval(element: HTMLElement | null): () => void {
  return () => {
    if (element?.contains(document.activeElement)) keepFocus()
  }
}

/** Where what held the focus is gone, it goes to the element named, or to the top of the view, and not to nowhere. */
export function keepFocus(id?: string): void {
  requestAnimationFrame(() => {
    if (document.activeElement !== document.body) return
    const next = (id === undefined ? null : document.getElementById(id)) ?? document.querySelector<HTMLElement>('h1')
    next?.focus()
  })
}
