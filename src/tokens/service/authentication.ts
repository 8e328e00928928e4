// Who calls with an account key.
import { Failure } from '../model/errors.ts'
import { type Caller, type Permissions, parsePermissions } from '../model/permissions.ts'
import { ACCOUNT_KEYS } from '../model/tables.ts'
import type { StoredKey } from '../model/token.ts'
import { endOfKey, requireNotEnded } from '../trust/authority.ts'
import type { Parts } from '../trust/parts.ts'
import { isGenuine, type Stamped } from '../trust/stamp.ts'
import { codeOfReason } from '../verify/answer.ts'
import { kindOfCredential } from '../verify/credential-format.ts'
import type { IdentityStore } from './ports.ts'
import type { Verification } from './verification.ts'

export class Authentication {
  readonly #parts: Parts<IdentityStore>
  readonly #verification: Verification
  // An engine returns the same object while nothing about it has changed: it is checked once.
  readonly #genuineKeys = new WeakSet<StoredKey>()

  constructor(parts: Parts<IdentityStore>, verification: Verification) {
    this.#parts = parts
    this.#verification = verification
  }

  async authenticate(presented: string): Promise<Caller> {
    const { store, now } = this.#parts
    if (kindOfCredential(presented) !== 'key') return this.#refuseToken(presented)
    const key = await store.findKey(presented)
    if (key === undefined || !this.#isGenuineKey(key)) throw new Failure('token-invalid')
    const at = now()
    requireNotEnded(endOfKey(key), at)
    this.#verification.uses.note(key.id, at)
    const { id, name, accountId, expiresAt } = key
    const permissions = this.#permissionsOf(key)
    return { accountId, by: id, byName: name, permissions, authority: { kind: 'key', id }, endsAt: expiresAt }
  }

  /** Unreadable permissions were not written by this version. What they forbid is unknown, so the key is refused. */
  #permissionsOf({ id, permissions }: StoredKey): Permissions {
    try {
      return parsePermissions(permissions)
    } catch {
      this.#parts.onTampered({ kind: 'key', id })
      throw new Failure('token-invalid')
    }
  }

  #isGenuineKey(key: Stamped<StoredKey>): boolean {
    if (this.#genuineKeys.has(key)) return true
    const genuine = isGenuine(ACCOUNT_KEYS, key, this.#parts.stamps)
    if (genuine) this.#genuineKeys.add(key)
    else this.#parts.onTampered({ kind: 'key', id: key.id })
    return genuine
  }

  async #refuseToken(presented: string): Promise<never> {
    const verdict = await this.#verification.introspect(presented)
    throw new Failure(verdict.accepted ? 'token-cannot-manage' : codeOfReason(verdict.reason))
  }
}
