// A modal dialog with a heading. It is removed from the document when it is closed, with all that it shows.
import { type Child, element, newId } from './elements.ts'

interface DialogOptions {
  readonly title: string
  readonly children: readonly Child[]
  /** Closes it, too. */
  readonly signal?: AbortSignal
  /** Whether Escape closes it now. */
  readonly mayCancel: () => boolean
  /** Not while another dialog has followed it. */
  readonly onClosed: () => void
}

export function openDialog(root: ShadowRoot, { title, children, signal, mayCancel, onClosed }: DialogOptions) {
  const titleId = newId()
  const dialog = element('dialog', { 'aria-labelledby': titleId }, element('h3', { id: titleId }, title), ...children)
  // Browsers send no `cancel` when Escape is pressed a second time.
  dialog.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && !mayCancel()) event.preventDefault()
  })
  dialog.addEventListener('cancel', (event) => {
    if (!mayCancel()) event.preventDefault()
  })
  const close = () => dialog.close()
  signal?.addEventListener('abort', close)
  dialog.addEventListener('close', () => {
    signal?.removeEventListener('abort', close)
    dialog.remove()
    if (root.querySelector('dialog') === null) onClosed()
  })
  root.append(dialog)
  dialog.showModal()
  return dialog
}
