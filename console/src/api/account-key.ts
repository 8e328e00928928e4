// The account key of this tab, which lives in the tab's session storage and in memory and nowhere else.

const KEY = 'latchkey.account-key'
const FRAGMENT = '#key='

export const keptKey = (): string | undefined => sessionStorage.getItem(KEY) ?? undefined

export function keepKey(key: string | undefined): void {
  if (key === undefined) sessionStorage.removeItem(KEY)
  else sessionStorage.setItem(KEY, key)
}

/** What a header can carry; anything else would fail before it reached the service. */
export const looksLikeKey = (text: string): boolean => /^[\x21-\x7e]+$/.test(text)

/** A link may carry the key in its fragment, which no server sees. It is gone from the address bar at once. */
export function takeKeyFromAddress(): string | undefined {
  if (!location.hash.startsWith(FRAGMENT)) return undefined
  const key = location.hash.slice(FRAGMENT.length)
  history.replaceState(history.state, '', `${location.pathname}${location.search}`)
  return looksLikeKey(key) ? key : undefined
}
