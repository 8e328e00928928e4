// Gives a token a new credential, and says how long the present one goes on working.
import type { Token } from '../client/latchkey-client.ts'
import { openChangeDialog } from './change-dialog.ts'
import { element } from './elements.ts'
import { field, select } from './field.ts'
import { openNewCredential } from './new-credential.ts'
import type { Portal } from './portal.ts'

const HOUR_SECONDS = 60 * 60
const DAY_SECONDS = 24 * HOUR_SECONDS

const OVERLAPS = [
  // Not preselected: in a hurry, it would stop what runs with the present credential.
  ['', 'Choose…'],
  ['0', 'Stops now'],
  [`${HOUR_SECONDS}`, 'Works for 1 more hour'],
  [`${DAY_SECONDS}`, 'Works for 1 more day'],
  [`${7 * DAY_SECONDS}`, 'Works for 7 more days'],
] as const

export function openRotateToken(portal: Portal, { _id: id, name }: Token, openerId: string, onRotated: () => void) {
  const { client, signal } = portal.session
  const overlap = field(
    'The present credential',
    select(OVERLAPS),
    'If somebody else may know it, let it stop now. Otherwise leave yourself time to replace it wherever it is in use.',
  )
  openChangeDialog(portal, {
    title: `Rotate “${name}”`,
    text: element('p', {}, 'The token keeps its name and gets a new credential, which you see only once.'),
    fields: { overlapSeconds: overlap },
    action: 'Rotate',
    openerId,
    check() {
      if (overlap.control.value !== '') return true
      overlap.setProblem('Choose how long it works')
      overlap.control.focus()
      return false
    },
    send: ({ idempotencyKey }) => {
      const body = { overlapSeconds: Number(overlap.control.value) }
      return client.rotateToken({ id, 'idempotency-key': idempotencyKey, body }, { signal })
    },
    onDone(token) {
      portal.emit('rotated', token)
      openNewCredential(portal, { title: 'Credential rotated', token, openerId })
      portal.say(`“${token.name}” has a new credential.`)
      onRotated()
    },
  })
}
