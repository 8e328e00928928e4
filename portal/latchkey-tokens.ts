// <latchkey-tokens server="…" code="…">: lets the customers of a provider manage the tokens of their sub-account on the provider's pages.
import { element } from './elements.ts'
import { failureAlert } from './failure.ts'
import { portalEvent } from './portal.ts'
import { portalView } from './portal-view.ts'
import { beginSession } from './session.ts'
import { styles } from './styles/styles.ts'

const NAME = 'latchkey-tokens'
/** Where this script was loaded from. */
const ORIGIN = new URL(import.meta.url).origin

class LatchkeyTokens extends HTMLElement {
  static readonly observedAttributes = ['code']
  readonly #root = this.attachShadow({ mode: 'open' })
  readonly #view = element('div', { class: 'portal' })
  /** A code works once. */
  #presented: string | undefined
  /** Of the session that was begun with it; undefined once the element was removed from the page. */
  #life: AbortController | undefined

  constructor() {
    super()
    this.#root.adoptedStyleSheets = styles
  }

  connectedCallback(): void {
    this.#settleSoon()
  }

  disconnectedCallback(): void {
    this.#settleSoon()
  }

  attributeChangedCallback(): void {
    this.#settleSoon()
  }

  /** When the page has set all attributes, and an element that it only moves is in its new place. */
  #settleSoon(): void {
    queueMicrotask(() => this.#settle())
  }

  #settle(): void {
    const code = this.getAttribute('code') || undefined
    if (!this.isConnected) this.#stop()
    else if (code === undefined) {
      this.#stop()
      this.#show(element('p', { class: 'empty' }, 'Waiting for this page to begin a session…'))
    } else if (code !== this.#presented) {
      this.#stop()
      void this.#begin(code)
    } else if (this.#life === undefined) this.#expire(new AbortController())
  }

  async #begin(code: string): Promise<void> {
    this.#presented = code
    const life = new AbortController()
    this.#life = life
    const { signal } = life
    this.#show(element('p', { class: 'empty', role: 'status', tabindex: -1 }, 'Loading…'))
    const server = this.getAttribute('server') || ORIGIN
    try {
      const session = await beginSession(server, code, { signal, expire: () => this.#expire(life) })
      this.#show(...portalView(session, this.#root))
    } catch (error) {
      if (!signal.aborted) this.#show(failureAlert(error, () => void this.#begin(code)))
    }
  }

  /** Forgets the session, and all that it has shown. */
  #stop(): void {
    this.#life?.abort()
    this.#life = undefined
    this.#root.replaceChildren()
  }

  #expire(life: AbortController): void {
    if (life.signal.aborted) return
    this.#life = life
    life.abort()
    const message = [
      element('p', {}, element('strong', {}, 'This session has ended.')),
      element('p', {}, 'Open the portal again from your provider’s site to go on.'),
    ]
    this.#show(element('div', { class: 'empty', role: 'alert', tabindex: -1 }, ...message))
    this.dispatchEvent(portalEvent('expired'))
  }

  /** In place of what was shown until now, the focus included. */
  #show(...content: readonly HTMLElement[]): void {
    const hadFocus = this.#root.activeElement !== null
    this.#view.replaceChildren(...content)
    if (!this.#view.isConnected) this.#root.append(this.#view)
    if (hadFocus) this.#view.querySelector<HTMLElement>('[tabindex="-1"]')?.focus()
  }
}

// A page may load the script twice.
if (customElements.get(NAME) === undefined) customElements.define(NAME, LatchkeyTokens)
