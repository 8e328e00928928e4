// Chooses a token, searched by name.
import { useQuery } from '@tanstack/react-query'
import type { Token } from '../../../client/latchkey-client.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { Name } from '../ui/name.tsx'
import { MOST_OPTIONS, Picker, type PickerProps, type PickerSource } from '../ui/picker.tsx'

const TOKENS: PickerSource = {
  useName(id) {
    const { data, isPending } = useQuery({ ...queries.token(useClient(), id ?? ''), enabled: id !== undefined })
    if (id === undefined) return ''
    // A token that is deleted has a history, and no name any more.
    return data?.name ?? (isPending ? '' : id)
  },
  useOptions(search, isEnabled) {
    const params = { search: search || undefined, limit: MOST_OPTIONS }
    const { data, isPlaceholderData, ...query } = useQuery({
      ...queries.tokens(useClient(), params, () => params),
      enabled: isEnabled,
    })
    const page = data && !isPlaceholderData ? { options: data.items.map(optionOf), total: data.total } : undefined
    return { ...query, page }
  },
  noneYet: 'No tokens yet',
  noMatch: 'No token matches',
  clearLabel: 'All tokens',
}

const optionOf = ({ _id, name, subAccount, token }: Token) => ({
  id: _id,
  name,
  detail: (
    <>
      <Name>{subAccount.name}</Name> · {token}
    </>
  ),
})

export const TokenPicker = (props: PickerProps) => <Picker source={TOKENS} {...props} />
