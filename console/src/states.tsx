// What a view shows instead of its content: loading, an empty state, an error.
import { Alert, Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { BusyButton } from './busy-button.tsx'
import { Icon } from './icon.tsx'
import { type Asked, explain } from './problems.ts'

export function LoadingRows({ rows = 6, what }: { rows?: number; what: string }) {
  return (
    <Stack gap="sm" role="status" aria-label={`Loading ${what}`}>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: all alike, and never reordered
        <Skeleton key={row} height={36} />
      ))}
    </Stack>
  )
}

export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty-state">
      <Title order={2} size="h4">
        {title}
      </Title>
      {children}
    </div>
  )
}

interface EmptyPageProps {
  readonly what: string
  readonly many?: string
  readonly total: number
  readonly toFirstPage: () => void
  /** Leaves all filters; undefined where none is set. */
  readonly clear: (() => void) | undefined
  /** What to do where there is nothing at all yet. */
  readonly children: ReactNode
}

/** Why a page of a list has nothing on it, and the way out. */
export function EmptyPage({ what, many = `${what}s`, total, toFirstPage, clear, children }: EmptyPageProps) {
  if (total > 0) {
    return (
      <EmptyState title="There is no such page any more">
        <Button variant="default" onClick={toFirstPage}>
          To the first page
        </Button>
      </EmptyState>
    )
  }
  if (clear !== undefined) {
    return (
      <EmptyState title={`No ${what} matches`}>
        <ClearFilters clear={clear} />
      </EmptyState>
    )
  }
  return (
    <EmptyState title={`No ${many} yet`}>
      <Text size="sm">{children}</Text>
    </EmptyState>
  )
}

export function ClearFilters({ clear }: { clear: () => void }) {
  return (
    <Button size="xs" variant="default" onClick={clear}>
      Clear all filters
    </Button>
  )
}

interface ErrorAlertProps {
  readonly error: unknown
  readonly asked: Asked
  readonly retry: () => void
  readonly busy: boolean
  /** Another way out, such as leaving a filter. */
  readonly children?: ReactNode
}

export function ErrorAlert({ error, asked, retry, busy, children }: ErrorAlertProps) {
  const { title, text, requestId } = explain(error, asked)
  return (
    <Alert color="red" variant="light" icon={<Icon name="alert" size={20} />} title={title} role="alert">
      <Stack gap="sm" align="flex-start">
        <Text size="sm" c="inherit">
          {text}
        </Text>
        {requestId !== undefined && (
          <Text size="xs" c="inherit">
            Request {requestId}
          </Text>
        )}
        <Group gap="xs">
          <BusyButton size="xs" variant="default" onClick={retry} busy={busy}>
            Try again
          </BusyButton>
          {children}
        </Group>
      </Stack>
    </Alert>
  )
}

interface Query<Data> {
  readonly data: Data | undefined
  readonly error: unknown
  readonly isFetching: boolean
  refetch(): unknown
}

/** What was read before stays in view when reading again fails, under a line that says so. */
export function QueryResult<Data>({ query, what, rows, wayOut, children }: QueryResultProps<Data>) {
  const { data, error, isFetching, refetch } = query
  const alert = error !== null && (
    <ErrorAlert error={error} asked="reading" retry={() => void refetch()} busy={isFetching}>
      {wayOut}
    </ErrorAlert>
  )
  if (data !== undefined) {
    return (
      <>
        {alert && (
          <div className="stale">
            {alert}
            <Text size="sm">What follows was read before that.</Text>
          </div>
        )}
        {children(data)}
      </>
    )
  }
  return alert || <LoadingRows what={what} {...(rows === undefined ? {} : { rows })} />
}

interface QueryResultProps<Data> {
  readonly query: Query<Data>
  readonly what: string
  readonly rows?: number
  readonly wayOut?: ReactNode
  readonly children: (data: Data) => ReactNode
}
