// One token in the list: a row of a table, or a card where the list is narrow.
import type { Token } from '../client/latchkey-client.ts'
import { button } from './button.ts'
import { type Child, element } from './elements.ts'
import { day, moment } from './format.ts'
import type { Session } from './session.ts'
import { usageOf } from './usage.ts'

/** Each is given the id of the button that was pressed. */
export interface TokenActions {
  readonly rotate: (token: Token, openerId: string) => void
  readonly disable: (token: Token, openerId: string) => void
}

const COLUMNS = ['Name', 'Credential', 'Status', 'Created', 'Last used', 'Expires', 'Actions'] as const
type Column = (typeof COLUMNS)[number]

type Status = NonNullable<Token['details']>['effectiveStatus']

const STATUSES: Readonly<Record<Status, string>> = {
  active: 'Active',
  inactive: 'Disabled',
  expired: 'Expired',
  suspended: 'Suspended',
}

export function columnsFor({ may }: Session): readonly Column[] {
  const hasActions = may.includes('usage') || may.includes('rotate') || may.includes('disable')
  const isShown = (column: Column) =>
    column === 'Last used' ? may.includes('usage') : column !== 'Actions' || hasActions
  return COLUMNS.filter(isShown)
}

export function tokenRow(token: Token, session: Session, actions: TokenActions): HTMLElement {
  const { details } = token
  const status = details?.effectiveStatus ?? token.status
  const cells: Readonly<Record<Column, Child>> = {
    Name: token.name,
    Credential: credentialOf(token),
    Status: element('span', { class: `status ${status}` }, STATUSES[status]),
    Created: day(token.createdAt),
    'Last used': day(details?.lastUsedAt ?? null),
    Expires: day(details?.expiresAt ?? null),
    Actions: element('div', { class: 'actions' }, ...buttonsFor(token, status, session, actions)),
  }
  // The roles are named since a browser forgets those of a table that the styles lay out as cards.
  const cellOf = (column: Column) =>
    column === 'Name'
      ? element('th', { role: 'rowheader', scope: 'row' }, cells.Name)
      : element('td', { role: 'cell', 'data-label': column !== 'Actions' && column }, cells[column])
  return element('tr', { role: 'row' }, ...columnsFor(session).map(cellOf))
}

function credentialOf({ token, details }: Token): HTMLElement {
  const until = details?.formerCredentialUntil ?? null
  const isFormerAccepted = until !== null && Date.parse(until) > Date.now()
  return element(
    'div',
    {},
    token === '' ? 'Cannot be read' : element('code', {}, token),
    isFormerAccepted ? element('p', { class: 'small' }, `The former one works until ${moment(until)}`) : undefined,
  )
}

function buttonsFor(token: Token, status: Status, session: Session, actions: TokenActions): HTMLElement[] {
  const { _id: id, name } = token
  const may = (right: Session['may'][number]) => session.may.includes(right)
  // Of no use for a token that nothing here brings back.
  const isUsable = status === 'active' || status === 'suspended'
  const action = (verb: string, act: TokenActions['rotate']) => {
    const openerId = `${verb}-${id}`
    return button(verb, { id: openerId, 'aria-label': `${verb} ${name}`, click: () => act(token, openerId) })
  }
  return [
    ...(may('usage') ? [usageButton(token, session)] : []),
    ...(may('rotate') && isUsable ? [action('Rotate', actions.rotate)] : []),
    ...(may('disable') && isUsable ? [action('Disable', actions.disable)] : []),
  ]
}

/** Opens a row below that of the token; what was used is asked for each time. */
function usageButton({ _id: id, name }: Token, session: Session): HTMLButtonElement {
  let opened: HTMLElement | undefined
  const toggle = button('Usage', {
    id: `Usage-${id}`,
    'aria-label': `Usage of ${name}`,
    'aria-expanded': 'false',
    click() {
      opened?.remove()
      opened = opened === undefined ? usageRow(id, session) : undefined
      if (opened !== undefined) toggle.closest('tr')?.after(opened)
      toggle.ariaExpanded = String(opened !== undefined)
    },
  })
  return toggle
}

function usageRow(tokenId: string, session: Session): HTMLElement {
  const cell = element('td', { role: 'cell', colspan: columnsFor(session).length }, usageOf(tokenId, session))
  return element('tr', { role: 'row', class: 'opened' }, cell)
}
