// The exact total, the place in it, and the way to other pages.
import { ActionIcon, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { Icon } from './icon.tsx'
import { number } from './words.ts'

const PAGE_SIZES = [10, 25, 50, 100]

interface PagerProps {
  readonly page: { total: number; page: number; limit: number; totalPages: number }
  /** The page asked for, from which one turns; the one shown may still be another. */
  readonly asked: number
  readonly one: string
  readonly many?: string
  readonly onPage: (page: number) => void
  readonly onLimit?: (limit: number) => void
}

export function Pager({ page, asked, one, many = `${one}s`, onPage, onLimit }: PagerProps) {
  const { total, limit, totalPages } = page
  const first = (page.page - 1) * limit + 1
  const last = Math.min(page.page * limit, total)
  const sizes = [...new Set([...PAGE_SIZES, limit])].sort((a, b) => a - b)
  const range = total === 0 || first > total ? '' : `${number(first)}–${number(last)} of `
  return (
    <Group className="pager" justify="space-between" gap="sm">
      <Text size="sm" className="dim" role="status" data-testid="total">
        {range}
        {number(total)} {total === 1 ? one : many}
      </Text>
      <Group gap="xs" component="nav" aria-label="Pages">
        {onLimit && (
          <NativeSelect
            size="xs"
            aria-label="Page size"
            value={String(limit)}
            data={sizes.map((size) => ({ value: String(size), label: `${size} per page` }))}
            onChange={(event) => onLimit(Number(event.currentTarget.value))}
          />
        )}
        <ActionIcon
          variant="default"
          aria-label="Previous page"
          disabled={asked <= 1}
          onClick={() => onPage(Math.min(asked - 1, Math.max(totalPages, 1)))}
        >
          <Icon name="chevron-left" />
        </ActionIcon>
        <PageNumber asked={asked} totalPages={Math.max(totalPages, 1)} onPage={onPage} />
        <ActionIcon
          variant="default"
          aria-label="Next page"
          disabled={asked >= totalPages}
          onClick={() => onPage(asked + 1)}
        >
          <Icon name="chevron-right" />
        </ActionIcon>
      </Group>
    </Group>
  )
}

interface PageNumberProps {
  readonly asked: number
  readonly totalPages: number
  readonly onPage: (page: number) => void
}

/** Where one is; typing another number and Enter leads there. */
function PageNumber({ asked, totalPages, onPage }: PageNumberProps) {
  const [typed, setTyped] = useState<string>()
  const wanted = /^\d{1,10}$/.test(typed?.trim() ?? '') ? Number(typed) : 0
  const isPage = wanted >= 1 && wanted <= totalPages
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isPage) return
    setTyped(undefined)
    onPage(wanted)
  }
  const range = `1 to ${number(totalPages)}`
  if (asked === 1 && totalPages === 1) return <Text size="sm">Page 1 of 1</Text>
  return (
    <form className="page-number" onSubmit={submit} noValidate>
      <Text size="sm" span>
        Page
      </Text>
      <TextInput
        size="xs"
        inputMode="numeric"
        autoComplete="off"
        aria-label={`Page number, ${range}`}
        title={`Type ${range}, then Enter`}
        value={typed ?? String(asked)}
        error={typed !== undefined && typed.trim() !== '' && !isPage && `Pages are ${range}`}
        errorProps={{ role: 'alert' }}
        onFocus={(event) => event.currentTarget.select()}
        onChange={(event) => setTyped(event.currentTarget.value)}
        onBlur={() => setTyped(undefined)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') setTyped(undefined)
        }}
      />
      <Text size="sm" span>
        of {number(totalPages)}
      </Text>
    </form>
  )
}
