// The sub-accounts whose name, e-mail address or company has the text of the search, above the tokens that it finds by name.
import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { Name } from '../ui/name.tsx'
import text from '../ui/text.module.css'

const SHOWN = 5
/** Shorter texts are part of too many. */
const SHORTEST = 3

export function SubAccountMatches({ search = '' }: { search: string | undefined }) {
  const isSearched = search.length >= SHORTEST
  const { data, isPlaceholderData } = useQuery({
    ...queries.subAccounts(useClient(), { search, limit: SHOWN }),
    enabled: isSearched,
  })
  if (!isSearched || data === undefined || isPlaceholderData || data.total === 0) return null
  return (
    <Text size="sm" mb="sm" component="section" aria-label="Sub-accounts that match">
      {data.total === 1 ? 'Sub-account: ' : 'Sub-accounts: '}
      {data.items.map(({ _id, name, companyName }, at) => (
        <span key={_id}>
          {at > 0 && ', '}
          <Link to="/sub-accounts/$subAccountId" params={{ subAccountId: _id }} className={text.link}>
            <Name>{name}</Name>
          </Link>{' '}
          (<Name>{companyName}</Name>)
        </span>
      ))}
      {data.total > SHOWN && ` and ${data.total - SHOWN} more`}
    </Text>
  )
}
