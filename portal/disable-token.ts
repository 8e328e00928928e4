// Disables a token, after saying that this cannot be undone here.
import type { Token } from '../client/latchkey-client.ts'
import { openChangeDialog } from './change-dialog.ts'
import { element } from './elements.ts'
import type { Portal } from './portal.ts'

export function openDisableToken(portal: Portal, { _id: id, name }: Token, openerId: string, onDisabled: () => void) {
  const { client, signal } = portal.session
  openChangeDialog(portal, {
    title: `Disable “${name}”?`,
    text: element(
      'p',
      {},
      'Every request with its credential is refused from then on. It cannot be enabled again here: only your provider can do that.',
    ),
    action: 'Disable',
    isDangerous: true,
    openerId,
    send: () => client.updateToken({ id, credentials: 'masked', body: { status: 'inactive' } }, { signal }),
    onDone(token) {
      portal.emit('disabled', token)
      portal.say(`“${token.name}” is disabled.`)
      onDisabled()
    },
  })
}
