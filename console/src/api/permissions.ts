// What the caller may do. Views ask here before they offer something; the service decides again at each request.
import { useQuery } from '@tanstack/react-query'
import { queries } from './queries.ts'
import { useClient } from './session.tsx'

export interface Permissions {
  /** Whether credentials are shown and copied. */
  readonly reveal: boolean
}

/** Until the service has answered, nothing is offered that may turn out to be forbidden. */
const NONE: Permissions = { reveal: false }

export function usePermissions(): Permissions {
  return useQuery(queries.whoami(useClient())).data?.permissions ?? NONE
}
