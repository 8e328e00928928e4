// What is done with account keys.
import { nameField, oneOf, readNew, timeField } from '../../tokens/model/fields.ts'
import { readPageRequest } from '../../tokens/model/page.ts'
import { flagField, permissionsOf, ROLES, type Role, subAccountsField } from '../../tokens/model/permissions.ts'
import { readIdempotencyKey } from '../conditions.ts'
import { type Input, listed, type Service } from '../operation.ts'
import { keyToWire } from './document.ts'

interface NewKey {
  readonly name: string
  readonly role: Role
  readonly reveal?: boolean
  readonly subAccounts?: readonly string[] | null
  readonly expiresAt?: number | null
}

const FIELDS = {
  name: nameField,
  role: oneOf(ROLES),
  reveal: flagField,
  subAccounts: subAccountsField,
  expiresAt: timeField,
}

export async function listKeys({ registry }: Service, { caller, query }: Input) {
  return listed(await registry.keys.list(caller, readPageRequest(query)), 'account key(s)', keyToWire)
}

export async function createKey({ registry }: Service, { caller, body, headers, origin }: Input) {
  const { name, expiresAt, ...fields } = readNew<NewKey>(body, FIELDS, ['name', 'role'])
  const wanted = { name, expiresAt, permissions: permissionsOf(fields) }
  const created = await registry.keys.create(caller, wanted, origin, readIdempotencyKey(headers))
  return { data: { ...keyToWire(created), role: fields.role, key: created.key } }
}

export async function revokeKey({ registry }: Service, { caller, params, origin }: Input) {
  return { data: keyToWire(await registry.keys.revoke(caller, params.id, origin)) }
}
