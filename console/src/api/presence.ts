// The person at this browser who has signed in through the company's identity provider. Their session is a cookie that no
// script can read, so the service is asked.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { dataOf } from '../../../client/answer.ts'
import { send } from '../../../client/send.ts'
import { retryAfterMs } from './errors.ts'

interface Account {
  readonly _id: string
  readonly name: string
}

export interface Presence {
  /** Whether the service has an identity provider. */
  readonly provider: boolean
  readonly person: { readonly subject: string; readonly email: string | null } | null
  /** The id of the person's session in this browser. */
  readonly session: string | null
  readonly account: Account | null
  /** Those to choose from. */
  readonly accounts: readonly Account[]
  /** Why a session that this browser still knew of is none any more. */
  readonly ended: 'expired' | 'ended' | null
}

export const NOBODY: Presence = {
  provider: false,
  person: null,
  session: null,
  account: null,
  accounts: [],
  ended: null,
}

/** Of the console's requests: the account that this tab shows, since another tab may choose another one. */
export const SHOWN_ACCOUNT = 'x-latchkey-account'

const TIMEOUT_MS = 10_000

/** These addresses are not part of the API that the client knows; they fail in the same way. */
async function ask(method: 'GET' | 'POST', url: string, data?: object): Promise<unknown> {
  const headers: Record<string, string> = data === undefined ? {} : { 'content-type': 'application/json' }
  const body = data === undefined ? undefined : JSON.stringify(data)
  const isReading = method === 'GET'
  const request = { operation: 'presence', method, url, headers, body, isReading, isRepeatable: isReading }
  return dataOf(await send(request, { timeoutMs: TIMEOUT_MS, retries: 0 }), 'body')
}

const readPresence = () => ask('GET', '/auth/session') as Promise<Presence>

export const hasAccess = ({ person, accounts }: Presence) => person !== null && accounts.length > 0

export function chooseAccount(account: string): Promise<Presence> {
  return ask('POST', '/auth/account', { account }) as Promise<Presence>
}

/** Ends the session here. Returns where it ends at the provider too; undefined if it has no such address. */
export async function endSession(): Promise<string | undefined> {
  const { endSessionUrl } = (await ask('POST', '/auth/logout')) as { endSessionUrl: string | null }
  return endSessionUrl ?? undefined
}

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
export function usePresence(onEnd: (why: End) => void) {
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
    try {
      learn(await readPresence())
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
