// Chooses a sub-account, searched by name, e-mail address and company.
import { useQuery } from '@tanstack/react-query'
import type { SubAccount } from '../../../client/latchkey-client.ts'
import { isNotFound } from '../api/errors.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { Name } from '../ui/name.tsx'
import { MOST_OPTIONS, Picker, type PickerProps, type PickerSource } from '../ui/picker.tsx'

const SUB_ACCOUNTS: PickerSource = {
  useName(id) {
    const { data, error } = useQuery({ ...queries.subAccount(useClient(), id ?? ''), enabled: id !== undefined })
    if (id === undefined) return ''
    if (isNotFound(error)) return 'Unknown sub-account'
    return data?.name ?? (error === null ? '' : id)
  },
  useOptions(search, isEnabled) {
    const { data, isPlaceholderData, ...query } = useQuery({
      ...queries.subAccounts(useClient(), { search, limit: MOST_OPTIONS }),
      enabled: isEnabled,
    })
    const page = data && !isPlaceholderData ? { options: data.items.map(optionOf), total: data.total } : undefined
    return { ...query, page }
  },
  noneYet: 'No sub-accounts yet: create one under Sub-accounts',
  noMatch: 'No sub-account matches',
  clearLabel: 'All sub-accounts',
}

const optionOf = ({ _id, name, companyName, status }: SubAccount) => ({
  id: _id,
  name,
  detail: (
    <>
      <Name>{companyName}</Name>
      {status === 'suspended' && ' · suspended'}
    </>
  ),
})

export const SubAccountPicker = (props: PickerProps) => <Picker source={SUB_ACCOUNTS} {...props} />
