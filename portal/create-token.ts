// Asks for what a new token needs, and makes it.
import { openChangeDialog } from './change-dialog.ts'
import { element } from './elements.ts'
import { field, select } from './field.ts'
import { openNewCredential } from './new-credential.ts'
import type { Portal } from './portal.ts'

const DAY_MS = 24 * 60 * 60 * 1000

const EXPIRIES = [
  ['', 'Never'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In 1 year'],
] as const

export function openCreateToken(portal: Portal, openerId: string, onCreated: () => void): void {
  const { client, subAccount, signal } = portal.session
  const name = field(
    'Name',
    element('input', { required: true, maxlength: 255, autocomplete: 'off' }),
    'What the token is for, such as “Shop orders”.',
  )
  const expiresAt = field('Expires', select(EXPIRIES), 'A token that has expired is refused.')
  openChangeDialog(portal, {
    title: 'Create token',
    fields: { name, expiresAt },
    action: 'Create token',
    openerId,
    check() {
      if (name.control.value.trim() !== '') return true
      name.setProblem('Name is required')
      name.control.focus()
      return false
    },
    send: ({ idempotencyKey, at }) => {
      const days = expiresAt.control.value
      const body = {
        subAccountId: subAccount._id,
        name: name.control.value.trim(),
        expiresAt: days === '' ? null : new Date(at + Number(days) * DAY_MS).toISOString(),
      }
      return client.createToken({ 'idempotency-key': idempotencyKey, body }, { signal })
    },
    onDone(token) {
      portal.emit('created', token)
      openNewCredential(portal, { title: 'Token created', token, openerId })
      portal.say(`“${token.name}” is created.`)
      onCreated()
    },
  })
}
