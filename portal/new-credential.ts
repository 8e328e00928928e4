// Shows a new credential, this once: the only place that has it is the dialog, which is removed when it is closed.
import type { Token } from '../client/latchkey-client.ts'
import { button } from './button.ts'
import { openDialog } from './dialog.ts'
import { element } from './elements.ts'
import type { Portal } from './portal.ts'

interface NewCredential {
  readonly title: string
  readonly token: Token
  readonly openerId: string
}

/** It stays when the session ends, which would otherwise take the credential away before it is copied. */
export function openNewCredential({ root, focus }: Portal, { title, token, openerId }: NewCredential): void {
  const credential = element('code', { class: 'credential', tabindex: 0 }, token.token)
  const outcome = element('p', { role: 'status', class: 'small' })
  const copy = button('Copy credential', {
    class: 'primary',
    autofocus: true,
    click: () => void copyText(credential).then((said) => outcome.replaceChildren(said)),
  })
  const done = button('I have stored it', { click: () => dialog.close() })
  const dialog = openDialog(root, {
    title,
    children: [
      element('p', {}, 'The credential of ', element('strong', {}, token.name), ':'),
      credential,
      element('p', {}, 'You see it only now. Store it where your secrets are kept.'),
      outcome,
      element('div', { class: 'buttons' }, done, copy),
    ],
    // Escape is pressed too easily for something that cannot be brought back.
    mayCancel: () => false,
    onClosed: () => focus(openerId),
  })
}

/** Browsers offer the clipboard only over HTTPS, and to a frame only if its page allows it. */
async function copyText(shown: HTMLElement): Promise<string> {
  try {
    await navigator.clipboard.writeText(shown.textContent)
    return 'Copied.'
  } catch {
    getSelection()?.selectAllChildren(shown)
    return 'Your browser does not let this page copy. The credential is selected: copy it from the keyboard or the menu.'
  }
}
