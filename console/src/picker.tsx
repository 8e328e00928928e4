// Chooses a sub-account out of any number: it searches by name, e-mail address and company as one types.
import { Combobox, InputBase, Loader, Text, useCombobox } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { SubAccount } from '../../client/latchkey-client.ts'
import { Icon } from './icon.tsx'
import { Name } from './parts.tsx'
import { reasonOf } from './problems.ts'
import { QUERY_KEYS } from './query-keys.ts'
import { useClient } from './session.tsx'
import { isSecret, number } from './words.ts'

const OFFERED = 20

interface PickerProps {
  readonly label: string
  readonly labelHidden?: boolean
  readonly placeholder: string
  readonly value: string | undefined
  readonly onChange: (id: string | undefined) => void
  readonly clearable?: boolean
  readonly error?: string | undefined
  readonly autoFocus?: boolean
}

export function SubAccountPicker(props: PickerProps) {
  const { label, labelHidden, placeholder, value, onChange, clearable, error, autoFocus } = props
  const combobox = useCombobox({ onDropdownClose: () => combobox.resetSelectedOption() })
  const [typed, setTyped] = useState<string>()
  const chosen = useChosen(value)
  const { search, offers, waiting, problem, total } = useOffers(typed ?? '', combobox.dropdownOpened)
  const shown = typed ?? chosen
  const choose = (id: string | undefined) => {
    onChange(id)
    setTyped(undefined)
    combobox.closeDropdown()
  }
  return (
    <Combobox store={combobox} onOptionSubmit={choose} withinPortal>
      <Combobox.Target withExpandedAttribute>
        <InputBase
          aria-autocomplete="list"
          {...(labelHidden ? { 'aria-label': label } : { label })}
          placeholder={placeholder}
          data-autofocus={autoFocus || undefined}
          error={error}
          value={shown}
          autoComplete="off"
          rightSection={
            <PickerEnd waiting={waiting} clear={clearable && value ? () => choose(undefined) : undefined} />
          }
          rightSectionPointerEvents={clearable && value ? 'all' : 'none'}
          onChange={(event) => {
            setTyped(event.currentTarget.value)
            combobox.openDropdown()
            combobox.resetSelectedOption()
          }}
          onClick={() => combobox.openDropdown()}
          onFocus={(event) => event.currentTarget.select()}
          onBlur={() => {
            combobox.closeDropdown()
            setTyped(undefined)
          }}
        />
      </Combobox.Target>
      <Combobox.Dropdown>
        <Combobox.Options aria-label={label} className="offers">
          {offers.map((each) => (
            <Offer key={each._id} subAccount={each} chosen={each._id === value} />
          ))}
          {problem !== undefined && <Combobox.Empty>{problem}</Combobox.Empty>}
          {!waiting && problem === undefined && offers.length === 0 && (
            <Combobox.Empty>
              {search === '' ? 'No sub-accounts yet: create one under Sub-accounts' : 'No sub-account matches'}
            </Combobox.Empty>
          )}
        </Combobox.Options>
        {total > offers.length && (
          <Combobox.Footer>
            <Text size="xs" className="dim">
              {number(total)} match; type more to narrow them down
            </Text>
          </Combobox.Footer>
        )}
      </Combobox.Dropdown>
    </Combobox>
  )
}

function Offer({ subAccount, chosen }: { subAccount: SubAccount; chosen: boolean }) {
  return (
    <Combobox.Option value={subAccount._id} active={chosen}>
      <Name>{subAccount.name}</Name>
      <Text size="xs" className="dim" component="div">
        <Name>{subAccount.companyName}</Name>
        {subAccount.status === 'suspended' && ' · suspended'}
      </Text>
    </Combobox.Option>
  )
}

function PickerEnd({ waiting, clear }: { waiting: boolean; clear: (() => void) | undefined }) {
  if (waiting) return <Loader size="xs" />
  if (clear === undefined) return <Combobox.Chevron />
  return (
    <button type="button" className="picker-clear" aria-label="All sub-accounts" onClick={clear}>
      <Icon name="close" size={14} />
    </button>
  )
}

/** The name of the one chosen, which may be on no page of the offers. */
function useChosen(id: string | undefined): string {
  const client = useClient()
  const { data, error } = useQuery({
    queryKey: [...QUERY_KEYS.subAccount, id],
    queryFn: ({ signal }) => client.getSubAccount({ id: id ?? '' }, { signal }),
    enabled: id !== undefined,
  })
  if (id === undefined) return ''
  return data?.name ?? (error === null ? '' : 'Unknown sub-account')
}

function useOffers(typed: string, open: boolean) {
  const client = useClient()
  const [search] = useDebouncedValue(isSecret(typed.trim()) ? '' : typed.trim(), 150)
  const { data, isFetching, error } = useQuery({
    queryKey: [...QUERY_KEYS.subAccounts, 'offers', search],
    queryFn: ({ signal }) => client.listSubAccounts({ search, limit: OFFERED }, { signal }),
    placeholderData: keepPreviousData,
    enabled: open,
  })
  return {
    search,
    offers: data?.items ?? [],
    total: data?.total ?? 0,
    waiting: isFetching,
    problem: error === null ? undefined : reasonOf(error),
  }
}
