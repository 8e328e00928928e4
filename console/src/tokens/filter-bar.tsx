// Search, filters and what they come to. Typing searches; everything else takes effect at once.
import { ActionIcon, Group, NativeSelect } from '@mantine/core'
import { Icon } from '../icon.tsx'
import { SubAccountPicker } from '../picker.tsx'
import { SearchBox } from '../search-box.tsx'
import { utcDay } from '../words.ts'
import type { TokenFilters } from './token-filters.ts'

interface FilterBarProps {
  readonly filters: TokenFilters
  readonly change: (part: TokenFilters, how?: 'push' | 'replace') => void
}

const MORE = [
  { value: '', label: 'Use and expiry' },
  { value: 'used=never', label: 'Never used' },
  { value: 'expiry=soon', label: 'Expires within 30 days' },
  { value: 'expiry=expired', label: 'Past its expiry' },
]

/** As the list's marks call them; a disabled token is inactive whatever else is true of it. */
const STATUSES: Readonly<Record<string, { readonly label: string; readonly filter: TokenFilters }>> = {
  '': { label: 'Any status', filter: {} },
  active: { label: 'Active', filter: { effectiveStatus: 'active' } },
  inactive: { label: 'Inactive', filter: { status: 'inactive' } },
  expired: { label: 'Expired', filter: { effectiveStatus: 'expired' } },
  suspended: { label: 'Suspended', filter: { effectiveStatus: 'suspended' } },
  /** What sub-accounts count as active; only offered where a link has led to it. */
  enabled: { label: 'Active, expired or suspended', filter: { status: 'active' } },
}

export function FilterBar({ filters, change }: FilterBarProps) {
  const { status, effectiveStatus, subAccount, used, expiry } = filters
  const chosenStatus = effectiveStatus ?? (status === 'active' ? 'enabled' : (status ?? ''))
  return (
    <search className="filters">
      <SearchBox
        label="Search tokens by name or id"
        placeholder="Search by name or id"
        value={filters.search ?? ''}
        onSearch={(search) => change({ search }, 'replace')}
      />
      <SubAccountPicker
        label="Sub-account"
        labelHidden
        placeholder="All sub-accounts"
        clearable
        value={subAccount}
        onChange={(id) => change({ subAccount: id })}
      />
      <NativeSelect
        aria-label="Status"
        value={chosenStatus}
        onChange={(event) =>
          change({ status: undefined, effectiveStatus: undefined, ...STATUSES[event.currentTarget.value]?.filter })
        }
        data={Object.entries(STATUSES)
          .filter(([value]) => value !== 'enabled' || value === chosenStatus)
          .map(([value, { label }]) => ({ value, label }))}
      />
      <NativeSelect
        aria-label="Use and expiry"
        value={used ? `used=${used}` : expiry ? `expiry=${expiry}` : ''}
        onChange={(event) => {
          const [name = '', value] = event.currentTarget.value.split('=')
          change({ used: undefined, expiry: undefined, ...(name === '' ? {} : { [name]: value }) })
        }}
        data={MORE}
      />
      <CreatedFilter filters={filters} change={change} />
    </search>
  )
}

/** Comes from the overview's chart; shown so that nobody wonders what is missing. */
function CreatedFilter({ filters: { createdFrom, createdBefore }, change }: FilterBarProps) {
  if (createdFrom === undefined && createdBefore === undefined) return null
  const said = [createdFrom && `from ${dayOf(createdFrom)}`, createdBefore && `before ${dayOf(createdBefore)}`]
  return (
    <Group gap={4} className="created-filter">
      <span>Created {said.filter(Boolean).join(', ')}</span>
      <ActionIcon
        size="sm"
        variant="subtle"
        color="gray"
        aria-label="Any time of creation"
        onClick={() => change({ createdFrom: undefined, createdBefore: undefined })}
      >
        <Icon name="close" size={14} />
      </ActionIcon>
    </Group>
  )
}

function dayOf(iso: string): string {
  return Number.isNaN(Date.parse(iso)) ? iso : utcDay(iso)
}
