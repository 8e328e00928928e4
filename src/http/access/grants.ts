// What the people and programs of an identity provider may do: a JSON file that gives permissions for values of their claims.
// Claims that match no grant give no access.
import type { Logger } from 'pino'
import type { Claims } from '../../operations/operation.ts'
import { failure, nameSome, OperatorError } from '../../tokens/model/errors.ts'
import {
  flagField,
  type Permissions,
  permissionsOf,
  ROLES,
  type Role,
  subAccountsField,
} from '../../tokens/model/permissions.ts'
import type { Registry } from '../../tokens/service/registry.ts'
import { isObject } from '../../tokens/verify/is-object.ts'
import { watchedFile } from './watched-file.ts'

export interface Grant {
  /** The claim has this value, or is an array that contains it. */
  readonly claim: string
  readonly value: string
  readonly account: string
  readonly permissions: Permissions
}

interface Watchers {
  /** Called when the file was read: at the start, and after each change. */
  readonly onRead: (grants: readonly Grant[]) => void
  /** Called once for as long as it cannot be read. */
  readonly onBroken: (error: Error) => void
}

/** A file of grants. While it cannot be read, it lets nobody in. */
export class GrantsFile {
  /** The setting that names the file. */
  readonly setting: string
  readonly #find: () => readonly Grant[]
  readonly #onBroken: Watchers['onBroken']
  #isBroken = false

  /** Throws for a file that cannot be read. */
  constructor(path: string, setting: string, { onRead, onBroken }: Watchers) {
    this.setting = setting
    this.#onBroken = onBroken
    try {
      this.#find = watchedFile(path, (text) => {
        const grants = parseGrants(text)
        onRead(grants)
        return grants
      })
    } catch (error) {
      throw new OperatorError(`${setting} must be a file with a JSON array of grants: ${(error as Error).message}`)
    }
  }

  /** The grants as the file has them now. */
  read(): readonly Grant[] {
    try {
      const grants = this.#find()
      this.#isBroken = false
      return grants
    } catch (cause) {
      if (!this.#isBroken) this.#onBroken(cause as Error)
      this.#isBroken = true
      throw failure('unavailable', cause, UNREADABLE)
    }
  }

  /** For those who watch the service. Without the cause, which may quote the file. */
  findProblem(): string | undefined {
    try {
      this.read()
      return undefined
    } catch {
      return `The file of ${this.setting} cannot be read, so it lets nobody in; the log says why`
    }
  }
}

const UNREADABLE = 'The file of grants cannot be read, so it lets nobody in; the operator finds the reason in the log'

export function openGrants(
  path: string,
  setting: string,
  { registry, log }: { readonly registry: Registry; readonly log: Logger },
): GrantsFile {
  const warnOfUnknown = async (grants: readonly Grant[]) => {
    const ids = [...new Set(grants.map(({ account }) => account))]
    const unknown: string[] = []
    for (const id of ids) if ((await registry.findAccount(id)) === undefined) unknown.push(id)
    if (unknown.length === 0) return
    log.warn(
      { setting, accounts: nameSome(unknown) },
      'grants name accounts that do not exist, and let nobody in there',
    )
  }
  return new GrantsFile(path, setting, {
    onRead: (grants) =>
      void warnOfUnknown(grants).catch((err) => log.warn({ setting, err }, 'the accounts of grants were not checked')),
    onBroken: (err) => log.error({ setting, err }, 'the file of grants cannot be read; it lets nobody in'),
  })
}

function parseGrants(text: string): readonly Grant[] {
  const list: unknown = JSON.parse(text)
  if (!Array.isArray(list)) throw new Error('the grants must be a JSON array')
  return list.map((entry, i) => {
    const grant = readGrant(entry)
    if (grant === undefined) {
      const form = '{"claim", "value", "account", "role", "reveal"?, "subAccounts"?}'
      throw new Error(`grant ${i + 1} must be ${form}, with a role of ${ROLES.join(', ')}`)
    }
    return grant
  })
}

const MEMBERS = ['claim', 'value', 'account', 'role', 'reveal', 'subAccounts']

function readGrant(entry: unknown): Grant | undefined {
  if (!isObject(entry) || Object.keys(entry).some((name) => !MEMBERS.includes(name))) return undefined
  const { claim, value, account, role, reveal, subAccounts = null } = entry as Readonly<Record<string, unknown>>
  const isText = [claim, value, account].every((text) => typeof text === 'string' && text !== '')
  const isRole = ROLES.some((known) => known === role)
  const isFlag = reveal === undefined || flagField(reveal, '').state === 'valid'
  if (!isText || !isRole || !isFlag || subAccountsField(subAccounts, '').state !== 'valid') return undefined
  const permissions = permissionsOf({
    role: role as Role,
    subAccounts: subAccounts as readonly string[] | null,
    ...(reveal === undefined ? {} : { reveal: reveal as boolean }),
  })
  return { claim: claim as string, value: value as string, account: account as string, permissions }
}

/**
 * Without an e-mail address that is not verified, which could be anybody's. Some providers send `email_verified` as a text, others
 * not at all: `trustsEmail` says that theirs are verified.
 */
export function trustedClaims({ email, ...claims }: Claims, trustsEmail: boolean): Claims {
  const { email_verified: verified = trustsEmail } = claims
  return email !== undefined && (verified === true || verified === 'true') ? { email, ...claims } : claims
}

const matches = (claims: Claims, { claim, value }: Grant): boolean =>
  Object.hasOwn(claims, claim) && [claims[claim]].flat().includes(value)

/** By account, in the order of the file. Where several grants for an account match, the first one decides. */
function decidingGrants(claims: Claims, grants: readonly Grant[]): ReadonlyMap<string, Grant> {
  const deciding = new Map<string, Grant>()
  for (const grant of grants) {
    if (!deciding.has(grant.account) && matches(claims, grant)) deciding.set(grant.account, grant)
  }
  return deciding
}

export function grantedTo(claims: Claims, grants: readonly Grant[]): ReadonlyMap<string, Permissions> {
  return new Map(
    decidingGrants(claims, grants)
      .entries()
      .map(([account, { permissions }]) => [account, permissions]),
  )
}

interface Tested {
  readonly grant: Grant
  readonly matches: boolean
  readonly decides: boolean
}

/** What each grant for an account makes of these claims. */
export function testClaims(claims: Claims, grants: readonly Grant[], account: string): readonly Tested[] {
  const deciding = decidingGrants(claims, grants).get(account)
  return grants
    .filter((grant) => grant.account === account)
    .map((grant) => ({ grant, matches: matches(claims, grant), decides: grant === deciding }))
}
