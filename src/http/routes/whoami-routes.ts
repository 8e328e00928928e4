// Who is asking: the account, the caller and what the caller may do, so that a program need not find out by trying.

import { BY_JWT, BY_OIDC, type Caller } from '../../tokens/model/permissions.ts'
import { unknownName } from '../protocol/unknown-names.ts'
import type { AccountRoute } from './route.ts'
import * as schemas from './schemas.ts'

const whoami: AccountRoute = {
  method: 'GET',
  url: '/api/v1/apiClient/whoami',
  operationId: 'whoami',
  summary: 'Who is asking, and what they may do',
  tag: 'Overview',
  right: null,
  data: schemas.WhoAmI,
  success: { message: 'Caller retrieved successfully' },
  failures: { 400: [unknownName('parameter', 'verbose', [])] },
  async answer(registry, { caller }) {
    const { id, name } = await registry.getAccount(caller)
    const data: schemas.WireWhoAmI = {
      account: { _id: id, name },
      caller: callerToWire(caller),
      permissions: caller.permissions,
    }
    return { data }
  },
}

export const whoamiRoutes = { whoami }

function callerToWire({ by, byName }: Caller): schemas.WireWhoAmI['caller'] {
  if (by.startsWith(BY_JWT)) return { kind: 'jwt', _id: by, name: by.slice(BY_JWT.length) }
  if (by.startsWith(BY_OIDC)) return { kind: 'oidc', _id: by, name: byName ?? by.slice(BY_OIDC.length) }
  return { kind: 'key', _id: by, name: byName ?? by }
}
