// The portal: sessions for a sub-account's own developers, which callers make and hand over as a code.
import { Failure, failure } from './errors.ts'
import { BY_PORTAL, type Caller, PORTAL_USES, sees } from './model/permissions.ts'
import { daysOf, endOfCode, endWithin, type PortalRequest, type PortalSession } from './model/portal.ts'
import { ACCOUNT_KEYS } from './model/tables.ts'
import { newId, type SubAccount, type Timestamp } from './model/token.ts'
import type { IdentityStore, Parts, PortalStore, SubAccountStore } from './ports.ts'
import type { Origin } from './record/history.ts'
import { endOfKey, requireNotEnded } from './trust/authority.ts'
import { isGenuine } from './trust/stamp.ts'

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
    const { accountId, permissions, authority } = caller
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
      may,
      origin: asked.origin ?? null,
      keyId: authority?.kind === 'key' ? authority.id : null,
      createdAt: origin.at,
      expiresAt,
    }
    await this.#noteOrigin(session)
    await this.#parts.store.openPortal(subAccount, session, origin)
    return { session, code: this.#seal('code', session) }
  }

  /** Rejects with `token-invalid` for what was not made here as one. */
  open(kind: Kind, presented: string): PortalSession {
    const text = isOfPortal(presented)
      ? this.#parts.stamps.open(presented.slice(PREFIX.length), placeOf(kind))
      : undefined
    if (text === undefined) throw new Failure('token-invalid')
    return JSON.parse(text) as PortalSession
  }

  /** With its code, which works once. The sub-account is as it is now. */
  async begin(session: PortalSession): Promise<{ bearer: string; subAccount: SubAccount }> {
    const { store, stamps, now } = this.#parts
    const at = now()
    requireNotEnded(endOfCode(session), at)
    await this.#requireMaker(session, at)
    const subAccount = await this.#findSubAccount(session.accountId, session.subAccountId)
    if (subAccount === undefined) throw failure('token-invalid', 'its sub-account does not exist')
    const isFirst = await store.spend([stamps.digest(`portal code of ${session.id}`)], at)
    if (!isFirst) throw failure('token-invalid', 'the code was used before')
    return { bearer: this.#seal('session', session), subAccount }
  }

  async admit(session: PortalSession): Promise<Caller> {
    const { store, now } = this.#parts
    const { id, accountId, subAccountId, may, keyId, expiresAt } = session
    const at = now()
    requireNotEnded(expiresAt, at)
    await this.#requireMaker(session, at)
    if ((await store.findAccount(accountId)) === undefined) throw failure('token-invalid', 'its account does not exist')
    return {
      accountId,
      by: `${BY_PORTAL}${id}`,
      permissions: { role: 'viewer', reveal: false, subAccounts: [subAccountId], may },
      ...(keyId !== null && { authority: { kind: 'key', id: keyId } }),
      endsAt: expiresAt,
    }
  }

  /** Whether there can be a session that pages of this origin may use. */
  async allowsOrigin(origin: string): Promise<boolean> {
    const { store, now } = this.#parts
    const known = daysOf(now()).map((day) => store.wasSpent(this.#digestOfOrigin(origin, day)))
    return (await Promise.all(known)).includes(true)
  }

  async #noteOrigin({ origin, createdAt }: PortalSession): Promise<void> {
    const [today] = daysOf(createdAt)
    if (origin !== null) await this.#parts.store.spend([this.#digestOfOrigin(origin, today)], createdAt)
  }

  #digestOfOrigin(origin: string, day: number): Buffer {
    return this.#parts.stamps.digest(`portal origin ${origin} on day ${day}`)
  }

  /** A session may never do more than the key that has made it. */
  async #requireMaker({ keyId }: PortalSession, at: Timestamp): Promise<void> {
    if (keyId === null) return
    const { store, stamps, onTampered } = this.#parts
    const key = await store.findKeyById(keyId)
    requireNotEnded(endOfKey(key), at)
    if (key !== undefined && isGenuine(ACCOUNT_KEYS, key, stamps)) return
    onTampered({ kind: 'key', id: keyId })
    throw failure('token-invalid', 'the key that has made it was altered')
  }

  async #findSubAccount(accountId: string, id: string): Promise<SubAccount | undefined> {
    return (await this.#parts.store.findSubAccount(accountId, id))?.subAccount
  }

  #seal(kind: Kind, session: PortalSession): string {
    return `${PREFIX}${this.#parts.stamps.seal(JSON.stringify(session), placeOf(kind))}`
  }
}

const placeOf = (kind: Kind) => `portal ${kind}`
