// The one credential that is on screen. The page has it from the moment it is asked for until it is hidden: after a
// minute, with the row or page that shows it, when another is shown, and when the tab is hidden.
import { useEffect, useSyncExternalStore } from 'react'
import { onHiddenTab, SHOWN_MS } from '../ui/shown-secret.tsx'

let shown: { readonly tokenId: string; readonly credential: string } | undefined
let timer: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

function set(next: typeof shown): void {
  clearTimeout(timer)
  shown = next
  if (next !== undefined) timer = setTimeout(hideCredential, SHOWN_MS)
  for (const listener of listeners) listener()
}

export function showCredential(tokenId: string, credential: string): void {
  if (!document.hidden) set({ tokenId, credential })
}

export const hideCredential = (): void => set(undefined)

onHiddenTab(hideCredential)

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** `masked` is its masked form: when that changes, the token has another credential, and the former one is hidden. */
export function useShownCredential(tokenId: string, masked: string): string | undefined {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the masked form decides, though it is not used
  useEffect(
    () => () => {
      if (shown?.tokenId === tokenId) hideCredential()
    },
    [tokenId, masked],
  )
  return useSyncExternalStore(subscribe, () => (shown?.tokenId === tokenId ? shown.credential : undefined))
}
