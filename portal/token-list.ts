// The tokens of the sub-account, page by page.
import type { Token, TokenPage } from '../client/latchkey-client.ts'
import { button } from './button.ts'
import { openDisableToken } from './disable-token.ts'
import { element } from './elements.ts'
import { failureAlert } from './failure.ts'
import { plural } from './format.ts'
import type { Portal } from './portal.ts'
import { openRotateToken } from './rotate-token.ts'
import { columnsFor, tokenRow } from './token-row.ts'

const PER_PAGE = 20
const TYPING_MS = 300

interface Query {
  readonly search: string
  readonly page: number
}

export class TokenList {
  readonly element: HTMLElement
  readonly #portal: Portal
  readonly #search: HTMLInputElement
  /** For screen readers; the eye sees the list itself. */
  readonly #announcement = element('p', { role: 'status', class: 'unseen' })
  readonly #result = element('div', {}, element('p', {}, 'Loading the tokens…'))
  #query: Query = { search: '', page: 1 }
  #loading = new AbortController()

  constructor(portal: Portal) {
    this.#portal = portal
    this.#search = element('input', {
      type: 'search',
      placeholder: 'Search by name',
      'aria-label': 'Search by name',
      maxlength: 255,
    })
    this.#searchWhileTyping()
    this.element = element('div', { class: 'list' }, this.#search, this.#announcement, this.#result)
    void this.#load(this.#query)
  }

  /** The newest tokens, whatever was searched for. */
  showNewest(): void {
    this.#search.value = ''
    void this.#load({ search: '', page: 1 })
  }

  readonly #reload = (): void => void this.#load(this.#query)

  #searchWhileTyping(): void {
    let timer: ReturnType<typeof setTimeout> | undefined
    this.#search.addEventListener('input', () => {
      clearTimeout(timer)
      timer = setTimeout(() => void this.#find(this.#search.value.trim()), TYPING_MS)
    })
  }

  async #find(search: string): Promise<void> {
    const found = await this.#load({ search, page: 1 })
    if (found !== undefined) this.#announcement.textContent = `${plural(found.total, 'token')} found.`
  }

  async #turnTo(page: number): Promise<void> {
    const shown = await this.#load({ ...this.#query, page })
    if (shown === undefined) return
    this.#announcement.textContent = `Page ${shown.page} of ${shown.totalPages}.`
    this.#portal.focus()
  }

  /** Undefined where it failed, or another query has taken its place. */
  async #load(query: Query): Promise<TokenPage | undefined> {
    this.#loading.abort()
    this.#loading = new AbortController()
    this.#query = query
    this.#result.ariaBusy = 'true'
    const signal = AbortSignal.any([this.#portal.session.signal, this.#loading.signal])
    try {
      const page = await this.#ask(query, signal)
      if (signal.aborted) return undefined
      // Tokens that were deleted meanwhile leave the last page empty.
      if (page.items.length === 0 && page.total > 0) return await this.#load({ ...query, page: page.totalPages })
      this.#show(...this.#contentOf(page))
      return page
    } catch (error) {
      if (!signal.aborted) this.#show(failureAlert(error, this.#reload))
      return undefined
    }
  }

  #ask({ search, page }: Query, signal: AbortSignal): Promise<TokenPage> {
    const { client, subAccount } = this.#portal.session
    const filter = search === '' ? {} : { search }
    const shown = { page, limit: PER_PAGE, include: 'details', credentials: 'masked' } as const
    return client.listTokensOfSubAccount({ subAccountId: subAccount._id, ...filter, ...shown }, { signal })
  }

  /** What had the focus has it again, or what has taken its place. */
  #show(...content: readonly HTMLElement[]): void {
    const focused = this.#portal.root.activeElement
    const hadFocus = this.#result.contains(focused)
    this.#result.ariaBusy = null
    this.#result.replaceChildren(...content)
    if (hadFocus) this.#portal.focus(focused?.id)
  }

  #contentOf(page: TokenPage): HTMLElement[] {
    if (page.total === 0) return [this.#emptiness()]
    return page.totalPages > 1 ? [this.#table(page), this.#pager(page)] : [this.#table(page)]
  }

  #emptiness(): HTMLElement {
    const { search } = this.#query
    if (search !== '') {
      const showAll = button('Show all tokens', { click: () => this.showNewest() })
      return element('div', { class: 'empty' }, element('p', {}, `No token has “${search}” in its name.`), showAll)
    }
    const mayCreate = this.#portal.session.may.includes('create')
    const next = mayCreate ? 'Create the first one.' : 'Your provider has made none for you so far.'
    return element('div', { class: 'empty' }, element('p', {}, `There are no tokens yet. ${next}`))
  }

  #table({ items, total }: TokenPage): HTMLElement {
    const portal = this.#portal
    const actions = {
      rotate: (token: Token, openerId: string) => openRotateToken(portal, token, openerId, this.#reload),
      disable: (token: Token, openerId: string) => openDisableToken(portal, token, openerId, this.#reload),
    }
    const headers = columnsFor(portal.session).map((column) =>
      element('th', { role: 'columnheader', scope: 'col' }, column),
    )
    return element(
      'table',
      { role: 'table', class: 'tokens' },
      element('caption', {}, plural(total, 'token')),
      element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, ...headers)),
      element('tbody', { role: 'rowgroup' }, ...items.map((token) => tokenRow(token, portal.session, actions))),
    )
  }

  #pager({ page, totalPages, hasNextPage, hasPrevPage }: TokenPage): HTMLElement {
    return element(
      'nav',
      { class: 'buttons', 'aria-label': 'Pages of tokens' },
      button('Previous', { disabled: !hasPrevPage, click: () => void this.#turnTo(page - 1) }),
      `Page ${page} of ${totalPages}`,
      button('Next', { disabled: !hasNextPage, click: () => void this.#turnTo(page + 1) }),
    )
  }
}
