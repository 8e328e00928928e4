// What somebody may do, as it is sent.
import { Type } from 'typebox'
import { ROLES } from '../tokens/model/permissions.ts'
import { oneOf } from './schemas.ts'

export const ROLE_DESCRIPTION =
  '`owner` may do everything, `manager` all but manage keys and sessions, `viewer` read and introspect, `verifier` introspect'

export const Permissions = {
  role: oneOf(ROLES, ROLE_DESCRIPTION, 'viewer'),
  reveal: Type.Boolean({ description: 'Whether credentials are shown' }),
  subAccounts: Type.Unsafe<readonly string[] | null>({
    type: ['array', 'null'],
    items: { type: 'string' },
    description: 'The ids of the only sub-accounts that are seen; null for all',
  }),
}
