// A view for those with one right; the others learn why it is empty.
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { type Permissions, usePermissions } from '../api/permissions.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { Empty } from '../ui/empty-page.tsx'
import { ViewTitle } from '../ui/view-title.tsx'

interface OnlyForProps {
  readonly right: keyof Permissions
  readonly title: string
  /** Such as "You may not see webhooks". */
  readonly refusal: string
  readonly description?: string
  readonly children: ReactNode
}

const OWNERS_OF_ALL = 'Only owners who see all sub-accounts can do this.'

/** Until the service has said what is allowed, the view asks, and the service decides. */
export function OnlyFor({ right, title, refusal, description = OWNERS_OF_ALL, children }: OnlyForProps) {
  const whoami = useQuery(queries.whoami(useClient()))
  const permissions = usePermissions()
  if (whoami.data === undefined || permissions[right]) return children
  return (
    <>
      <ViewTitle title={title} />
      <Empty title={refusal} description={description} />
    </>
  )
}
