// The result of a query: loading, an error, or the data. Data stays on screen when a later refresh fails.
import { Box, Skeleton, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { ErrorAlert } from './error-alert.tsx'

export interface Query<Data> {
  readonly data: Data | undefined
  readonly error: unknown
  readonly isFetching: boolean
  /** Whether the data is still that of the question before. */
  readonly isPlaceholderData?: boolean
  refetch(): unknown
}

interface QueryResultProps<Data> {
  readonly query: Query<Data>
  /** What is loaded, such as "tokens". */
  readonly what: string
  /** How many lines the placeholder has. */
  readonly rows?: number
  /** Offered next to "Try again", such as a button that clears the filters. */
  readonly errorAction?: ReactNode
  readonly children: (data: Data) => ReactNode
}

export function QueryResult<Data>({ query, what, rows = 6, errorAction, children }: QueryResultProps<Data>) {
  const { data, error, isFetching, refetch } = query
  const alert = error !== null && (
    <ErrorAlert error={error} kind="read" retry={() => void refetch()} busy={isFetching}>
      {errorAction}
    </ErrorAlert>
  )
  if (data === undefined) return alert || <Loading rows={rows} what={what} />
  return (
    <>
      {alert && (
        <Stack gap={10} mb="md">
          {alert}
          <Text size="sm">What follows was read before that.</Text>
        </Stack>
      )}
      {children(data)}
    </>
  )
}

/** Shows that what it contains is not yet the answer to the present question. */
export function MaybeOutdated({ query, children }: { query: Query<unknown>; children: ReactNode }) {
  const isOutdated = query.isPlaceholderData
  return (
    <Box aria-busy={isOutdated} opacity={isOutdated ? 0.55 : undefined}>
      {children}
    </Box>
  )
}

function Loading({ rows, what }: { rows: number; what: string }) {
  return (
    <Stack gap="sm" role="status" aria-label={`Loading ${what}`}>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: all alike, and never reordered
        <Skeleton key={row} height={36} />
      ))}
    </Stack>
  )
}
