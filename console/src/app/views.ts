// The views that the header and the command palette lead to.
import type { Permissions } from '../api/permissions.ts'

export const VIEWS = [
  { to: '/', label: 'Overview' },
  { to: '/tokens', label: 'Tokens' },
  { to: '/sub-accounts', label: 'Sub-accounts' },
  { to: '/history', label: 'History' },
  { to: '/leaks', label: 'Leaks', needs: 'change' },
  { to: '/keys', label: 'Keys', needs: 'manageKeys' },
  { to: '/people', label: 'People', needs: 'manageSessions' },
  { to: '/verifiers', label: 'Verifiers', needs: 'manageVerifiers' },
  { to: '/webhooks', label: 'Webhooks', needs: 'manageWebhooks' },
] as const satisfies readonly { readonly to: string; readonly label: string; readonly needs?: keyof Permissions }[]

/** Those that other views lead to: the header has no room for them. */
export const MORE_VIEWS = [{ to: '/history/operations', label: 'Bulk operations' }] as const

export const viewsFor = (permissions: Permissions) =>
  VIEWS.filter((view) => !('needs' in view) || permissions[view.needs])
