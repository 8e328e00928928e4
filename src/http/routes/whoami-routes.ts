// Who is asking: the account, the caller and what the caller may do, so that a program need not find out by trying.
import { whoAmIToWire } from '../../operations/account/document.ts'
import { unknownName } from '../protocol/unknown-names.ts'
import * as schemas from './access-schemas.ts'
import type { AccountRoute } from './route.ts'

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
    const data: schemas.WireWhoAmI = whoAmIToWire(await registry.getAccount(caller), caller)
    return { data }
  },
}

export const whoamiRoutes = { whoami }
