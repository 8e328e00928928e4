// Why a page has nothing on it, and what to do about that.
import { Button, EmptyState, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { keepFocusOnRemoval } from './focus.ts'

/** `children` is a way to go on. */
export function Empty({
  title,
  description,
  children,
}: {
  title: string
  description?: ReactNode
  children?: ReactNode
}) {
  return (
    <EmptyState
      px="md"
      py={56}
      bd="1px dashed var(--color-line)"
      bdrs={10}
      bg="var(--color-surface)"
      title={
        <Title order={2} size="h4">
          {title}
        </Title>
      }
      description={description}
    >
      {children !== undefined && <EmptyState.Actions>{children}</EmptyState.Actions>}
    </EmptyState>
  )
}

interface EmptyPageProps {
  readonly one: string
  readonly many?: string
  readonly total: number
  readonly toFirstPage: () => void
  /** Undefined where no filter is set. */
  readonly clearFilters: (() => void) | undefined
  /** What to do where there is nothing at all yet. */
  readonly hint: string
  readonly noMatch?: string | undefined
}

export function EmptyPage(props: EmptyPageProps) {
  const { one, many = `${one}s`, total, toFirstPage, clearFilters, hint, noMatch = `No ${one} matches` } = props
  if (total > 0) {
    return (
      <Empty title="There is no such page any more">
        <Button ref={keepFocusOnRemoval} variant="default" onClick={toFirstPage}>
          To the first page
        </Button>
      </Empty>
    )
  }
  if (clearFilters === undefined) return <Empty title={`No ${many} yet`} description={hint} />
  return (
    <Empty title={noMatch}>
      <ClearFilters onClick={clearFilters} />
    </Empty>
  )
}

export function ClearFilters({ onClick }: { onClick: () => void }) {
  return (
    <Button ref={keepFocusOnRemoval} size="xs" variant="default" onClick={onClick}>
      Clear all filters
    </Button>
  )
}
