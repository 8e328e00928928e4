// Filters of the history: who, what and when.
import { NativeSelect, TextInput } from '@mantine/core'
import { ACTIONS, type HistoryFilters, readAction, useActors } from './history-filters.ts'

interface HistoryFilterBarProps {
  readonly filters: HistoryFilters
  readonly change: (part: HistoryFilters, how?: 'push' | 'replace') => void
}

export function HistoryFilterBar({ filters, change }: HistoryFilterBarProps) {
  const { by, action, from, to } = filters
  const isReversed = from !== undefined && to !== undefined && to < from
  return (
    <search className="filters">
      <ActorSelect by={by} onChange={(actor) => change({ by: actor })} />
      <NativeSelect
        aria-label="Action"
        value={action ?? ''}
        onChange={(event) => change({ action: readAction(event.currentTarget.value) })}
        data={[
          { value: '', label: 'Any action' },
          ...Object.entries(ACTIONS).map(([value, label]) => ({ value, label })),
        ]}
      />
      <DayInput label="From" width={54} value={from} onChange={(day) => change({ from: day }, 'replace')} />
      <DayInput
        label="To"
        width={38}
        value={to}
        error={isReversed && 'This day is before the first'}
        onChange={(day) => change({ to: day }, 'replace')}
      />
    </search>
  )
}

function ActorSelect({ by, onChange }: { by: string | undefined; onChange: (by: string | undefined) => void }) {
  const actors = useActors()
  const others = [...actors].filter(([id]) => id !== 'operator')
  // One that a link names may have done nothing on the pages read so far.
  if (by !== undefined && by !== 'operator' && !actors.has(by)) others.push([by, by])
  return (
    <NativeSelect
      aria-label="Actor"
      value={by ?? ''}
      onChange={(event) => onChange(event.currentTarget.value || undefined)}
      data={[
        { value: '', label: 'Anyone' },
        { value: 'operator', label: 'The operator' },
        ...others.map(([value, name]) => ({ value, label: name.replace(/^jwt:/, '') })),
      ]}
    />
  )
}

interface DayInputProps {
  readonly label: string
  /** The room that the label takes, in pixels. */
  readonly width: number
  readonly value: string | undefined
  readonly onChange: (day: string | undefined) => void
  readonly error?: string | false
}

function DayInput({ label, width, value, onChange, error }: DayInputProps) {
  return (
    <TextInput
      type="date"
      className="day-input"
      aria-label={`${label} day`}
      leftSection={<span className="input-label">{label}</span>}
      leftSectionWidth={width}
      leftSectionPointerEvents="none"
      value={value ?? ''}
      error={error}
      errorProps={{ role: 'alert' }}
      onChange={(event) => onChange(event.currentTarget.value || undefined)}
    />
  )
}
