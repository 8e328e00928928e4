// Buttons, and how one says that its request is under way.
import { type Attributes, element } from './elements.ts'

interface ButtonAttributes extends Attributes {
  readonly click?: () => void
}

export function button(label: string, attributes: ButtonAttributes): HTMLButtonElement {
  return element('button', { type: 'button', ...attributes }, label)
}

/** Not `disabled`, which would lose the focus: what listens to the button asks `isBusy` first. */
export function setBusy(button: HTMLButtonElement, isBusy: boolean): void {
  button.ariaDisabled = isBusy ? 'true' : null
  button.ariaBusy = isBusy ? 'true' : null
}

export function isBusy(button: HTMLButtonElement): boolean {
  return button.ariaBusy === 'true'
}
