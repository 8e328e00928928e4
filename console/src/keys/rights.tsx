// What an account key may do, in words: in the list of keys, in the dialog that makes one, and for who is signed in.
import { useQueries } from '@tanstack/react-query'
import { useState } from 'react'
import type { Rights } from '../api/permissions.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { Name } from '../ui/name.tsx'
import text from '../ui/text.module.css'

export type Role = Rights['role']

export const ROLES: Readonly<Record<Role, { readonly label: string; readonly may: string }>> = {
  owner: { label: 'Owner', may: 'May do everything, account keys included' },
  manager: { label: 'Manager', may: 'May read, create and change tokens and sub-accounts' },
  viewer: { label: 'Viewer', may: 'May read tokens, sub-accounts and their history' },
  verifier: { label: 'Verifier', may: 'May ask whether a credential is valid, and nothing else' },
}

/** Of a key, whose rights may have been altered in the store. */
export const roleOf = (role: Role | null) =>
  role === null ? { label: 'None', may: 'Its rights cannot be read, and it is refused' } : ROLES[role]

/** More are listed only when asked for: each name is a request. */
const LISTED = 3

export function SubAccountNames({ ids }: { ids: readonly string[] | null }) {
  const [isOpen, setOpen] = useState(false)
  if (ids === null) return 'All'
  if (ids.length === 0) return 'None'
  if (ids.length <= LISTED) return <NameList ids={ids} />
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{ids.length} sub-accounts</summary>
      {isOpen && <NameList ids={ids} />}
    </details>
  )
}

function NameList({ ids }: { ids: readonly string[] }) {
  const client = useClient()
  const found = useQueries({
    queries: ids.map((id) => ({
      ...queries.subAccount(client, id),
      staleTime: 60_000,
      refetchOnWindowFocus: false,
    })),
  })
  return ids.map((id, index) => {
    const name = found[index]?.data?.name
    return (
      <span key={id}>
        {index > 0 && ', '}
        {name === undefined ? <code className={text.dim}>{id}</code> : <Name>{name}</Name>}
      </span>
    )
  })
}
