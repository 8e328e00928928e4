// The exact total, the page of it, and the way to other pages.
import { ActionIcon, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { number } from './format.ts'
import { Icon, type IconName } from './icon.tsx'

const PAGE_SIZES = [10, 25, 50, 100]

interface PagerProps {
  readonly page: { total: number; page: number; limit: number; totalPages: number }
  /** The page in the address; the one shown may still be the page before. */
  readonly current: number
  readonly one: string
  readonly many?: string
  readonly onPage: (page: number) => void
  readonly onLimit?: (limit: number) => void
}

export function Pager({ page, current, one, many = `${one}s`, onPage, onLimit }: PagerProps) {
  const { total, limit, totalPages } = page
  const first = (page.page - 1) * limit + 1
  const last = Math.min(page.page * limit, total)
  const sizes = [...new Set([...PAGE_SIZES, limit])].sort((a, b) => a - b)
  const isAll = totalPages <= 1 && current <= 1
  const range = isAll || first > total ? '' : `${number(first)}–${number(last)} of `
  return (
    <Group mt={14} justify="space-between" gap="sm">
      <Text size="sm" c="dimmed" role="status" data-testid="total">
        {range}
        {number(total)} {total === 1 ? one : many}
      </Text>
      {!isAll && (
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
          <PageButton
            label="Previous page"
            icon="chevron-left"
            disabled={current <= 1}
            onClick={() => onPage(Math.min(current - 1, Math.max(totalPages, 1)))}
          />
          <PageNumber current={current} totalPages={Math.max(totalPages, 1)} onPage={onPage} />
          <PageButton
            label="Next page"
            icon="chevron-right"
            disabled={current >= totalPages}
            onClick={() => onPage(current + 1)}
          />
        </Group>
      )}
    </Group>
  )
}

interface PageButtonProps {
  readonly label: string
  readonly icon: IconName
  readonly disabled: boolean
  readonly onClick: () => void
}

/** Looks disabled but is not: it would lose the focus on the page to which it has led. */
function PageButton({ label, icon, disabled, onClick }: PageButtonProps) {
  return (
    <ActionIcon
      variant="default"
      aria-label={label}
      aria-disabled={disabled}
      data-disabled={disabled}
      onClick={disabled ? undefined : onClick}
    >
      <Icon name={icon} />
    </ActionIcon>
  )
}

interface PageNumberProps {
  readonly current: number
  readonly totalPages: number
  readonly onPage: (page: number) => void
}

const PAGE_INPUT = {
  input: { width: '5ch', minWidth: 44, paddingInline: 6, textAlign: 'center' },
  // Outside of the row, which keeps its height.
  error: { position: 'absolute', top: '100%', right: 0, paddingTop: 4 },
} as const

/** The number of the page; typing another number and Enter leads there. */
function PageNumber({ current, totalPages, onPage }: PageNumberProps) {
  const [typed, setTyped] = useState<string>()
  const typedPage = /^\d{1,10}$/.test(typed?.trim() ?? '') ? Number(typed) : 0
  const isPage = typedPage >= 1 && typedPage <= totalPages
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isPage) return
    setTyped(undefined)
    onPage(typedPage)
  }
  const range = `1 to ${number(totalPages)}`
  return (
    <form onSubmit={submit} noValidate>
      <Group gap={8} wrap="nowrap" pos="relative">
        <Text size="sm" span>
          Page
        </Text>
        <TextInput
          size="xs"
          styles={PAGE_INPUT}
          inputMode="numeric"
          autoComplete="off"
          aria-label={`Page number, ${range}`}
          title={`Type ${range}, then Enter`}
          value={typed ?? String(current)}
          error={typed !== undefined && typed.trim() !== '' && !isPage && `Pages are ${range}`}
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
      </Group>
    </form>
  )
}
