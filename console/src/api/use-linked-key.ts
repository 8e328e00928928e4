// A key that a link has brought.
import { useEffect, useState } from 'react'
import { takeKeyFromAddress } from './account-key.ts'

/**
 * The key of a link, until the person has decided about it: a link must not put anybody into an account unnoticed. `first` is
 * the one with which the page was opened; the key in use needs no decision.
 */
export function useLinkedKey(first: string | undefined, inUse: string | undefined) {
  const [linked, setLinked] = useState(first)
  useEffect(() => {
    const onLink = () => {
      const key = takeKeyFromAddress()
      if (key !== undefined) setLinked(key)
    }
    window.addEventListener('hashchange', onLink)
    return () => window.removeEventListener('hashchange', onLink)
  }, [])
  return [linked === inUse ? undefined : linked, setLinked] as const
}
