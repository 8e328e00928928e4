// A box that searches while one types, and follows the address when that changes by other means.
import { CloseButton, Kbd, TextInput } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useEffect, useRef, useState } from 'react'
import classes from './filters.module.css'
import { isSecret } from './format.ts'
import { Icon } from './icon.tsx'
import text from './text.module.css'

const TYPING_MS = 180

interface SearchBoxProps {
  readonly label: string
  readonly placeholder: string
  /** As the address has it. */
  readonly value: string
  readonly onSearch: (search: string | undefined) => void
  /** Called with what may be a secret, which goes into no address; else with undefined. Must be stable. */
  readonly onSecret: (text: string | undefined) => void
  /** Called with what is pasted; true if it is taken elsewhere, and not searched for. */
  readonly onPaste?: (text: string) => boolean
  /** What to say of it, where nothing is searched for by it. */
  readonly secretError?: string
}

export function SearchBox({ label, placeholder, value, onSearch, onSecret, onPaste, secretError }: SearchBoxProps) {
  const [typed, setTyped] = useTyped(value, onSearch)
  const secret = isSecret(typed.trim()) ? typed.trim() : undefined
  useEffect(() => onSecret(secret), [secret, onSecret])
  const input = useRef<HTMLInputElement>(null)
  const focus = () => {
    if (document.querySelector('[role=dialog]') === null) input.current?.focus()
  }
  // With Shift, too: on many keyboards that is how a slash is typed.
  useHotkeys([
    ['/', focus],
    ['shift+/', focus],
  ])
  return (
    <TextInput
      ref={input}
      type="search"
      className={classes.search}
      aria-label={label}
      aria-keyshortcuts="/"
      placeholder={placeholder}
      maxLength={255}
      error={secret !== undefined && secretError}
      leftSection={<Icon name="search" />}
      rightSection={
        typed === '' ? (
          <Kbd size="xs" className={text.onlyWide}>
            /
          </Kbd>
        ) : (
          <CloseButton
            size="sm"
            aria-label="Clear search"
            onClick={() => {
              setTyped('')
              input.current?.focus()
            }}
          />
        )
      }
      value={typed}
      onPaste={(event) => {
        if (onPaste?.(event.clipboardData.getData('text'))) event.preventDefault()
      }}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onKeyDown={(event) => {
        // From here a Tab would go through all filters before the first row.
        if (event.key === 'ArrowDown') document.querySelector<HTMLElement>('#main [data-id] a')?.focus()
      }}
    />
  )
}

/** Sends what is typed after a short pause. */
function useTyped(value: string, onSearch: SearchBoxProps['onSearch']) {
  const [typed, setTyped] = useState(value)
  // Sent, but not in the address yet: such a value must not replace what has been typed since.
  const pending = useRef<string[]>([])
  const search = typed.trim()
  useEffect(() => {
    const index = pending.current.indexOf(value)
    pending.current = pending.current.slice(index + 1)
    if (index === -1) setTyped(value)
  }, [value])
  useEffect(() => {
    if (search === (pending.current.at(-1) ?? value) || isSecret(search)) return
    const timer = setTimeout(() => {
      pending.current.push(search)
      onSearch(search || undefined)
    }, TYPING_MS)
    return () => clearTimeout(timer)
  }, [search, value, onSearch])
  return [typed, setTyped] as const
}
