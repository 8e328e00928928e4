// Where the keyboard focus goes when the element that had it disappears: never to nowhere.

/** A ref for what may disappear at any time, such as a row of a list that is fetched again. */
export function keepFocusOnRemoval(element: HTMLElement | null): () => void {
  return () => {
    if (element?.contains(document.activeElement)) keepFocus()
  }
}

/** Mantine gives the focus back 10 ms after a dialog was closed, to what had opened it. */
const GIVEN_BACK_MS = 20

/** Moves a lost focus to the element with this id, or to the title of the view. */
export function keepFocus(id?: string): void {
  setTimeout(() => {
    if (document.activeElement !== document.body) return
    const next = (id === undefined ? null : document.getElementById(id)) ?? document.querySelector<HTMLElement>('h1')
    next?.focus({ preventScroll: true })
    // Who uses a mouse has not looked at the focus, and stays where they are.
    if (next?.matches(':focus-visible')) next.scrollIntoView({ block: 'nearest' })
  }, GIVEN_BACK_MS)
}
