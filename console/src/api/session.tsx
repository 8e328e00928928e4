// Who is signed in: by an account key, or as a person whom the company's identity provider vouches for, by a cookie that no
// script can read.
import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { LatchkeyClient } from '../../../client/latchkey-client.ts'
import { keepKey, keptKey } from './account-key.ts'
import { chooseAccount, endSession, hasAccess, type Presence, SHOWN_ACCOUNT } from './auth.ts'
import { CacheProvider } from './cache.tsx'
import { type Connection, connect } from './connect.ts'
import { explainRefusal } from './errors.ts'
import type { Arrival } from './first-questions.ts'
import { type End, type Unanswered, usePresence } from './presence.ts'
import { useLinkedKey } from './use-linked-key.ts'

export interface Session {
  /** What the page shows: `unknown` until the service has said whether somebody is signed in. */
  readonly state: 'unknown' | 'signed-out' | 'choosing' | 'signed-in'
  readonly connection: Connection | undefined
  /** Who is at this browser, as far as the identity provider knows. Undefined until the service has said it. */
  readonly presence: Presence | undefined
  /** Why that is not known; an account key can still be tried. */
  readonly unanswered: Unanswered | undefined
  /** Why the last key was refused, and why the last session of a person ended, unless the person ended it. */
  readonly reason: string | undefined
  readonly end: End | undefined
  /** A link has brought this account key. Nobody is signed in with it before the person has said so. */
  readonly linkedKey: string | undefined
  declineLink(): void
  signIn(key: string): void
  signOut(): void
  /** Of the accounts that the person may work in. */
  choose(accountId: string): Promise<void>
  /** Undefined where there is no choice. */
  readonly chooseAgain: (() => void) | undefined
}

const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = use(SessionContext)
  if (session === undefined) throw new Error('no session around this component')
  return session
}

/** Only below a signed-in session. */
export function useConnection(): Connection {
  const { connection } = useSession()
  if (connection === undefined) throw new Error('not signed in')
  return connection
}

export const useClient = (): LatchkeyClient => useConnection().client

/** What is known when the page is opened. */
export interface Opening {
  /** The key of the address. */
  readonly linkedKey: string | undefined
  /** Who is signed in, where that was asked already. */
  readonly presence: Promise<Presence> | undefined
  /** What the start of the page has asked for already, with the key or session that it found. */
  readonly arrival: Arrival | undefined
}

export function SessionProvider({ opening, children }: { opening: Opening; children: ReactNode }) {
  const [key, setKey] = useState(keptKey)
  const [linkedKey, setLinkedKey] = useLinkedKey(opening.linkedKey, key)
  const [reason, setReason] = useState<string>()
  const [end, setEnd] = useState<End>()
  const [isChoosing, setChoosing] = useState(false)
  const onEnd = useCallback((why: End) => {
    if (keptKey() === undefined) setEnd(why)
  }, [])
  const { presence, unanswered, learn, askAgain, leave } = usePresence(onEnd, opening.presence)

  const change = useCallback(
    (next: string | undefined, why?: string) => {
      setLinkedKey(undefined)
      setReason(why)
      setEnd(undefined)
      keepKey(next)
      setKey(next)
      if (next === undefined) leave()
    },
    [leave, setLinkedKey],
  )

  const account = key === undefined ? presence?.account?._id : undefined
  const identity = key ?? account
  const connection = useConnectionOf(key, account, change, askAgain)

  const signOut = async () => {
    change(undefined)
    if (key !== undefined) return
    try {
      const next = await endSession()
      if (next !== undefined) location.assign(next)
    } catch {
      setEnd('unconfirmed')
    }
  }

  // Made for each render: whatever renders this has changed something of it.
  const session: Session = {
    state: stateOf(key, presence, isChoosing),
    connection,
    presence,
    unanswered,
    reason,
    end,
    linkedKey,
    declineLink: () => setLinkedKey(undefined),
    signIn: (accepted) => change(accepted),
    signOut: () => void signOut(),
    async choose(accountId) {
      const chosen = await chooseAccount(accountId)
      // Not a page of the account before, whose things this one does not have.
      if (isChoosing && accountId !== account) return location.assign('/console/')
      learn(chosen)
      setChoosing(false)
    },
    // An account key is of one account.
    chooseAgain:
      account !== undefined && presence && presence.accounts.length > 1 ? () => setChoosing(true) : undefined,
  }
  return (
    <SessionContext value={session}>
      <CacheProvider identity={identity} arrival={opening.arrival}>
        {children}
      </CacheProvider>
    </SessionContext>
  )
}

/** A late answer to somebody who no longer asks ends nothing. */
function useConnectionOf(
  key: string | undefined,
  account: string | undefined,
  signOutOf: (key: undefined, why: string) => void,
  askAgain: () => void,
): Connection | undefined {
  const identity = key ?? account
  const current = useRef(identity)
  useEffect(() => {
    current.current = identity
  }, [identity])
  return useMemo(() => {
    if (key !== undefined) {
      return connect({ accountKey: key }, (...why) => {
        if (current.current === key) signOutOf(undefined, explainRefusal(...why))
      })
    }
    if (account === undefined) return undefined
    return connect({ headers: { [SHOWN_ACCOUNT]: account } }, () => {
      if (current.current === account) askAgain()
    })
  }, [key, account, signOutOf, askAgain])
}

function stateOf(key: string | undefined, presence: Presence | undefined, isChoosing: boolean): Session['state'] {
  if (key !== undefined) return 'signed-in'
  if (presence === undefined) return 'unknown'
  if (!hasAccess(presence)) return 'signed-out'
  return presence.account === null || isChoosing ? 'choosing' : 'signed-in'
}
