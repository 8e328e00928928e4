// What a session shows: whose tokens these are, what may be done here, and the list.
import { button } from './button.ts'
import { openCreateToken } from './create-token.ts'
import { type Child, element } from './elements.ts'
import { type Portal, portalEvent } from './portal.ts'
import type { Session } from './session.ts'
import { TokenList } from './token-list.ts'

const CREATE = 'create'

export function portalView(session: Session, root: ShadowRoot): HTMLElement[] {
  const status = element('p', { role: 'status', class: 'said' })
  const portal: Portal = {
    session,
    root,
    say: (outcome) => status.replaceChildren(outcome),
    // Never with the credential, which is no business of the page around the portal.
    emit: (change, { _id, name }) => root.host.dispatchEvent(portalEvent(change, { tokenId: _id, name })),
    focus: (id = '') => (root.getElementById(id) ?? root.querySelector<HTMLElement>('[tabindex="-1"]'))?.focus(),
  }
  const list = session.may.includes('read') ? new TokenList(portal) : undefined
  const create = () => openCreateToken(portal, CREATE, () => list?.showNewest())
  const header = element(
    'header',
    {},
    element(
      'div',
      {},
      element('h2', { tabindex: -1 }, 'API tokens'),
      element('p', { class: 'small' }, nameOf(session)),
    ),
    session.may.includes('create')
      ? button('Create token', { id: CREATE, class: 'primary', click: create })
      : undefined,
  )
  return [header, status, list?.element ?? withoutList(session)]
}

function nameOf({ subAccount: { name, companyName } }: Session): Child {
  return companyName === '' || companyName === name ? name : `${name}, ${companyName}`
}

function withoutList({ may }: Session): HTMLElement {
  const text = may.includes('create')
    ? 'Here you can create tokens for requests to the API. The tokens that there are already are not shown.'
    : 'Nothing can be done here. Ask your provider for a link that allows more.'
  return element('p', { class: 'empty' }, text)
}
