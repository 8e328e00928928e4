// The search and the filters of the token list.
import { NativeSelect, Pill, TextInput } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { useCallback } from 'react'
import { usePermissions } from '../api/permissions.ts'
import { handOver, hasSeveral } from '../leaks/pasted-text.ts'
import classes from '../ui/filters.module.css'
import { keepFocusOnRemoval } from '../ui/focus.ts'
import { utcDay } from '../ui/format.ts'
import { later } from '../ui/later.tsx'
import { MoreFilters } from '../ui/more-filters.tsx'
import { SearchBox } from '../ui/search-box.tsx'
import { countFilters, type TokenFilters } from './token-filters.ts'
import type { ChangeTokenSearch } from './token-search.ts'

/** Looks like what it stands for. */
const Placeholder = (props: { className?: string | undefined; placeholder?: string | undefined }) => (
  <TextInput className={props.className} placeholder={props.placeholder} aria-hidden disabled />
)
const SubAccountPicker = later(
  async () => (await import('../sub-accounts/sub-account-picker.tsx')).SubAccountPicker,
  Placeholder,
)
const ChipsInput = later(
  async () => (await import('../ui/chips-input.tsx')).ChipsInput,
  ({ className, value, placeholder }) => (
    <Placeholder className={className} placeholder={[...value, placeholder].join(', ')} />
  ),
)

interface FilterBarProps {
  readonly search: TokenFilters
  readonly changeSearch: ChangeTokenSearch
  /** What is typed into the search and may be a secret. */
  readonly onSecret: (text: string | undefined) => void
}

/** By the last use; the day of `since` has an input of its own. */
const USES: Readonly<Record<string, { readonly label: string; readonly filter: TokenFilters }>> = {
  '': { label: 'Any use', filter: {} },
  never: { label: 'Never used', filter: { used: 'never' } },
  '30': { label: 'Unused for 30 days', filter: { idle: '30' } },
  '90': { label: 'Unused for 90 days', filter: { idle: '90' } },
  '365': { label: 'Unused for a year', filter: { idle: '365' } },
  since: { label: 'Unused since a day', filter: {} },
}

const EXPIRIES = [
  { value: '', label: 'Any expiry' },
  { value: 'soon', label: 'Expires within 30 days' },
  { value: 'expired', label: 'Past its expiry' },
]

const CREATED = [
  { value: '', label: 'Any age' },
  { value: '7', label: 'Created within 7 days' },
  { value: '30', label: 'Created within 30 days' },
  { value: '90', label: 'Created within 90 days' },
]

/** As the list calls them; a disabled token is inactive whatever else is true of it. */
const STATUSES: Readonly<Record<string, { readonly label: string; readonly filter: TokenFilters }>> = {
  '': { label: 'Any status', filter: {} },
  active: { label: 'Active', filter: { effectiveStatus: 'active' } },
  inactive: { label: 'Inactive', filter: { status: 'inactive' } },
  expired: { label: 'Expired', filter: { effectiveStatus: 'expired' } },
  suspended: { label: 'Suspended', filter: { effectiveStatus: 'suspended' } },
  'suspended-30': { label: 'Sub-account suspended for 30 days', filter: { suspendedFor: '30' } },
  'suspended-90': { label: 'Sub-account suspended for 90 days', filter: { suspendedFor: '90' } },
  /** What sub-accounts count as active; only offered when a link has led to it. */
  enabled: { label: 'Active, expired or suspended', filter: { status: 'active' } },
}

export function FilterBar({ search, changeSearch, onSecret }: FilterBarProps) {
  const {
    status,
    effectiveStatus,
    subAccount,
    tag = [],
    used,
    idle,
    unusedSince,
    suspendedFor,
    expiry,
    created,
  } = search
  const ownStatus = effectiveStatus ?? (status === 'active' ? 'enabled' : (status ?? ''))
  const chosenStatus = suspendedFor === undefined ? ownStatus : `suspended-${suspendedFor}`
  const onPaste = useSeveralPasted()
  const onSearch = useCallback((text?: string) => changeSearch({ search: text }, 'replace'), [changeSearch])
  return (
    <search className={classes.filters}>
      <SearchBox
        label="Search tokens by name or id, or paste a credential"
        placeholder="Name, id or credential"
        value={search.search ?? ''}
        onSearch={onSearch}
        onSecret={onSecret}
        onPaste={onPaste}
      />
      <MoreFilters count={countFilters(search)}>
        <SubAccountPicker
          label="Sub-account"
          labelHidden
          className={classes.wide}
          placeholder="All sub-accounts"
          clearable
          value={subAccount}
          onChange={(id) => changeSearch({ subAccount: id })}
        />
        <NativeSelect
          aria-label="Status"
          value={chosenStatus}
          onChange={({ currentTarget: { value } }) =>
            changeSearch({
              status: undefined,
              effectiveStatus: undefined,
              suspendedFor: undefined,
              ...STATUSES[value]?.filter,
            })
          }
          data={Object.entries(STATUSES)
            .filter(([value]) => value !== 'enabled' || value === chosenStatus)
            .map(([value, { label }]) => ({ value, label }))}
        />
        <NativeSelect
          aria-label="Use"
          value={unusedSince === undefined ? (used ?? idle ?? '') : 'since'}
          data={Object.entries(USES).map(([value, { label }]) => ({ value, label }))}
          onChange={({ currentTarget: { value } }) =>
            changeSearch({
              ...{ used: undefined, idle: undefined },
              unusedSince: value === 'since' ? monthAgo() : undefined,
              ...USES[value]?.filter,
            })
          }
        />
        {unusedSince !== undefined && (
          <TextInput
            type="date"
            aria-label="Unused since"
            className={classes.day}
            value={unusedSince}
            onChange={({ currentTarget: { value } }) => value !== '' && changeSearch({ unusedSince: value }, 'replace')}
          />
        )}
        <NativeSelect
          aria-label="Expiry"
          value={expiry ?? ''}
          data={EXPIRIES}
          onChange={({ currentTarget: { value } }) => changeSearch({ expiry: chosen(value) })}
        />
        <NativeSelect
          aria-label="Created"
          value={created ?? ''}
          data={CREATED}
          onChange={({ currentTarget: { value } }) =>
            changeSearch({ created: chosen(value), createdFrom: undefined, createdBefore: undefined })
          }
        />
        <ChipsInput
          aria-label="Tags"
          className={tag.length === 0 ? classes.brief : classes.wide}
          placeholder={tag.length === 0 ? 'Any tag' : 'and another tag'}
          value={tag}
          onChange={(tags) => changeSearch({ tag: tags.length === 0 ? undefined : tags })}
        />
        <CreatedFilter search={search} changeSearch={changeSearch} />
      </MoreFilters>
    </search>
  )
}

/** A text with several credentials is searched for all of them, by those who may switch them off. */
function useSeveralPasted() {
  const navigate = useNavigate()
  const { change } = usePermissions()
  return (pasted: string): boolean => {
    if (!change || !hasSeveral(pasted)) return false
    handOver(pasted)
    void navigate({ to: '/leaks' })
    return true
  }
}

const MONTH_MS = 30 * 24 * 60 * 60 * 1000
const monthAgo = (): string => new Date(Date.now() - MONTH_MS).toISOString().slice(0, 10)

/** The value of an option, which is one of the filter's; the empty one means no filter. */
const chosen = <Value extends string>(value: string): Value | undefined => (value || undefined) as Value | undefined

/** Set by the overview's chart; shown so that nobody wonders what is missing. */
function CreatedFilter({ search: { createdFrom, createdBefore }, changeSearch }: Omit<FilterBarProps, 'onSecret'>) {
  if (createdFrom === undefined && createdBefore === undefined) return null
  const bounds = [createdFrom && `from ${dayOf(createdFrom)}`, createdBefore && `before ${dayOf(createdBefore)}`]
  return (
    <Pill
      ref={keepFocusOnRemoval}
      size="xl"
      fz="sm"
      flex="none"
      bg="var(--color-selected)"
      withRemoveButton
      removeButtonProps={{ 'aria-label': 'Any time of creation', 'aria-hidden': false, tabIndex: 0 }}
      onRemove={() => changeSearch({ createdFrom: undefined, createdBefore: undefined })}
    >
      Created {bounds.filter(Boolean).join(', ')}
    </Pill>
  )
}

function dayOf(iso: string): string {
  return Number.isNaN(Date.parse(iso)) ? iso : utcDay(iso)
}
