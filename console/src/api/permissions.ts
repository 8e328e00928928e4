// What the caller may do. Views ask here before they offer something; the service decides again at each request.
import { useQuery } from '@tanstack/react-query'
import { queries } from './queries.ts'
import { useClient } from './session.tsx'

interface Permissions {
  /** Whether credentials are shown and copied. */
  readonly reveal: boolean
}

/** Assumed until the service has answered, so that a slow answer takes nothing away: every caller may do all of it. */
const ALL: Permissions = { reveal: true }

export function usePermissions(): Permissions {
  return useQuery(queries.whoami(useClient())).data?.permissions ?? ALL
}
