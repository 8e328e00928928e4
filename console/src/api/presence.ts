// The person at this browser who has signed in through the company's identity provider. Their session is a cookie that no
// script can read, so the service is asked.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { hasAccess, NOBODY, type Presence, readPresence } from './auth.ts'
import { retryAfterMs } from './errors.ts'

/** Why somebody who was signed in no longer is; the sign-in page has the words. */
export type End = 'expired' | 'ended' | 'gone' | 'no-access' | 'unconfirmed'

function whyEnded({ person, ended }: Presence): End {
  return person === null ? (ended ?? 'gone') : 'no-access'
}

/** Why it is not known who is signed in. It is asked again by itself where that may help. */
export interface Unanswered {
  readonly error: unknown
  readonly isAsking: boolean
  askAgain(): void
}

/** `presence` is undefined until the service has said it. A failure says nothing of it, and ends no session. */
export function usePresence(onEnd: (why: End) => void, first: Promise<Presence> | undefined) {
  const asked = useRef(first)
  const [presence, setPresence] = useState<Presence>()
  const [error, setError] = useState<unknown>()
  const [isAsking, setAsking] = useState(false)
  const wasHere = useRef(false)
  const hasLeft = useRef(false)
  const learn = useCallback(
    (found: Presence) => {
      setError(undefined)
      if (hasLeft.current) return setPresence({ ...NOBODY, provider: found.provider })
      setPresence(found)
      const isHere = hasAccess(found)
      const wasKnown = wasHere.current || found.person !== null || found.ended !== null
      if (wasKnown && !isHere) onEnd(whyEnded(found))
      wasHere.current = isHere
    },
    [onEnd],
  )
  const askAgain = useCallback(async () => {
    setAsking(true)
    const answer = asked.current ?? readPresence()
    asked.current = undefined
    try {
      learn(await answer)
    } catch (failure) {
      setError(failure)
      if (!hasLeft.current) setPresence(undefined)
    }
    setAsking(false)
  }, [learn])
  useEffect(() => void askAgain(), [askAgain])
  useEffect(() => {
    const wait = error !== undefined && retryAfterMs(error)
    if (wait === false) return
    const timer = setTimeout(askAgain, wait)
    return () => clearTimeout(timer)
  }, [error, askAgain])
  /** From now on nobody is here: a person who is signed in beside a key must not take its place. */
  const leave = useCallback(() => {
    hasLeft.current = true
    setPresence((known) => ({ ...NOBODY, provider: known?.provider ?? false }))
  }, [])
  const unanswered = useMemo<Unanswered | undefined>(
    () => (error === undefined ? undefined : { error, isAsking, askAgain }),
    [error, isAsking, askAgain],
  )
  return { presence, unanswered, learn, askAgain, leave }
}
