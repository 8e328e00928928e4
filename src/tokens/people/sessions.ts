// People who are signed in to the console: their sessions begin, are found, listed and end here. What a person may do is not
// part of a session: it is decided at each request, from the claims.
import { randomBytes } from 'node:crypto'
import type { Origin } from '../history/history.ts'
import { Failure } from '../model/errors.ts'
import { type Page, type PageRequest, toPage } from '../model/page.ts'
import { BY_OIDC, type Caller, type Permissions } from '../model/permissions.ts'
import { SESSIONS } from '../model/tables.ts'
import { newId } from '../model/token.ts'
import { endOfSession, requireNotEnded } from '../trust/authority.ts'
import type { Parts } from '../trust/parts.ts'
import { isGenuine } from '../trust/stamp.ts'
import type { SessionStore } from './ports.ts'
import { endOf, isDue, type StoredSession, storedUserAgent } from './session.ts'

const COOKIE_BYTES = 32

/** Somebody whom the identity provider vouches for. */
export interface Person {
  readonly subject: string
  readonly email: string | null
  readonly claims: Readonly<Record<string, unknown>>
}

/** How the history names a person. */
export const personId = (subject: string) => `${BY_OIDC}${subject}`

/** The request by which a person signs in, chooses an account or signs out. */
type Source = Pick<Origin, 'requestId' | 'address'>
/** `userAgent` is what the browser says of itself. */
type SignInSource = Source & { readonly userAgent?: string | undefined }
const NOWHERE: SignInSource = { requestId: null, address: null }

/** What the grants, which are not known here, let this person do in the account now; undefined for nothing. */
export type RightsIn = (session: StoredSession, accountId: string) => Permissions | undefined

const AFTER_ALL_IDS = '~'
/** Some 1 kB each, with the claims. */
const READ_AT_ONCE = 500

export class Sessions {
  readonly #parts: Parts<SessionStore>

  constructor(parts: Parts<SessionStore>) {
    this.#parts = parts
  }

  /** False for a sign-in of which any of these texts was spent before. */
  spend(texts: readonly string[]): Promise<boolean> {
    const { store, stamps, now } = this.#parts
    return store.spend(
      texts.map((text) => stamps.digest(`spent sign-in ${text}`)),
      now(),
    )
  }

  /** Returns the cookie, which exists only in this result: its digest is stored. Every sign-in makes a new one. */
  async start(person: Person, accountId: string | null, from: SignInSource = NOWHERE): Promise<string> {
    const { store, stamps } = this.#parts
    const { subject, email, claims } = person
    const { userAgent, ...source } = from
    const origin = this.#originOf(person, source)
    const { at, address } = origin
    const cookie = randomBytes(COOKIE_BYTES).toString('base64url')
    const session = {
      id: newId('ses', at),
      digest: stamps.digest(cookie),
      accountId,
      subject,
      email,
      claims: JSON.stringify(claims),
      createdAt: at,
      seenAt: at,
      address,
      userAgent: storedUserAgent(userAgent),
    }
    await store.insertSession(session, origin)
    return cookie
  }

  /** Rejects with `token-invalid` or `token-expired`. A look that is no use does not keep the session from ending. */
  async find(presented: string, isUse = true): Promise<StoredSession> {
    const { store, stamps, now, onTampered } = this.#parts
    const session = await store.findSession(presented)
    if (session === undefined) throw new Failure('token-invalid')
    if (!isGenuine(SESSIONS, session, stamps)) {
      onTampered({ kind: 'session', id: session.id })
      throw new Failure('token-invalid')
    }
    const at = now()
    requireNotEnded(endOfSession(session), at)
    // A store that cannot be written to can still be read: the session then ends a little earlier.
    if (isUse && isDue(session, at)) await store.renewSession(session.id, at).catch(() => {})
    return session
  }

  choose(session: StoredSession, accountId: string, from: Source): Promise<void> {
    return this.#parts.store.chooseAccount(session.id, accountId, this.#originOf(session, from))
  }

  /** One that has ended by itself was not signed out of. */
  async end(presented: string, from: Source): Promise<void> {
    const { store } = this.#parts
    const session = await store.findSession(presented)
    if (session === undefined) return
    const origin = this.#originOf(session, from)
    await store.deleteSession(session.id, endOf(session) > origin.at ? origin : undefined)
  }

  #originOf({ subject, email }: Pick<Person, 'subject' | 'email'>, from: Source): Origin {
    return { by: personId(subject), byName: email, at: this.#parts.now(), ...from }
  }

  async list(caller: Caller, query: PageRequest, rightsIn: RightsIn): Promise<Page<StoredSession>> {
    const all = await this.#entering(caller, rightsIn)
    const skip = (query.page - 1) * query.limit
    return toPage({ items: all.slice(skip, skip + query.limit), total: all.length }, query)
  }

  /** Whatever account the person works in: who signs in again gets in as far as the grants say. */
  async revoke(caller: Caller, id: string, origin: Origin, rightsIn: RightsIn): Promise<StoredSession> {
    const all = await this.#entering(caller, rightsIn)
    if (!all.some((session) => session.id === id)) throw new Failure('session-not-found')
    return this.#parts.store.revokeSession(caller.accountId, id, origin)
  }

  /** For callers who see the whole account: nobody knows here which sub-accounts a person sees. */
  async #entering({ accountId, permissions }: Caller, rightsIn: RightsIn): Promise<readonly StoredSession[]> {
    if (permissions.subAccounts !== null) return []
    const { store, stamps, now } = this.#parts
    const at = now()
    const found: StoredSession[] = []
    let before = AFTER_ALL_IDS
    for (;;) {
      const part = await store.listSessions(before, READ_AT_ONCE)
      const open = part.filter((session) => endOf(session) > at && isGenuine(SESSIONS, session, stamps))
      found.push(...open.filter((session) => rightsIn(session, accountId) !== undefined))
      const last = part.at(-1)
      if (last === undefined || part.length < READ_AT_ONCE) return found
      before = last.id
    }
  }

  /** A secret that only this service can make from a text, a different one for each purpose. */
  secretFor(purpose: string, text: string): string {
    return this.#parts.stamps.digest(`sign-in ${purpose} ${text}`).toString('base64url')
  }
}
