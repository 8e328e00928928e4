// The sub-accounts of the tokens that history entries are about: two sub-accounts may have tokens with the same name.
import { useQueries } from '@tanstack/react-query'
import type { HistoryEntry, Token } from '../../../client/latchkey-client.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { linkTo, type Names } from './wording.tsx'

type Owner = Token['subAccount']

/**
 * By the id of the token. Entries do not say it, except for creations, whose sentences do; so each token is read once. What is
 * deleted cannot be read any more.
 */
export function useOwners(
  entries: readonly HistoryEntry[],
  names: Names,
  ownId: string | undefined,
): ReadonlyMap<string, Owner> {
  const client = useClient()
  const changed = entries.filter(({ action }) => action.startsWith('token.') && action !== 'token.create')
  const ids = [...new Set(changed.map(({ subject }) => subject))].filter((id) => id in names && id !== ownId)
  return useQueries({
    queries: ids.map((id) => ({
      ...queries.token(client, id),
      // A token never changes its sub-account.
      staleTime: Number.POSITIVE_INFINITY,
      refetchOnWindowFocus: false,
    })),
    combine: (found) => new Map(found.flatMap(({ data }) => (data ? [[data._id, data.subAccount]] : []))),
  })
}

export function OwnerLink({ owner }: { owner: Owner | undefined }) {
  return owner && <span>Sub-account {linkTo(owner._id, owner.name)} · </span>
}
