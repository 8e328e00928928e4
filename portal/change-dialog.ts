// A dialog that makes one change: its fields, its button, and what went wrong.
import type { Token } from '../client/latchkey-client.ts'
import { newIdempotencyKey } from '../client/request.ts'
import { button, isBusy, setBusy } from './button.ts'
import { openDialog } from './dialog.ts'
import { type Child, element } from './elements.ts'
import { failureAlert } from './failure.ts'
import { type Field, showProblems } from './field.ts'
import type { Portal } from './portal.ts'

/** Kept until a field is changed, so that another attempt is the same request. */
export interface Intent {
  readonly idempotencyKey: string
  readonly at: number
}

interface ChangeDialog {
  readonly title: string
  readonly text?: Child
  /** By their names in the request. */
  readonly fields?: Readonly<Record<string, Field>>
  /** On the button. */
  readonly action: string
  readonly isDangerous?: boolean
  /** The element that gets the focus when the dialog is closed. */
  readonly openerId: string
  /** Says at the fields what is missing; true if nothing is. */
  readonly check?: () => boolean
  readonly send: (intent: Intent) => Promise<Token>
  readonly onDone: (token: Token) => void
}

export function openChangeDialog({ root, session, focus }: Portal, change: ChangeDialog): void {
  const { fields = {} } = change
  const outcome = element('div')
  const submit = button(change.action, { type: 'submit', class: change.isDangerous ? 'danger' : 'primary' })
  const cancel = button('Cancel', { click: () => isBusy(submit) || dialog.close() })
  let intent: Intent | undefined
  const run = async () => {
    for (const field of Object.values(fields)) field.setProblem('')
    outcome.replaceChildren()
    if (change.check?.() === false) return
    intent ??= { idempotencyKey: newIdempotencyKey(), at: Date.now() }
    setBusy(submit, true)
    try {
      const token = await change.send(intent)
      dialog.close()
      change.onDone(token)
    } catch (error) {
      if (session.signal.aborted || showProblems(error, fields)) return
      outcome.append(failureAlert(error))
      submit.textContent = 'Try again'
    } finally {
      setBusy(submit, false)
    }
  }
  const form = element(
    'form',
    {
      novalidate: true,
      submit(event) {
        event.preventDefault()
        if (!isBusy(submit)) void run()
      },
      input() {
        intent = undefined
        submit.textContent = change.action
      },
    },
    change.text,
    ...Object.values(fields).map((field) => field.element),
    outcome,
    element('div', { class: 'buttons' }, cancel, submit),
  )
  const dialog = openDialog(root, {
    title: change.title,
    children: [form],
    signal: session.signal,
    mayCancel: () => !isBusy(submit),
    onClosed: () => focus(change.openerId),
  })
}
