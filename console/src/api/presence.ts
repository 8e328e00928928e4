// The person at this browser who has signed in through the company's identity provider. Their session is a cookie that no
// script can read, so the service is asked.

interface Account {
  readonly id: string
  readonly name: string
}

export interface Presence {
  /** Whether the service has an identity provider. */
  readonly provider: boolean
  readonly person: { readonly subject: string; readonly email: string | null } | null
  readonly account: Account | null
  /** Those to choose from. */
  readonly accounts: readonly Account[]
  /** Why a session that this browser still knew of is none any more. */
  readonly ended: 'expired' | 'ended' | null
}

export const NOBODY: Presence = { provider: false, person: null, account: null, accounts: [], ended: null }

/** Of the console's requests: the account that this tab shows, since another tab may choose another one. */
export const SHOWN_ACCOUNT = 'x-latchkey-account'

const TIMEOUT_MS = 10_000
const SAME_ORIGIN = { credentials: 'same-origin', cache: 'no-store', redirect: 'error' } as const

async function ask(path: string, init: RequestInit = {}): Promise<unknown> {
  const response = await fetch(path, { ...SAME_ORIGIN, ...init, signal: AbortSignal.timeout(TIMEOUT_MS) })
  if (!response.ok) throw new Error(`${path} was answered with ${response.status}`)
  return response.json()
}

/** Where the service cannot be asked, nobody is signed in; an account key can still be tried. */
export function readPresence(provider = false): Promise<Presence> {
  return ask('/auth/session').catch(() => ({ ...NOBODY, provider })) as Promise<Presence>
}

export const hasAccess = ({ person, accounts }: Presence) => person !== null && accounts.length > 0

export function chooseAccount(account: string): Promise<Presence> {
  const headers = { 'content-type': 'application/json' }
  return ask('/auth/account', { method: 'POST', headers, body: JSON.stringify({ account }) }) as Promise<Presence>
}

/** Ends the session here. Returns where it ends at the provider too; undefined if it has no such place. */
export async function endSession(): Promise<string | undefined> {
  const { endSessionUrl } = (await ask('/auth/logout', { method: 'POST' })) as { endSessionUrl: string | null }
  return endSessionUrl ?? undefined
}

/** Why somebody who was signed in no longer is; the sign-in page has the words. */
export type End = 'expired' | 'ended' | 'gone' | 'no-access' | 'unconfirmed'

export function whyEnded({ person, ended }: Presence): End {
  return person === null ? (ended ?? 'gone') : 'no-access'
}
