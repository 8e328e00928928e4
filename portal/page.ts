// The service's own page: passes the code of its address on to the component, which is a script of its own. A code works once, so a
// person spends it by a click, and not whatever loads the page for them, such as a scanner of their mails.

const toOpen = document.querySelector('#to-open')
const howToOpen = document.querySelector('#how-to-open')

function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get('code')
  // At once: an address is shown, kept in the history, and easily passed on.
  if (code !== null) history.replaceState(null, '', location.pathname + location.search)
  return code
}

function offer(code: string): void {
  const button = toOpen?.querySelector('button')
  if (button) button.onclick = () => begin(code)
  show(toOpen, true)
  show(howToOpen, false)
}

function begin(code: string): void {
  const tokens = document.createElement('latchkey-tokens')
  tokens.setAttribute('server', location.origin)
  tokens.setAttribute('code', code)
  tokens.addEventListener('latchkey:expired', () => show(howToOpen, true))
  document.querySelector('latchkey-tokens')?.remove()
  document.querySelector('h1')?.after(tokens)
  show(toOpen, false)
  show(howToOpen, false)
}

function show(section: Element | null, isShown: boolean): void {
  section?.toggleAttribute('hidden', !isShown)
}

const code = takeCode()
if (code === null) show(howToOpen, true)
else offer(code)

// A link that is opened in the same tab changes only the fragment, and loads nothing.
addEventListener('hashchange', () => {
  const next = takeCode()
  if (next !== null) offer(next)
})
