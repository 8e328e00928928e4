// The rows of the first view as plain text, in the place of the skeleton, while the code of the views is on its way: on a slow line they can
// be read a second and a half before anything can be done with them. They go when the page is drawn.
import type { Overview, TokenPage } from '../../client/latchkey-client.ts'

/** Cells of text, in the order of the view. */
export type PlainRows = readonly (readonly string[])[]

export const rowsOfTokens = ({ items }: TokenPage): PlainRows =>
  items.map(({ name, subAccount, status, token, details }) => [
    name,
    details?.effectiveStatus ?? status,
    subAccount.name,
    token,
  ])

export const rowsOfOverview = ({ tokens, subAccounts }: Overview): PlainRows =>
  [
    ['Tokens', tokens.active + tokens.inactive],
    ['Never used', tokens.neverUsed],
    ['Expiring within 30 days', tokens.expiringSoon],
    ['Expired, still active', tokens.expired],
    ['Sub-accounts', subAccounts.total],
  ].map((row) => row.map(String))

/** The upper part of the skeleton: header, title and filters. */
const HEAD_HEIGHT = 188

/** Nothing, once the page is there. Not read out: the page that follows is. */
export function drawPlainRows(root: HTMLElement, rows: PlainRows): void {
  const skeleton = document.getElementById('skeleton')
  if (skeleton === null || root.hasChildNodes() || rows.length === 0) return
  const table = document.createElement('table')
  table.id = 'first-rows'
  table.ariaHidden = 'true'
  for (const row of rows) {
    const line = table.insertRow()
    for (const cell of row) {
      const text = document.createElement('bdi')
      text.textContent = cell
      line.insertCell().append(text)
    }
  }
  skeleton.setAttribute('height', String(HEAD_HEIGHT))
  skeleton.after(table)
  new MutationObserver((_, observer) => {
    table.remove()
    observer.disconnect()
  }).observe(root, { childList: true })
}
