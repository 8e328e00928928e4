// An input for several short texts, each a chip once it is complete. Chips can be removed by keyboard, one by one.
import { Pill, TagsInput, type TagsInputProps } from '@mantine/core'
import { useRef, useState } from 'react'
import classes from './chip.module.css'
import { cx } from './cx.ts'
import { isSecret } from './format.ts'
import { Name } from './name.tsx'

interface ChipsInputProps
  extends Pick<
    TagsInputProps,
    | 'label'
    | 'aria-label'
    | 'description'
    | 'placeholder'
    | 'data'
    | 'error'
    | 'className'
    | 'size'
    | 'autoFocus'
    | 'flex'
    | 'searchValue'
    | 'onSearchChange'
  > {
  readonly value: readonly string[]
  readonly onChange: (value: readonly string[]) => void
  /** Besides Enter, what ends a chip. */
  readonly splitChars?: readonly string[]
  /** Why a chip is struck through; undefined for one that is not. */
  readonly struckBecause?: (value: string) => string | undefined
}

export function ChipsInput({ value, onChange, splitChars = [','], struckBecause, error, ...rest }: ChipsInputProps) {
  const input = useRef<HTMLInputElement>(null)
  const [wasSecret, setWasSecret] = useState(false)
  return (
    <TagsInput
      {...rest}
      ref={input}
      value={[...value]}
      onChange={(next) => {
        setWasSecret(next.some(isSecret))
        onChange(cleaned(next))
      }}
      error={error || (wasSecret && 'A credential or key does not belong here, and was left out.')}
      splitChars={[...splitChars]}
      isDuplicate={(added, present) => present.includes(added.trim())}
      withScrollArea={false}
      classNames={{ input: classes.frame, inputField: classes.field }}
      renderPill={({ option: { label: chip }, onRemove }) => {
        const reason = struckBecause?.(chip)
        return (
          <Pill
            withRemoveButton
            className={cx(classes.pill, reason !== undefined && classes.struck)}
            title={reason === undefined ? chip : `${chip}: ${reason}`}
            removeButtonProps={{ 'aria-label': `Remove ${chip}`, 'aria-hidden': false, tabIndex: 0 }}
            onRemove={() => {
              onRemove?.()
              input.current?.focus()
            }}
          >
            <Name>{chip}</Name>
          </Pill>
        )
      }}
    />
  )
}

function cleaned(values: readonly string[]): readonly string[] {
  return [...new Set(values.map((value) => value.trim()))].filter((value) => value !== '' && !isSecret(value))
}
