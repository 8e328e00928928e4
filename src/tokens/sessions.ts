// People who are signed in to the console: their sessions begin, are found, listed and end here. What a person may do is not
// part of a session: it is decided at each request, from the claims.
import { randomBytes } from 'node:crypto'
import { Failure } from './errors.ts'
import { type Page, type PageRequest, toPage } from './model/page.ts'
import type { Caller } from './model/permissions.ts'
import { endOf, isDue, type StoredSession } from './model/session.ts'
import { SESSIONS } from './model/tables.ts'
import { newId } from './model/token.ts'
import type { Parts } from './ports.ts'
import type { Origin } from './record/history.ts'
import { endOfSession, requireNotEnded } from './trust/authority.ts'
import { isGenuine } from './trust/stamp.ts'

const COOKIE_BYTES = 32

/** Somebody whom the identity provider vouches for. */
export interface Person {
  readonly subject: string
  readonly email: string | null
  readonly claims: Readonly<Record<string, unknown>>
}

export class Sessions {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** False for a sign-in of which any of these texts was spent before. */
  spend(texts: readonly string[]): Promise<boolean> {
    const { store, stamps, now } = this.#parts
    return store.spendSignIn(
      texts.map((text) => stamps.digest(`spent sign-in ${text}`)),
      now(),
    )
  }

  /** Returns the cookie, which exists only in this result: its digest is stored. Every sign-in makes a new one. */
  async start({ subject, email, claims }: Person, accountId: string | null): Promise<string> {
    const { store, stamps, now } = this.#parts
    const at = now()
    const cookie = randomBytes(COOKIE_BYTES).toString('base64url')
    await store.insertSession({
      id: newId('ses', at),
      digest: stamps.digest(cookie),
      accountId,
      subject,
      email,
      claims: JSON.stringify(claims),
      createdAt: at,
      seenAt: at,
    })
    return cookie
  }

  /** Rejects with `token-invalid` or `token-expired`. */
  async find(presented: string): Promise<StoredSession> {
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
    if (isDue(session, at)) await store.changeSession(session.id, { kind: 'seen', at }).catch(() => {})
    return session
  }

  choose({ id }: StoredSession, accountId: string): Promise<void> {
    return this.#parts.store.changeSession(id, { kind: 'account', accountId })
  }

  async end(presented: string): Promise<void> {
    const { store } = this.#parts
    const session = await store.findSession(presented)
    if (session !== undefined) await store.deleteSession(session.id)
  }

  async list(caller: Caller, query: PageRequest): Promise<Page<StoredSession>> {
    const all = await this.#listed(caller)
    const skip = (query.page - 1) * query.limit
    return toPage({ items: all.slice(skip, skip + query.limit), total: all.length }, query)
  }

  async revoke(caller: Caller, id: string, origin: Origin): Promise<StoredSession> {
    if (caller.permissions.subAccounts !== null) throw new Failure('session-not-found')
    return this.#parts.store.revokeSession(caller.accountId, id, origin)
  }

  /** For callers who see the whole account: nobody knows here which sub-accounts a person sees. */
  async #listed({ accountId, permissions }: Caller): Promise<readonly StoredSession[]> {
    if (permissions.subAccounts !== null) return []
    const { store, now } = this.#parts
    const at = now()
    return (await store.listSessions(accountId)).filter((session) => endOf(session) > at)
  }

  /** A secret that only this service can make from a text, a different one for each purpose. */
  secretFor(purpose: string, text: string): string {
    return this.#parts.stamps.digest(`sign-in ${purpose} ${text}`).toString('base64url')
  }
}
