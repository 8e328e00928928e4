// Chooses one of any number of sub-accounts, which are searched by name, e-mail address and company while one types.
import { CloseButton, Combobox, InputBase, Loader, Text, useCombobox } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { SubAccount } from '../../../client/latchkey-client.ts'
import { isNotFound, shortReason } from '../api/errors.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { isSecret, number } from '../ui/format.ts'
import { Name } from '../ui/name.tsx'

const OPTIONS = 20

interface PickerProps {
  readonly label: string
  readonly labelHidden?: boolean
  readonly placeholder: string
  readonly value: string | undefined
  readonly onChange: (id: string | undefined) => void
  readonly clearable?: boolean
  readonly error?: ReactNode
  readonly className?: string | undefined
  readonly autoFocus?: boolean
}

export function SubAccountPicker(props: PickerProps) {
  const { label, labelHidden, placeholder, value, onChange, clearable, error, autoFocus, className } = props
  const combobox = useCombobox({ onDropdownClose: () => combobox.resetSelectedOption() })
  const [typed, setTyped] = useState<string>()
  const chosen = useName(value)
  const { search, options, isFetching, problem, total } = useOptions(typed ?? '', combobox.dropdownOpened)
  const shown = typed ?? chosen
  const choose = (id: string | undefined) => {
    onChange(id)
    setTyped(undefined)
    combobox.closeDropdown()
  }
  const clear = () => {
    choose(undefined)
    combobox.focusTarget()
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
          className={className}
          rightSection={<PickerEnd isFetching={isFetching} clear={clearable && value ? clear : undefined} />}
          rightSectionPointerEvents={clearable && value ? 'all' : 'none'}
          onChange={(event) => {
            setTyped(event.currentTarget.value)
            combobox.openDropdown()
            combobox.resetSelectedOption()
          }}
          onKeyDown={(event) => {
            // It chooses an option. It must not send the form around with what was chosen before.
            if (event.key === 'Enter' && (combobox.dropdownOpened || typed !== undefined)) event.preventDefault()
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
        <Combobox.Options aria-label={label} mah={260} style={{ overflowY: 'auto' }}>
          {options.map((each) => (
            <SubAccountOption key={each._id} subAccount={each} chosen={each._id === value} />
          ))}
          {problem !== null && <Combobox.Empty>{problem}</Combobox.Empty>}
          {problem === null && options.length === 0 && (
            <Combobox.Empty>{isFetching ? 'Searching …' : nothingFor(search)}</Combobox.Empty>
          )}
        </Combobox.Options>
        {total > options.length && (
          <Combobox.Footer>
            <Text size="xs" c="dimmed">
              {number(total)} match; type more to narrow them down
            </Text>
          </Combobox.Footer>
        )}
      </Combobox.Dropdown>
    </Combobox>
  )
}

const nothingFor = (search: string): string =>
  search === '' ? 'No sub-accounts yet: create one under Sub-accounts' : 'No sub-account matches'

function SubAccountOption({ subAccount, chosen }: { subAccount: SubAccount; chosen: boolean }) {
  return (
    <Combobox.Option value={subAccount._id} active={chosen}>
      <Name>{subAccount.name}</Name>
      <Text size="xs" c="dimmed" component="div">
        <Name>{subAccount.companyName}</Name>
        {subAccount.status === 'suspended' && ' · suspended'}
      </Text>
    </Combobox.Option>
  )
}

function PickerEnd({ isFetching, clear }: { isFetching: boolean; clear: (() => void) | undefined }) {
  if (isFetching) return <Loader size="xs" />
  if (clear === undefined) return <Combobox.Chevron />
  return <CloseButton size="sm" aria-label="All sub-accounts" onClick={clear} />
}

/** The name of the chosen sub-account, which need not be among the options. */
function useName(id: string | undefined): string {
  const { data, error } = useQuery({ ...queries.subAccount(useClient(), id ?? ''), enabled: id !== undefined })
  if (id === undefined) return ''
  if (isNotFound(error)) return 'Unknown sub-account'
  return data?.name ?? (error === null ? '' : id)
}

/** Only what matches the text as it is now: options of the text before could be chosen by mistake. */
function useOptions(typed: string, isOpen: boolean) {
  const isRefused = isSecret(typed.trim())
  const wanted = isRefused ? '' : typed.trim()
  const [search] = useDebouncedValue(wanted, 150)
  const { data, isFetching, isPlaceholderData, error } = useQuery({
    ...queries.subAccounts(useClient(), { search, limit: OPTIONS }),
    enabled: isOpen && !isRefused,
  })
  const page = search === wanted && !isPlaceholderData && !isRefused ? data : undefined
  return {
    search,
    options: page?.items ?? [],
    total: page?.total ?? 0,
    isFetching: !isRefused && (isFetching || search !== wanted),
    problem: isRefused ? 'A credential or key is not searched for' : error && shortReason(error),
  }
}
