// A control of a form with its label, its hint, and what is wrong with its value.
import { LatchkeyError } from '../client/latchkey-client.ts'
import { element, newId } from './elements.ts'

type Control = HTMLInputElement | HTMLSelectElement

export interface Field<Of extends Control = Control> {
  readonly element: HTMLElement
  readonly control: Of
  readonly label: string
  /** Empty for nothing. */
  readonly setProblem: (problem: string) => void
}

export function field<Of extends Control>(label: string, control: Of, hint: string): Field<Of> {
  const [controlId, hintId, problemId] = [newId(), newId(), newId()]
  control.id = controlId
  control.setAttribute('aria-describedby', `${problemId} ${hintId}`)
  const problemText = element('p', { id: problemId, class: 'problem' })
  const made = element(
    'div',
    { class: 'field' },
    element('label', { for: controlId }, label),
    control,
    problemText,
    element('p', { id: hintId, class: 'small' }, hint),
  )
  const setProblem = (problem: string) => {
    problemText.textContent = problem
    control.ariaInvalid = problem === '' ? null : 'true'
  }
  control.addEventListener('input', () => setProblem(''))
  return { element: made, control, label, setProblem }
}

/** The first is chosen. */
export function select(choices: readonly (readonly [value: string, label: string])[]): HTMLSelectElement {
  return element('select', {}, ...choices.map(([value, label]) => element('option', { value }, label)))
}

/** Puts what the service objects to below the fields; false where its refusal is about none of them. */
export function showProblems(error: unknown, fields: Readonly<Record<string, Field>>): boolean {
  const wrong = problemsOf(error).flatMap(({ field: name, message }) => {
    const about = fields[name]
    if (about === undefined) return []
    about.setProblem(message.startsWith(name) ? about.label + message.slice(name.length) : message)
    return [about]
  })
  wrong[0]?.control.focus()
  return wrong.length > 0
}

/** The service names no field for a name that is taken, since nothing is wrong with the name itself. */
function problemsOf(error: unknown) {
  if (!(error instanceof LatchkeyError)) return []
  return error.code === 'duplicate-name' ? [{ field: 'name', message: error.message }] : error.details
}
