// Chooses one of any number of things, which are searched while one types. What they are is said by a source.
import { CloseButton, Combobox, InputBase, Loader, Text, useCombobox } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { type ReactNode, useState } from 'react'
import { shortReason } from '../api/errors.ts'
import { isSecret, number } from './format.ts'
import { Name } from './name.tsx'

export const MOST_OPTIONS = 20

export interface PickerOption {
  readonly id: string
  readonly name: string
  /** Tells two of the same name apart. */
  readonly detail: ReactNode
}

export interface PickerSource {
  /** The name of what is chosen, which need not be among the options. A hook. */
  readonly useName: (id: string | undefined) => string
  /** At most MOST_OPTIONS of those that match. A hook. */
  readonly useOptions: (
    search: string,
    isEnabled: boolean,
  ) => {
    readonly page: { readonly options: readonly PickerOption[]; readonly total: number } | undefined
    readonly isFetching: boolean
    readonly error: unknown
  }
  readonly noneYet: string
  readonly noMatch: string
  readonly clearLabel: string
}

export interface PickerProps {
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

export function Picker({ source, ...props }: PickerProps & { readonly source: PickerSource }) {
  const { label, labelHidden, placeholder, value, onChange, clearable, error, autoFocus, className } = props
  const combobox = useCombobox({ onDropdownClose: () => combobox.resetSelectedOption() })
  const [typed, setTyped] = useState<string>()
  const chosen = source.useName(value)
  const { search, options, isFetching, problem, total } = useMatches(source, typed ?? '', combobox.dropdownOpened)
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
  const nothing = search === '' ? source.noneYet : source.noMatch
  const end = { isFetching, label: source.clearLabel, clear: clearable && value ? clear : undefined }
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
          rightSection={<PickerEnd {...end} />}
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
            <PickerItem key={each.id} option={each} chosen={each.id === value} />
          ))}
          {problem !== null && <Combobox.Empty>{problem}</Combobox.Empty>}
          {problem === null && options.length === 0 && (
            <Combobox.Empty>{isFetching ? 'Searching …' : nothing}</Combobox.Empty>
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

function PickerItem({ option: { id, name, detail }, chosen }: { option: PickerOption; chosen: boolean }) {
  return (
    <Combobox.Option value={id} active={chosen}>
      <Name>{name}</Name>
      <Text size="xs" c="dimmed" component="div">
        {detail}
      </Text>
    </Combobox.Option>
  )
}

interface PickerEndProps {
  readonly isFetching: boolean
  readonly label: string
  readonly clear: (() => void) | undefined
}

function PickerEnd({ isFetching, label, clear }: PickerEndProps) {
  if (isFetching) return <Loader size="xs" />
  if (clear === undefined) return <Combobox.Chevron />
  return <CloseButton size="sm" aria-label={label} onClick={clear} />
}

/** Only what matches the text as it is now: options of the text before could be chosen by mistake. */
function useMatches(source: PickerSource, typed: string, isOpen: boolean) {
  const isRefused = isSecret(typed.trim())
  const wanted = isRefused ? '' : typed.trim()
  const [search] = useDebouncedValue(wanted, 150)
  const { page, isFetching, error } = source.useOptions(search, isOpen && !isRefused)
  const found = search === wanted && !isRefused ? page : undefined
  return {
    search,
    options: found?.options ?? [],
    total: found?.total ?? 0,
    isFetching: !isRefused && (isFetching || search !== wanted),
    problem: isRefused ? 'A credential or key is not searched for' : error ? shortReason(error) : null,
  }
}
