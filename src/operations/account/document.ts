// Who is asking, as it is sent and printed.
import { BY_JWT, BY_OIDC, type Caller, type Permissions } from '../../tokens/model/permissions.ts'
import type { Account } from '../../tokens/model/token.ts'

export function whoAmIToWire({ id, name }: Account, caller: Caller) {
  return {
    account: { _id: id, name },
    caller: callerToWire(caller),
    permissions: permissionsToWire(caller.permissions),
  }
}

export function permissionsToWire({ role, reveal, subAccounts }: Permissions) {
  return { role, reveal, subAccounts }
}

function callerToWire({ by, byName }: Caller) {
  if (by.startsWith(BY_JWT)) return { kind: 'jwt', _id: by, name: by.slice(BY_JWT.length) } as const
  if (by.startsWith(BY_OIDC)) return { kind: 'oidc', _id: by, name: byName ?? by.slice(BY_OIDC.length) } as const
  return { kind: 'key', _id: by, name: byName ?? by } as const
}
