// The portal: sessions for a sub-account's own developers, which callers make and hand over as a code.

import type { Origin } from '../history/history.ts'
import { Failure, failure } from '../model/errors.ts'
import { type Page, type PageRequest, toPage } from '../model/page.ts'
import { BY_PORTAL, type Caller, hasRight, PORTAL_USES, sees } from '../model/permissions.ts'
import { ACCOUNT_KEYS, PORTAL_SESSIONS, SESSIONS } from '../model/tables.ts'
import { newId, type SubAccount, type Timestamp } from '../model/token.ts'
import type { RightsIn } from '../people/sessions.ts'
import type { IdentityStore, SubAccountStore } from '../service/ports.ts'
import { endOfKey, endOfPortal, endOfSession, requireNotEnded } from '../trust/authority.ts'
import type { Parts } from '../trust/parts.ts'
import { isGenuine } from '../trust/stamp.ts'
import type { PortalStore } from './ports.ts'
import { endOfCode, endWithin, makerOf, type PortalRequest, type PortalSession, usesOf } from './session.ts'

/** Of codes and sessions. No credential of ours begins so. */
const PREFIX = 'lk_portal_'
type Kind = 'code' | 'session'

export const isOfPortal = (presented: string): boolean => presented.startsWith(PREFIX)

export type PortalPorts = PortalStore & Pick<IdentityStore, 'findAccount'> & Pick<SubAccountStore, 'findSubAccount'>

export class Portal {
  readonly #parts: Parts<PortalPorts>

  constructor(parts: Parts<PortalPorts>) {
    this.#parts = parts
  }

  /** The code stands for the session, until the session is begun with it. */
  async create(
    caller: Caller,
    asked: PortalRequest,
    origin: Origin,
  ): Promise<{ session: PortalSession; code: string }> {
    const { accountId, permissions, authority, by, byName = null } = caller
    const { may = PORTAL_USES, expiresInSeconds } = asked
    const expiresAt = endWithin(caller, expiresInSeconds, origin.at)
    const subAccount = sees(permissions, asked.subAccountId)
      ? await this.#findSubAccount(accountId, asked.subAccountId)
      : undefined
    if (subAccount === undefined) throw new Failure('sub-account-forbidden')
    const session: PortalSession = {
      id: newId('por', origin.at),
      accountId,
      subAccountId: subAccount.id,
      may: JSON.stringify(may),
      origin: asked.origin ?? null,
      maker: authority?.id ?? null,
      by,
      byName,
      createdAt: origin.at,
      expiresAt,
      endedAt: null,
    }
    await this.#parts.store.openPortal(subAccount, session, origin)
    return { session, code: this.#seal('code', session) }
  }

  /** Also one that has ended. Rejects with `token-invalid` for what was not made here as one. */
  async open(kind: Kind, presented: string): Promise<PortalSession> {
    const { store, stamps, onTampered } = this.#parts
    const id = isOfPortal(presented) ? stamps.open(presented.slice(PREFIX.length), placeOf(kind)) : undefined
    if (id === undefined) throw new Failure('token-invalid')
    const session = await store.findPortalSession(id)
    if (session === undefined) throw failure('token-invalid', 'it ended long ago')
    if (isGenuine(PORTAL_SESSIONS, session, stamps)) return session
    onTampered({ kind: 'portal', id })
    throw failure('token-invalid', 'it was altered')
  }

  /** With its code, which works once. The sub-account is as it is now. */
  async begin(session: PortalSession, rightsIn: RightsIn): Promise<{ bearer: string; subAccount: SubAccount }> {
    const { store, stamps, now } = this.#parts
    const at = now()
    requireNotEnded(endOfCode(session), at)
    await this.#requireLasting(session, rightsIn, at)
    const subAccount = await this.#findSubAccount(session.accountId, session.subAccountId)
    if (subAccount === undefined) throw failure('token-invalid', 'its sub-account does not exist')
    const isFirst = await store.spend([stamps.digest(`portal code of ${session.id}`)], at)
    if (!isFirst) throw failure('token-invalid', 'the code was used before')
    return { bearer: this.#seal('session', session), subAccount }
  }

  async admit(session: PortalSession, rightsIn: RightsIn): Promise<Caller> {
    const { store, now } = this.#parts
    const { id, accountId, subAccountId, expiresAt } = session
    await this.#requireLasting(session, rightsIn, now())
    if ((await store.findAccount(accountId)) === undefined) throw failure('token-invalid', 'its account does not exist')
    return {
      accountId,
      by: `${BY_PORTAL}${id}`,
      permissions: { role: 'viewer', reveal: false, subAccounts: [subAccountId], may: usesOf(session) },
      authority: { kind: 'portal', id },
      endsAt: expiresAt,
    }
  }

  /** Those that last, of the sub-accounts that the caller sees. */
  async list({ accountId, permissions }: Caller, query: PageRequest): Promise<Page<PortalSession>> {
    const { store, now } = this.#parts
    const asked = { ...query, at: now(), within: permissions.subAccounts }
    return toPage(await store.listPortalSessions(accountId, asked), query)
  }

  async end({ accountId, permissions }: Caller, id: string, origin: Origin): Promise<PortalSession> {
    const { store } = this.#parts
    const session = await store.findPortalSession(id)
    const isSeen = session?.accountId === accountId && sees(permissions, session.subAccountId)
    const subAccount = isSeen ? await this.#findSubAccount(accountId, session.subAccountId) : undefined
    if (subAccount === undefined) throw new Failure('session-not-found')
    return store.closePortal(subAccount, id, origin)
  }

  /** A session lasts until somebody ends it, and never longer than who has made it could make it. */
  async #requireLasting(session: PortalSession, rightsIn: RightsIn, at: Timestamp): Promise<void> {
    requireNotEnded(endOfPortal(session), at)
    const maker = makerOf(session)
    if (maker?.kind === 'key') await this.#requireKey(maker.id, at)
    if (maker?.kind === 'session') await this.#requirePerson(maker.id, session, rightsIn, at)
  }

  async #requireKey(id: string, at: Timestamp): Promise<void> {
    const { store, stamps, onTampered } = this.#parts
    const key = await store.findKeyById(id)
    requireNotEnded(endOfKey(key), at)
    if (key !== undefined && isGenuine(ACCOUNT_KEYS, key, stamps)) return
    onTampered({ kind: 'key', id })
    throw failure('token-invalid', 'the key that has made it was altered')
  }

  async #requirePerson(
    id: string,
    { accountId, subAccountId }: PortalSession,
    rightsIn: RightsIn,
    at: Timestamp,
  ): Promise<void> {
    const { store, stamps, onTampered } = this.#parts
    const person = await store.findSessionById(id)
    requireNotEnded(endOfSession(person), at)
    if (person === undefined || !isGenuine(SESSIONS, person, stamps)) {
      onTampered({ kind: 'session', id })
      throw failure('token-invalid', 'the session of the person who has made it was altered')
    }
    const rights = rightsIn(person, accountId)
    const mayMake = rights !== undefined && hasRight(rights, 'change') && sees(rights, subAccountId)
    if (!mayMake) throw failure('token-invalid', 'the person who has made it may not make it any more')
  }

  async #findSubAccount(accountId: string, id: string): Promise<SubAccount | undefined> {
    return (await this.#parts.store.findSubAccount(accountId, id))?.subAccount
  }

  #seal(kind: Kind, { id }: PortalSession): string {
    return `${PREFIX}${this.#parts.stamps.seal(id, placeOf(kind))}`
  }
}

const placeOf = (kind: Kind) => `portal ${kind}`
