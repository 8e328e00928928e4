// The service's own page: passes the code of its address on to the component, which is a script of its own.

function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get('code')
  // At once: an address is shown, kept in the history, and easily passed on.
  if (code !== null) history.replaceState(null, '', location.pathname + location.search)
  return code
}

function begin(code: string): void {
  const tokens = document.createElement('latchkey-tokens')
  tokens.setAttribute('server', location.origin)
  tokens.setAttribute('code', code)
  tokens.addEventListener('latchkey:expired', () => explainOpening(true))
  document.querySelector('latchkey-tokens')?.remove()
  document.querySelector('h1')?.after(tokens)
  explainOpening(false)
}

function explainOpening(isNeeded: boolean): void {
  document.querySelector('#how-to-open')?.toggleAttribute('hidden', !isNeeded)
}

const code = takeCode()
if (code === null) explainOpening(true)
else begin(code)

// A link that is opened in the same tab changes only the fragment, and loads nothing.
addEventListener('hashchange', () => {
  const next = takeCode()
  if (next !== null) begin(next)
})
