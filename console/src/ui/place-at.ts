/** Puts what is open at a button below it, right edges aligned; above it where there is no room below. */
export function placeAt(popover: HTMLElement, button: HTMLElement): void {
  const { right, top, bottom } = button.getBoundingClientRect()
  const fitsBelow = bottom + popover.offsetHeight + 8 <= window.innerHeight
  popover.style.left = `${Math.max(8, right - popover.offsetWidth)}px`
  popover.style.top = `${fitsBelow ? bottom + 4 : Math.max(8, top - popover.offsetHeight - 4)}px`
}
