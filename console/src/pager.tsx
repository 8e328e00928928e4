// The exact total, the place in it, and the way to other pages.
import { ActionIcon, Group, NativeSelect, Text } from '@mantine/core'
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
        <Text size="sm">
          Page {number(asked)} of {number(Math.max(totalPages, 1))}
        </Text>
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
