// Where the keyboard focus goes when the element that had it disappears: never to nowhere.
import { useLayoutEffect, useState } from 'react'

/** A ref for what may disappear at any time, such as a row of a list that is fetched again. */
export function keepFocusOnRemoval(element: HTMLElement | null): () => void {
  return () => {
    if (element?.contains(document.activeElement)) keepFocus()
  }
}

/** What comes instead may take the focus by itself. */
const TAKEN_MS = 20

/** Moves a lost focus to the element with this id, or to the title of the view. */
export function keepFocus(id?: string): void {
  setTimeout(() => {
    if (document.activeElement !== document.body) return
    const next = (id === undefined ? null : document.getElementById(id)) ?? document.querySelector<HTMLElement>('h1')
    next?.focus({ preventScroll: true })
    // Who uses a mouse has not looked at the focus, and stays where they are.
    if (next?.matches(':focus-visible')) next.scrollIntoView({ block: 'nearest' })
  }, TAKEN_MS)
}

/**
 * Properties of a dialog, which give the focus back to what had it before. Mantine would look for that in an effect, which may run when
 * the dialog has the focus already, and takes the focus by a timer, which may run when the dialog is closing already.
 */
export function useFocusReturn(isOpen: boolean) {
  const [{ wasOpen, opener }, setState] = useState({ wasOpen: false, opener: document.body as Element | null })
  // While it is rendered: nothing of the dialog is there yet to take the focus.
  if (isOpen !== wasOpen) setState({ wasOpen: isOpen, opener: isOpen ? document.activeElement : opener })
  useLayoutEffect(() => {
    if (!isOpen) giveBack(opener)
  }, [isOpen, opener])
  return {
    returnFocus: false,
    onExitTransitionEnd() {
      giveBack(opener)
      keepFocus()
    },
  }
}

/** Unless it is elsewhere on the page by now. */
function giveBack(opener: Element | null): void {
  const { activeElement, body } = document
  const isElsewhere = activeElement !== body && activeElement?.closest('[role=dialog]') === null
  if (!isElsewhere && opener instanceof HTMLElement) opener.focus({ preventScroll: true })
}
