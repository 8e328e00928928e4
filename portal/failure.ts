// What went wrong, in words that say what to do next.
import { LatchkeyError } from '../client/latchkey-client.ts'
import { button } from './button.ts'
import { element } from './elements.ts'

/** `retry` is left out where the form around it has a button for that. */
export function failureAlert(error: unknown, retry?: () => void): HTMLElement {
  const { title, text } = explain(error)
  const requestId = error instanceof LatchkeyError ? error.requestId : undefined
  return element(
    'div',
    { class: 'failure', role: 'alert' },
    element('p', {}, element('strong', {}, title)),
    element('p', {}, text),
    requestId === undefined ? undefined : element('p', { class: 'small' }, `Request ${requestId}`),
    retry && button('Try again', { click: retry }),
  )
}

function explain(error: unknown): { readonly title: string; readonly text: string } {
  if (!(error instanceof LatchkeyError)) return { title: 'Something went wrong in this page', text: String(error) }
  const { status, message } = error
  if (status === 0 && !navigator.onLine) {
    return { title: 'You are offline', text: 'Nothing is confirmed. Try again when there is a connection.' }
  }
  if (status === 0) {
    return { title: 'The service cannot be reached', text: 'Nothing is confirmed. Try again in a moment.' }
  }
  if (status === 403) return { title: 'Not allowed', text: `${message}. Ask your provider if you need this.` }
  if (status === 404) return { title: 'Not found', text: 'It may have been deleted. Close this and look at the list.' }
  if (status === 429) {
    const wait = error.retryAfterSeconds
    return { title: 'Too many requests', text: `Try again in ${wait ? `${wait} s` : 'a moment'}.` }
  }
  if (status >= 500) return { title: 'The service has a problem', text: `${message}. Try again in a moment.` }
  return { title: 'The service refused this', text: message }
}
