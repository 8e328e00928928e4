// A box that searches as one types, and follows the address when that changes under it.
import { CloseButton, TextInput } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useEffect, useRef, useState } from 'react'
import { Icon } from './icon.tsx'
import { isSecret } from './words.ts'

const TYPING_MS = 180

interface SearchBoxProps {
  readonly label: string
  readonly placeholder: string
  /** As it stands in the address. */
  readonly value: string
  readonly onSearch: (search: string | undefined) => void
}

export function SearchBox({ label, placeholder, value, onSearch }: SearchBoxProps) {
  const [typed, setTyped] = useState(value)
  const sent = useRef(value)
  const latest = useRef(onSearch)
  latest.current = onSearch
  const input = useRef<HTMLInputElement>(null)
  const focus = () => {
    if (document.querySelector('[role=dialog]') === null) input.current?.focus()
  }
  // With Shift, too: on many keyboards that is how a slash is typed.
  useHotkeys([
    ['/', focus],
    ['shift+/', focus],
  ])
  const wanted = typed.trim()
  const secret = isSecret(wanted)
  // By going back, or by a link; not by what was sent from here, which may already be older than what is typed.
  useEffect(() => {
    if (value === sent.current) return
    sent.current = value
    setTyped(value)
  }, [value])
  useEffect(() => {
    if (wanted === sent.current || secret) return
    const timer = setTimeout(() => {
      sent.current = wanted
      latest.current(wanted || undefined)
    }, TYPING_MS)
    return () => clearTimeout(timer)
  }, [wanted, secret])
  return (
    <TextInput
      ref={input}
      type="search"
      className="search-box"
      aria-label={label}
      aria-keyshortcuts="/"
      placeholder={placeholder}
      maxLength={255}
      error={secret && 'The search is by name. A credential or key is not looked for, nor put into the address.'}
      errorProps={{ role: 'alert' }}
      leftSection={<Icon name="search" />}
      rightSection={
        typed === '' ? (
          <kbd className="hint">/</kbd>
        ) : (
          <CloseButton size="sm" aria-label="Clear search" onClick={() => setTyped('')} />
        )
      }
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
    />
  )
}
