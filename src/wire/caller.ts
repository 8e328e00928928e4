// Who is asking, as it is sent and printed.
import type { Caller, Permissions } from '../tokens/model/permissions.ts'
import type { Account } from '../tokens/model/token.ts'

const [JWT, OIDC] = ['jwt:', 'oidc:']

export function whoAmIToWire({ id, name }: Account, caller: Caller) {
  return { account: { id, name }, caller: callerToWire(caller), permissions: permissionsToWire(caller.permissions) }
}

export function permissionsToWire({ role, reveal, subAccounts }: Permissions) {
  return { role, reveal, subAccounts }
}

function callerToWire({ by, byName }: Caller) {
  if (by.startsWith(JWT)) return { kind: 'jwt', id: by, name: by.slice(JWT.length) } as const
  if (by.startsWith(OIDC)) return { kind: 'oidc', id: by, name: byName ?? by.slice(OIDC.length) } as const
  return { kind: 'key', id: by, name: byName ?? by } as const
}
