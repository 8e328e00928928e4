// What a caller may do: a role, whether credentials are shown, and the sub-accounts that it sees. Pure.

import { isObject } from '../verify/is-object.ts'
import { Failure } from './errors.ts'
import type { FieldReader } from './fields.ts'
import type { Timestamp } from './tables.ts'

export const ROLES = ['owner', 'manager', 'viewer', 'verifier'] as const
export type Role = (typeof ROLES)[number]

/** What a session of the portal can be made for. */
export const PORTAL_USES = ['read', 'create', 'rotate', 'disable', 'usage'] as const
export type PortalUse = (typeof PORTAL_USES)[number]

export interface Permissions {
  readonly role: Role
  /** Whether credentials are shown. */
  readonly reveal: boolean
  /** The only ones that exist for the caller; null for all of the account. */
  readonly subAccounts: readonly string[] | null
  /** For a session of the portal: the only things that it may do, whatever its role. */
  readonly may?: readonly PortalUse[]
}

/** What a caller makes its changes by: an account key, a person's session, or a session of the portal, which depends on its maker's. */
export interface Authority {
  readonly kind: 'key' | 'session' | 'portal'
  readonly id: string
}

/** Who makes a request. */
export interface Caller {
  readonly accountId: string
  /** An account key's id, `jwt:` or `oidc:` and the subject, or `portal:` and the id of the session. */
  readonly by: string
  /** What the account key is called, or the person's e-mail address; for the history. */
  readonly byName?: string | null
  readonly permissions: Permissions
  /** What every change of this caller depends on; none for JWTs, which are not stored, and for the operator. */
  readonly authority?: Authority
  /** When the account key, JWT or session of the portal expires. None for people: a session ends, but the grant it stands for does not. */
  readonly endsAt?: Timestamp | null
}

/** What `by` begins with for those whom an identity provider vouches for. The subject follows. */
export const [BY_JWT, BY_OIDC] = ['jwt:', 'oidc:'] as const
export const BY_PORTAL = 'portal:'

/** Of account keys made before there were permissions, of the operator, and of JWTs without grants. */
export const EVERYTHING: Permissions = { role: 'owner', reveal: true, subAccounts: null }

/** What routes require. Each text completes "This key is not allowed to …". */
export const RIGHTS = {
  introspect: 'introspect credentials',
  read: 'read tokens and sub-accounts',
  change: 'change tokens and sub-accounts',
  manageKeys: 'manage account keys',
  manageWebhooks: 'manage webhooks',
  seeGrants: 'see the grants',
  reveal: 'see credentials',
  createSubAccounts: 'create sub-accounts',
} as const
export type Right = keyof typeof RIGHTS

const RIGHTS_OF: Readonly<Record<Role, readonly Right[]>> = {
  owner: ['introspect', 'read', 'change', 'manageKeys', 'manageWebhooks', 'seeGrants'],
  manager: ['introspect', 'read', 'change'],
  viewer: ['introspect', 'read'],
  verifier: ['introspect'],
}

export function requireRight(permissions: Permissions, right: Right): void {
  if (!hasRight(permissions, right)) throw notAllowed(RIGHTS[right])
}

/** What nobody has thought of opening to the portal is closed to it. */
export function requirePortalUse({ may = [] }: Permissions, use: PortalUse | undefined): void {
  if (use === undefined || !may.includes(use)) throw notInPortal()
}

export const notInPortal = () => new Failure('not-allowed', 'This session is not allowed to do that')

/** How and from where tokens were used. */
export const seesUse = ({ may }: Pick<Permissions, 'may'>): boolean => may === undefined || may.includes('usage')

/** Who may list the verifiers of the account. */
export const seesVerifiers = (permissions: Permissions): boolean =>
  hasRight(permissions, 'read') && permissions.subAccounts === null

export function hasRight({ role, reveal, subAccounts, may }: Permissions, right: Right): boolean {
  if (may !== undefined) return false
  if (right === 'reveal') return reveal
  if (right === 'createSubAccounts') return subAccounts === null
  // A webhook gets what happens in the whole account, and a grant may be for all of it.
  if ((right === 'manageWebhooks' || right === 'seeGrants') && subAccounts !== null) return false
  return RIGHTS_OF[role].includes(right)
}

export const notAllowed = (what: string) => new Failure('not-allowed', `This key is not allowed to ${what}`)

export function sees({ subAccounts }: Permissions, subAccountId: string): boolean {
  return subAccounts === null || subAccounts.includes(subAccountId)
}

/** The account of the operator's own keys, which may verify credentials of all accounts and nothing else. It has no tokens. */
export const ALL_ACCOUNTS = 'acc_0000000000000000000000000000'

/** Only an account key: the account that an identity provider names may be any text. */
export const seesAllAccounts = ({ accountId, authority }: Caller): boolean =>
  accountId === ALL_ACCOUNTS && authority?.kind === 'key'

/** Whether a caller who verifies credentials knows the token of this one. */
export function seesToken(
  caller: Caller,
  token: { readonly accountId: string; readonly subAccountId: string },
): boolean {
  if (seesAllAccounts(caller)) return true
  return token.accountId === caller.accountId && sees(caller.permissions, token.subAccountId)
}

/** A caller can grant only what it has itself. Roles are not compared: only owners may manage keys. */
export function requireWithin(wanted: Permissions, own: Permissions): void {
  if (wanted.reveal && !own.reveal) throw notAllowed('let others see credentials')
  if (own.subAccounts === null) return
  const { subAccounts: ids } = wanted
  if (ids === null) throw notAllowed('give access to all sub-accounts')
  if (!ids.every((id) => sees(own, id))) throw new Failure('sub-account-forbidden')
}

/** As stored with an account key; null for everything. Throws if it cannot be read. */
export function parsePermissions(text: string | null): Permissions {
  if (text === null) return EVERYTHING
  const value: unknown = JSON.parse(text)
  if (!isPermissions(value)) throw new Error('the permissions of an account key cannot be read')
  return value
}

const NO_RIGHTS = { role: null, reveal: false, subAccounts: [] } as const

/** As lists show them. A key whose permissions cannot be read lets nobody in. */
export function shownPermissions(text: string | null): Permissions | typeof NO_RIGHTS {
  try {
    return parsePermissions(text)
  } catch {
    return NO_RIGHTS
  }
}

export function storePermissions({ role, reveal, subAccounts }: Permissions): string | null {
  const isEverything = role === 'owner' && reveal && subAccounts === null
  return isEverything ? null : JSON.stringify({ role, reveal, subAccounts })
}

function isPermissions(value: unknown): value is Permissions {
  if (!isObject(value)) return false
  const { role, reveal, subAccounts } = value as Readonly<Record<string, unknown>>
  return (
    ROLES.some((known) => known === role) &&
    typeof reveal === 'boolean' &&
    (subAccounts === null || areIds(subAccounts))
  )
}

const MAX_SUB_ACCOUNTS = 100
const areIds = (value: unknown) => Array.isArray(value) && value.every((id) => typeof id === 'string')

/** Owners see credentials unless said otherwise, the others do not. */
export function permissionsOf(fields: {
  role: Role
  reveal?: boolean
  subAccounts?: readonly string[] | null
}): Permissions {
  const { role, reveal = role === 'owner', subAccounts = null } = fields
  return { role, reveal, subAccounts }
}

export const flagField: FieldReader<boolean> = (value, field) =>
  typeof value === 'boolean'
    ? { state: 'valid', value }
    : { state: 'unusable', message: `${field} must be true or false` }

/** `null` for all. */
export const subAccountsField: FieldReader<readonly string[] | null> = (value, field) => {
  if (value === null) return { state: 'valid', value: null }
  if (!areIds(value)) return { state: 'unusable', message: `${field} must be an array of ids, or null for all` }
  const ids = value as readonly string[]
  if (ids.length === 0 || ids.length > MAX_SUB_ACCOUNTS || new Set(ids).size < ids.length) {
    return { state: 'broken', message: `${field} must be 1 to ${MAX_SUB_ACCOUNTS} different ids, or null for all` }
  }
  return { state: 'valid', value: ids }
}
