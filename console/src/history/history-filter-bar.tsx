// Filters of the history: who, what, to whom and when.
import { NativeSelect, Text, TextInput } from '@mantine/core'
import { SubAccountPicker } from '../sub-accounts/sub-account-picker.tsx'
import { TokenPicker } from '../tokens/token-picker.tsx'
import classes from '../ui/filters.module.css'
import { MoreFilters } from '../ui/more-filters.tsx'
import { ACTION_NAMES, actionOf } from './actions.tsx'
import type { HistoryFilters, HistorySearch } from './history-filters.ts'
import { useActors } from './history-search.ts'
import { actorName } from './sentence.tsx'

interface HistoryFilterBarProps {
  readonly search: HistoryFilters
  readonly changeSearch: (part: HistorySearch, how?: 'push' | 'replace') => void
  /** Not of one token or sub-account. */
  readonly isOfAll: boolean
}

/** Next to the actions in their list, since each of them either took access away or did not. */
const REVOCATION = 'revocation'

export function HistoryFilterBar({ search, changeSearch, isOfAll }: HistoryFilterBarProps) {
  const { by, action, effect, token, subAccount, from, to } = search
  const count = [by, effect ?? action, token, subAccount, from, to].filter((each) => each !== undefined).length
  const isReversed = from !== undefined && to !== undefined && to < from
  return (
    <search className={classes.filters}>
      <MoreFilters count={count}>
        <ActorSelect by={by} onChange={(actor) => changeSearch({ by: actor })} />
        <NativeSelect
          aria-label="Action"
          value={effect ?? action ?? ''}
          onChange={({ currentTarget: { value } }) =>
            changeSearch({
              effect: value === REVOCATION ? value : undefined,
              action: ACTION_NAMES.find((name) => name === value),
            })
          }
          data={[
            { value: '', label: 'Any action' },
            { value: REVOCATION, label: 'Took access away' },
            ...ACTION_NAMES.map((value) => ({ value, label: actionOf(value).label })),
          ]}
        />
        {isOfAll && (
          <>
            <SubAccountPicker
              label="Sub-account"
              labelHidden
              className={classes.picker}
              placeholder="All sub-accounts"
              clearable
              value={subAccount}
              onChange={(id) => changeSearch({ subAccount: id, token: undefined })}
            />
            <TokenPicker
              label="Token"
              labelHidden
              className={classes.picker}
              placeholder="All tokens"
              clearable
              value={token}
              onChange={(id) => changeSearch({ token: id, subAccount: undefined })}
            />
          </>
        )}
        <DayInput label="From" width={54} value={from} onChange={(day) => changeSearch({ from: day }, 'replace')} />
        <DayInput
          label="To"
          width={38}
          value={to}
          error={isReversed && 'This day is before the first'}
          onChange={(day) => changeSearch({ to: day }, 'replace')}
        />
      </MoreFilters>
    </search>
  )
}

function ActorSelect({ by, onChange }: { by: string | undefined; onChange: (by: string | undefined) => void }) {
  const actors = useActors()
  // Those who may have done nothing on the pages read so far: the operator, and the actor in a link.
  const known = new Map([['operator', actorName('operator')], ...actors])
  if (by !== undefined && !known.has(by)) known.set(by, actorName(by))
  return (
    <NativeSelect
      aria-label="Actor"
      value={by ?? ''}
      onChange={(event) => onChange(event.currentTarget.value || undefined)}
      data={[{ value: '', label: 'Anyone' }, ...Array.from(known, ([value, name]) => ({ value, label: name }))]}
    />
  )
}

interface DayInputProps {
  readonly label: string
  /** The width of the label, in pixels. */
  readonly width: number
  readonly value: string | undefined
  readonly onChange: (day: string | undefined) => void
  readonly error?: string | false
}

function DayInput({ label, width, value, onChange, error }: DayInputProps) {
  return (
    <TextInput
      type="date"
      className={classes.day}
      aria-label={`${label} day`}
      leftSection={
        <Text span size="sm" c="dimmed">
          {label}
        </Text>
      }
      leftSectionWidth={width}
      leftSectionPointerEvents="none"
      value={value ?? ''}
      error={error}
      onChange={(event) => onChange(event.currentTarget.value || undefined)}
    />
  )
}
