// The address is the state of a view: what it shows can be reloaded, shared and gone back to.
import { type MouseEvent, useSyncExternalStore } from 'react'

const BASE = '/console/'

export const VIEWS = ['overview', 'tokens', 'sub-accounts', 'history'] as const
export type View = (typeof VIEWS)[number]

export type Params = Readonly<Record<string, string | number | undefined>>

export interface Address {
  readonly view: View | undefined
  readonly params: URLSearchParams
}

/** The place where every list begins. */
const USUAL = { page: 1, limit: 25 }

/** Parameters that are empty or usual are left out, so that one state has one address. */
export function hrefOf(view: View, params: Params = {}): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(params))
    if (value !== undefined && value !== '' && value !== (USUAL as Params)[name]) query.set(name, `${value}`)
  return `${BASE}${view === 'overview' ? '' : view}${query.size === 0 ? '' : `?${query}`}`
}

/** `replace` for what nobody would go back to, such as each letter of a search. */
export function go(href: string, how: 'push' | 'replace' = 'push'): void {
  if (href === `${location.pathname}${location.search}`) return
  if (how === 'push') history.pushState(null, '', href)
  else history.replaceState(null, '', href)
  for (const listener of listeners) listener()
}

/** What a link does on a plain click; with a modifier the browser opens it elsewhere, as ever. */
export function follow(event: MouseEvent<HTMLAnchorElement>): void {
  if (event.defaultPrevented || event.button !== 0) return
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  event.preventDefault()
  go(event.currentTarget.pathname + event.currentTarget.search)
}

const listeners = new Set<() => void>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  window.addEventListener('popstate', listener)
  return () => {
    listeners.delete(listener)
    window.removeEventListener('popstate', listener)
  }
}

export function useAddress(): Address {
  const href = useSyncExternalStore(subscribe, () => `${location.pathname}${location.search}`)
  const { pathname, searchParams } = new URL(href, location.origin)
  const name = pathname.slice(BASE.length).replace(/\/$/, '')
  return { view: name === '' ? 'overview' : VIEWS.find((view) => view === name), params: searchParams }
}

/** The place in a list. */
export function readPaging(params: URLSearchParams) {
  return {
    page: readNumber(params, 'page', USUAL.page, 2_147_483_647),
    limit: readNumber(params, 'limit', USUAL.limit, 100),
  }
}

/** A parameter as a whole number within bounds; anything else counts as not given. */
function readNumber(params: URLSearchParams, name: string, fallback: number, max: number): number {
  const text = params.get(name) ?? ''
  const value = /^[0-9]{1,10}$/.test(text) ? Number(text) : 0
  return value >= 1 && value <= max ? value : fallback
}
