// What the parts of the portal share: the session, and the ways to tell the person and the page around it what was done.
import type { Token } from '../client/latchkey-client.ts'
import type { Session } from './session.ts'

export interface Portal {
  readonly session: Session
  /** Where dialogs go. */
  readonly root: ShadowRoot
  /** Shows the outcome of a change, and has it read out. */
  readonly say: (outcome: string) => void
  /** Tells the page around it. */
  readonly emit: (change: 'created' | 'rotated' | 'disabled', token: Token) => void
  /** Moves the focus to the element with this id, or to what heads the view where there is none. */
  readonly focus: (id?: string) => void
}

/** Also seen outside of the shadow root. */
export function portalEvent(what: string, detail?: object): CustomEvent {
  return new CustomEvent(`latchkey:${what}`, { detail, bubbles: true, composed: true })
}
