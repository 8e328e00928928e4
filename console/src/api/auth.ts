// What the service says of the person at this browser, under addresses that are not part of the API that the client knows.
import { dataOf } from '../../../client/answer.ts'
import { send } from '../../../client/send.ts'

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

export const readPresence = () => ask('GET', '/auth/session') as Promise<Presence>

export const hasAccess = ({ person, accounts }: Presence) => person !== null && accounts.length > 0

export function chooseAccount(account: string): Promise<Presence> {
  return ask('POST', '/auth/account', { account }) as Promise<Presence>
}

/** Ends the session here. Returns where it ends at the provider too; undefined if it has no such place. */
export async function endSession(): Promise<string | undefined> {
  const { endSessionUrl } = (await ask('POST', '/auth/logout')) as { endSessionUrl: string | null }
  return endSessionUrl ?? undefined
}
