// What the people and programs of an identity provider may do: a JSON file that gives permissions for values of their claims.
// Who matches no grant gets in nowhere.
import { isObject } from '../../tokens/model/fields.ts'
import {
  flagField,
  type Permissions,
  permissionsOf,
  ROLES,
  type Role,
  subAccountsField,
} from '../../tokens/model/permissions.ts'
import { watchedFile } from './watched-file.ts'

export interface Grant {
  /** The claim has this value, or is an array that contains it. */
  readonly claim: string
  readonly value: string
  readonly account: string
  readonly permissions: Permissions
}

export type Claims = Readonly<Record<string, unknown>>

export function grantsIn(path: string): () => readonly Grant[] {
  return watchedFile(path, parseGrants)
}

export function parseGrants(text: string): readonly Grant[] {
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

/** All that match, in the order of the file. */
export function grantsFor(claims: Claims, grants: readonly Grant[]): readonly Grant[] {
  return grants.filter(({ claim, value }) => Object.hasOwn(claims, claim) && [claims[claim]].flat().includes(value))
}
