// What the caller may do. Views ask here before they offer something; the service decides again at each request.
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { WhoAmI } from '../../../client/latchkey-client.ts'
import { queries } from './queries.ts'
import { useClient, useSession } from './session.tsx'

export type Rights = WhoAmI['permissions']

export interface Permissions {
  /** Whether credentials are shown and copied. */
  readonly reveal: boolean
  /** Tokens and sub-accounts: create, change, disable, rotate, delete. */
  readonly change: boolean
  readonly createSubAccounts: boolean
  /** All sub-accounts, or only some. */
  readonly seesAll: boolean
  readonly manageKeys: boolean
  /** See who is signed in, and sign them out: where people sign in at all. */
  readonly manageSessions: boolean
  /** See who holds a lease, and evict them. */
  readonly manageVerifiers: boolean
  readonly manageWebhooks: boolean
}

export function permissionsOf({ role, reveal, subAccounts }: Rights, hasProvider: boolean): Permissions {
  const change = role === 'owner' || role === 'manager'
  const isOwnerOfAll = role === 'owner' && subAccounts === null
  return {
    reveal,
    change,
    createSubAccounts: change && subAccounts === null,
    seesAll: subAccounts === null,
    manageKeys: role === 'owner',
    manageSessions: isOwnerOfAll && hasProvider,
    manageVerifiers: isOwnerOfAll,
    manageWebhooks: isOwnerOfAll,
  }
}

const EVERYTHING: Rights = { role: 'owner', reveal: true, subAccounts: null }
const NOTHING: Rights = { role: 'verifier', reveal: false, subAccounts: [] }

/** Nothing is offered before the service has said what is allowed. Where it cannot say, each request decides for itself. */
export function usePermissions(): Permissions {
  const { data, isError } = useQuery(queries.whoami(useClient()))
  const provider = useSession().presence?.provider ?? false
  return useMemo(
    () => permissionsOf(data?.permissions ?? (isError ? EVERYTHING : NOTHING), provider),
    [data, isError, provider],
  )
}
